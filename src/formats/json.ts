import { storedEncoding } from "../model/encoding.ts";
import { Refusal } from "../model/errors.ts";
import type { Decoded, Format } from "./format.ts";
import { readJson } from "./json-reader.ts";
import { mostValues } from "./malformed.ts";
import { fromUtf8 } from "./utf8.ts";

export const json: Format = {
  ...storedEncoding,
  contentType: "application/json; charset=utf-8",
  problemType: "application/problem+json",
  decode: (_resource, body) => decodeJson(fromUtf8(body), mostValues),
  part: (_resource, record) => JSON.stringify(record),
  problem: (problem) => JSON.stringify(problem),
};

/**
 * Reads a JSON value from a body or a file.
 * @param most after so many values the rest is not read
 * @throws Refusal `bad-request` for an empty or malformed text
 */
export function decodeJson(text: string, most?: number): Decoded {
  if (/^[ \t\r\n]*$/.test(text)) throw new Refusal("bad-request", "the body is empty; a JSON object is needed");
  return readJson(text, most);
}
