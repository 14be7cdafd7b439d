import { stored } from "../model/encoding.ts";
import { type Fault, messageOf, Refusal } from "../model/errors.ts";
import type { Format } from "./format.ts";
import { fromUtf8 } from "./utf8.ts";

export const json: Format = {
  ...stored,
  contentType: "application/json; charset=utf-8",
  problemType: "application/problem+json",
  decode: (_resource, body) => decodeJson(fromUtf8(body)),
  part: (_resource, record) => JSON.stringify(record),
  problem: (problem) => JSON.stringify(problem),
};

/** Reads JSON (RFC 8259). A repeated name is a fault: most parsers would silently keep the last. */
export function decodeJson(text: string): { input: unknown; faults: Fault[] } {
  if (text.trim() === "") throw new Refusal("bad-request", "the body is empty; a JSON object is needed");
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Refusal("bad-request", `the body is not valid JSON: ${reason(error)}`);
    throw new Refusal("bad-request", "the body is nested too deeply");
  }
  const names = countNames(input, 0);
  if (Number.isNaN(names)) throw new Refusal("bad-request", "the body is nested too deeply");
  return { input, faults: hasEveryName(text, names) ? [] : repeatedNames(text) };
}

/**
 * Whether `names`, the number of them that were read, is that of `":` in `text`. Then none was lost, and the slow search is
 * not needed; a string that contains `":`, or blanks before a colon, make it look.
 */
function hasEveryName(text: string, names: number): boolean {
  if (/"\s+:/.test(text)) return false;
  let colons = 0;
  for (let at = text.indexOf('":'); at !== -1; at = text.indexOf('":', at + 2)) colons++;
  return colons === names;
}

/** The names in `value` and below; no number where that goes deeper than any record. */
function countNames(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (depth > 8) return Number.NaN;
  let count = 0;
  for (const name in value) count += 1 + countNames((value as Record<string, unknown>)[name], depth + 1);
  return Array.isArray(value) ? count - value.length : count;
}

function reason(error: unknown): string {
  return messageOf(error)
    .replace(/^JSON Parse error: /, "")
    .slice(0, 200);
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/** The names that occur twice in one object of `text`, which is known to be valid. */
function repeatedNames(text: string): Fault[] {
  const faults: Fault[] = [];
  const open: { names: Set<string> | undefined; name: string }[] = [];
  let string = "";
  for (const [lexeme] of text.matchAll(token)) {
    if (lexeme === "{" || lexeme === "[") open.push({ names: lexeme === "{" ? new Set() : undefined, name: "" });
    else if (lexeme === "}" || lexeme === "]") open.pop();
    else if (lexeme === ":") {
      const here = open.at(-1);
      if (!here?.names) continue;
      here.name = JSON.parse(string);
      if (here.names.has(here.name)) faults.push({ field: dotted(open), detail: "appears more than once" });
      here.names.add(here.name);
    } else string = lexeme;
  }
  return faults;
}

function dotted(open: readonly { name: string }[]): string {
  return open
    .map(({ name }) => name)
    .join(".")
    .slice(0, 200);
}
