// What a client prefers: the one reader of `Accept` and `Accept-Encoding`.

/** Longest header to remember: no client's own is longer, and long ones would fill the memory. */
const longestKept = 256;
/** How many headers to remember. Clients send few different ones. */
const mostKept = 256;

const read = new Map<string, ReadonlyMap<string, number>>();

/**
 * The weights (0 to 1) by media type or content coding, in lower case and without parameters (RFC 9110 sections 12.4.2,
 * 12.5.1 and 12.5.3). A weight that is none counts as 0.
 */
export function weightsOf(header: string): ReadonlyMap<string, number> {
  const known = read.get(header);
  if (known) return known;
  const weights = new Map(header.split(",").map(readEntry));
  if (read.size >= mostKept) read.clear();
  if (header.length <= longestKept) read.set(header, weights);
  return weights;
}

function readEntry(entry: string): [string, number] {
  const [name = "", ...parameters] = entry
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  return [name, weight ? Number(weight.slice(2)) || 0 : 1];
}
