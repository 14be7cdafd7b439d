import { type Fault, messageOf, Refusal } from "../model/errors.ts";
import type { Format } from "./format.ts";
import { fromUtf8 } from "./utf8.ts";

export const json: Format = {
  name: "json",
  contentType: "application/json; charset=utf-8",
  problemType: "application/problem+json",
  decode: (_resource, body) => decodeJson(fromUtf8(body)),
  item: (_resource, stored) => stored,
  part: (_resource, record) => JSON.stringify(record),
  single: (item) => item,
  listStart: "[",
  separator: ",",
  listEnd: "]",
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
  return { input, faults: repeatedNames(text) };
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
