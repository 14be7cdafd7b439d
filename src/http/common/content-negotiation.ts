// Reads the preferences of a client in `Accept` and `Accept-Encoding` (RFC 9110 sections 12.5.1 and 12.5.3). No other file reads these fields.

import { BoundedCache } from "../../lib/bounded-cache.ts";

/** Parsed header fields: at most 256, each of at most 256 characters. Browsers send up to about 150 characters. */
const parsed = new BoundedCache(256, 256, parseWeights);

/** Whether an `Accept` names `text/html`. A wildcard is not enough, because programs send it too. */
export function acceptsHtml(header: string | null): boolean {
  return header !== null && (parsed.get(header).get("text/html") ?? 0) > 0;
}

/**
 * Returns the coding in `offered` that an `Accept-Encoding` prefers; undefined for no coding, if the client likes `identity` better or accepts none of
 * them. Of codings with the same weight, a coding that the client names wins over one that only `*` allows: a client may send `*` and know no more
 * than gzip.
 * @param offered names in lower case, in the server's order of preference; the last is the one that every client knows
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
 * Parses the weights (0 to 1) by media type or coding. The names are in lower case and without parameters. An invalid weight counts as 0 (section
 * 12.4.2). Of a name that is sent more than once, the highest weight counts.
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
