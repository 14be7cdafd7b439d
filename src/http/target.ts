/** What a request asks for: the path as it was sent (dot segments resolved), and the query after the `?`. */
export interface Target {
  readonly path: string;
  readonly query: string;
}

/** Splits `url`, which is absolute, or only a path where the request had no usable `Host`. */
export function toTarget(url: string): Target {
  const start = url.startsWith("http") ? url.indexOf("/", 8) : 0;
  const mark = url.indexOf("?", start);
  if (mark === -1) return { path: url.slice(start), query: "" };
  return { path: url.slice(start, mark), query: url.slice(mark + 1) };
}
