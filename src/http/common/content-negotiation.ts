// Reads what a client prefers, from `Accept` and `Accept-Encoding` (RFC 9110 sections 12.5.1 and 12.5.3). No other file reads these headers.

import { BoundedCache } from "../../lib/bounded-cache.ts";

/** At most 256 headers of up to 256 characters. Browsers send about 150 at most. */
const parsed = new BoundedCache(256, 256, parseWeights);

/** Whether `Accept` names `text/html`. A wildcard isn't enough, because programs send that too. */
export function acceptsHtml(header: string | null): boolean {
  return header !== null && (parsed.get(header).get("text/html") ?? 0) > 0;
}

/**
 * Returns the offered coding that `Accept-Encoding` prefers; undefined if the client prefers `identity` or accepts none of them. With equal weights, a coding
 * the client names beats one it only allows with `*`, because it may send `*` and know nothing but gzip.
 * @param offered in lower case and our order of preference, ending with the one every client knows
 */
export function preferredCoding<Name extends string>(
  header: string | null,
  offered: readonly Name[],
): Name | undefined {
  if (header === null) return undefined;
  const weights = parsed.get(header);
  const others = weights.get("*") ?? 0;
  const identity = weights.get("identity") ?? others;
  const named = offered.filter((coding) => weights.has(coding));
  const unnamed = offered.filter((coding) => !weights.has(coding)).reverse();
  let preferred: Name | undefined;
  let highest = 0;
  for (const coding of [...named, ...unnamed]) {
    const weight = weights.get(coding) ?? others;
    if (weight > highest && weight >= identity) [preferred, highest] = [coding, weight];
  }
  return preferred;
}

/**
 * Parses the weights (0 to 1) by media type or coding, in lower case and without parameters. An invalid weight counts as 0 (section 12.4.2). If a name is
 * sent more than once, the highest weight counts.
 */
function parseWeights(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const entry of header.split(",")) {
    const [name = "", ...parameters] = entry
      .toLowerCase()
      .split(";")
      .map((part) => part.trim());
    // `x-gzip` is an old name of `gzip` (section 8.4.1.3).
    const key = name === "x-gzip" ? "gzip" : name;
    weights.set(key, Math.max(weights.get(key) ?? 0, weightIn(parameters)));
  }
  return weights;
}

function weightIn(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => /^q\s*(?:=|$)/.test(parameter));
  if (weight === undefined) return 1;
  return /^q=(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0;
}
