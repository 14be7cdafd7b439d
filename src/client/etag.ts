// The version of a record or list that the server gave, kept with it. The property is a symbol, so that JSON and loops over names
// pass it over; it is enumerable, so that `{ ...brand, Name: "New" }` is still known to be made from that version.

const etag = Symbol.for("storefront.etag");

/**
 * The `ETag` of a record that `get`, `create` or `update` gave, of a copy made by spreading one, or of a list. Undefined for
 * records of a list (a list does not carry the versions of its records) and for copies made through JSON.
 */
export function etagOf(value: object): string | undefined {
  return (value as { [etag]?: string })[etag];
}

/** Keeps the `ETag` of a response with its content. A proxy that compresses marks it as weak; the version is the same. */
export function withEtag<T extends object>(value: T, headers: Headers): T {
  const tag = headers.get("ETag");
  return tag ? Object.assign(value, { [etag]: tag.replace(/^W\//, "") }) : value;
}
