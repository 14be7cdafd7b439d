// Stores the `ETag` of a record or list in the object itself. The property is a symbol, so JSON and `Object.keys` omit it. It is enumerable, so a
// copy such as `{ ...brand, Name: "New" }` has it too.

const etag = Symbol.for("storefront.etag");

/**
 * Returns the `ETag` of a list, of a record from `get`, `create` or `update`, or of a copy made by spreading such a record. Returns undefined
 * for records from a list (the server does not send their versions) and for copies made through JSON.
 */
export function etagOf(value: object): string | undefined {
  return (value as { [etag]?: string })[etag];
}

/** Adds an `ETag` to `value`. Removes the weak mark `W/`, which a compressing proxy adds, because the version is the same. */
export function withEtag<T extends object>(value: T, tag: string | null): T {
  return tag ? Object.assign(value, { [etag]: tag.replace(/^W\//, "") }) : value;
}
