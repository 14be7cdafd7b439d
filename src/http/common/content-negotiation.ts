// Reads the preferences of a client in `Accept` and `Accept-Encoding` (RFC 9110 sections 12.5.1 and 12.5.3). No other file reads these fields.

import { BoundedCache } from "../../lib/bounded-cache.ts";

/** Parsed header fields: at most 256, each of at most 256 characters. Browsers send up to about 150 characters. */
const parsed = new BoundedCache(256, 256, parseWeights);

/** Whether an `Accept` names `text/html`. A wildcard is not enough, because programs send it too. */
export function acceptsHtml(header: string | null): boolean {
  return header !== null && (parsed.get(header).get("text/html") ?? 0) > 0;
}

/**
 * Returns the coding in `offered` that an `Accept-Encoding` prefers; undefined if it accepts none of them.
 * @param offered names in lower case; of codings that the client likes equally, the first is chosen
 */
export function preferredCoding<Name extends string>(
  header: string | null,
  offered: readonly Name[],
): Name | undefined {
  if (header === null) return undefined;
  const weights = parsed.get(header);
  const others = weights.get("*") ?? 0;
  let preferred: Name | undefined;
  let highest = 0;
  for (const coding of offered) {
    // `x-gzip` is an old name of `gzip` (RFC 9110 section 8.4.1.3).
    const weight = weights.get(coding) ?? weights.get(`x-${coding}`) ?? others;
    if (weight > highest) [preferred, highest] = [coding, weight];
  }
  return preferred;
}

/**
 * Parses the weights (0 to 1) by media type or coding. The names are in lower case and without parameters. An invalid weight counts as 0 (section
 * 12.4.2).
 */
function parseWeights(header: string): ReadonlyMap<string, number> {
  return new Map(header.split(",").map(parseEntry));
}

function parseEntry(entry: string): [name: string, weight: number] {
  const [name = "", ...parameters] = entry
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  return [name, weight ? Number(weight.slice(2)) || 0 : 1];
}
