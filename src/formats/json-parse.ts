// JSON.parse, for the texts that it reads as our reader does (json-reader.ts) and that have no fault: it is several times faster.

import { maxDepth } from "./malformed.ts";

/** Longer texts, of which few are one record, are for the reader: it stops as soon as there are too many values. */
const maxLength = 16 * 1024;

/** What is counted in a value: all values in it, itself included, and the names and strings. */
interface Counts {
  values: number;
  strings: number;
}

/**
 * The value of a JSON text that is valid, neither too deep nor too long, and repeats no name in an object; otherwise undefined.
 * @param maxCount the number of values that it may have
 */
export function parseFaultless(text: string, maxCount: number): unknown {
  if (text.length > maxLength) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const counts = { values: 0, strings: 0 };
  if (!count(value, 0, counts) || counts.values > maxCount) return undefined;
  // Of equal names in an object, JSON.parse keeps the last one: then the text has more strings than the value.
  return 2 * counts.strings === quotesIn(text) ? value : undefined;
}

/** Adds the counts of `value`, which is nested `depth` deep. Returns false if it is nested too deeply. */
function count(value: unknown, depth: number, counts: Counts): boolean {
  counts.values++;
  if (typeof value === "string") counts.strings++;
  if (typeof value !== "object" || value === null) return true;
  if (depth > maxDepth) return false;
  const isNamed = !Array.isArray(value);
  for (const name in value) {
    if (isNamed) counts.strings++;
    if (!count((value as Record<string, unknown>)[name], depth + 1, counts)) return false;
  }
  return true;
}

/** The number of quotes that begin or end a string in a valid JSON text. */
function quotesIn(text: string): number {
  let quotes = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) quotes++;
    else if (code === 0x5c) at++;
  }
  return quotes;
}
