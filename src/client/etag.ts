// Keeps the `ETag` of a record or list on the object itself, under a symbol, which JSON and `Object.keys` ignore. The property is enumerable, so
// copies such as `{ ...brand, Name: "New" }` keep it.

const etag = Symbol.for("storefront.etag");

/**
 * Returns the `ETag` of a list, or of a record from `get`, `create` or `update`, or of a spread copy of one. Returns undefined for records from a
 * list (the server doesn't send their versions) and for copies made through JSON.
 */
export function etagOf(value: object): string | undefined {
  return (value as { [etag]?: string })[etag];
}

/** Adds an `ETag` to `value`, without the weak mark `W/` that a compressing proxy adds: the version is the same. */
export function withEtag<T extends object>(value: T, tag: string | null): T {
  return tag ? Object.assign(value, { [etag]: tag.replace(/^W\//, "") }) : value;
}
