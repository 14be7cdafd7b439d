// Reads YAML 1.2 files, and so JSON files, that follow a `Shape`. Finds all mistakes, and remembers where each value was.

import {
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type ParsedNode,
  parseDocument,
  visit,
} from "yaml";
import { escapeControls, findNearest, formatHint } from "../lib/text.ts";
import { ProblemError } from "../model/errors.ts";

/** The part of JSON Schema that we need. */
export type Shape = ObjectShape | ListShape | ScalarShape;

export interface ObjectShape {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Shape>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

interface ListShape {
  readonly description: string;
  readonly type: "array";
  readonly items: ObjectShape | ScalarShape;
  readonly maxItems: number;
}

/** Except for `boolean`, values are read as text, just as they were typed, so that a label can be `no` or `007`. */
export interface ScalarShape {
  readonly description?: string;
  readonly type: "string" | "boolean" | "integer" | readonly ["integer", "string"];
  readonly enum?: readonly string[];
  /** Returns the normal form. Not part of the schema. @throws ProblemError */
  readonly parse?: (text: string) => string;
}

/** The first ones are reported. */
const maxMistakes = 100;
/** In a file: words, brackets, line breaks and so on. Parsed, each takes about 400 bytes of memory, and a site from `describe` has 200. */
const maxTokens = 1_500_000;
/** Values in a file, counting those of an alias each time it's used, so that a few of them can't stand for millions. */
const maxValues = 500_000;

/** The mistakes in one or more files, as `file:line:column: what's wrong`. */
export class Mistakes {
  readonly #found = new Set<string>();
  /** Where objects and lists are, and below their own names, their members. */
  readonly #places = new WeakMap<object, Map<string | number, string>>();

  /** @param member empty for the object or list itself */
  remember(owner: object, member: string | number, place: string): void {
    this.#places.set(owner, (this.#places.get(owner) ?? new Map()).set(member, place));
  }

  /** The place of a member, or else of the whole object or list. */
  placeOf(owner: object, member: string | number = ""): string {
    const places = this.#places.get(owner);
    return places?.get(member) ?? places?.get("") ?? "";
  }

  add(place: string, detail: string): void {
    this.#found.add(`${place}: ${detail}`);
  }

  /** Runs `work`. A ProblemError is a mistake at `place`. */
  check<T>(place: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      this.add(place, error.fieldErrors[0]?.detail ?? error.message);
      return undefined;
    }
  }

  /** @throws ProblemError `invalid-record` with all mistakes */
  throwIfAny(): void {
    // Compares lines and columns as numbers.
    const found = [...this.#found].sort(new Intl.Collator("en", { numeric: true }).compare).slice(0, maxMistakes);
    if (found.length === 0) return;
    const rest = this.#found.size > maxMistakes ? ` (and more; the first ${maxMistakes} are listed)` : "";
    const fieldErrors = found.map((detail) => ({ field: "", code: "invalid" as const, detail }));
    throw new ProblemError("invalid-record", found[0] + rest, { fieldErrors });
  }
}

/** For the library's errors whose message doesn't help. */
const syntaxDetails: Readonly<Record<string, string>> = {
  BAD_INDENT: "this line isn't indented enough, or a closing ] or } is missing",
  BLOCK_AS_IMPLICIT_KEY: "put the value in quotes if `: ` is part of it; otherwise indent the next line like this one",
  MISSING_CHAR: "a quote, bracket, comma or `- ` is missing here, or this line isn't indented like those above it",
  MULTIPLE_DOCS: "the file has several documents; put all sites below one `sites:`",
  RESOURCE_EXHAUSTION: "this is nested too deeply",
  TAB_AS_INDENT: "indent with spaces; YAML doesn't allow tabs here",
};
const otherSyntax = "put this value in quotes, or indent this line like those above it";
const noValue = "give the field a value, or remove it to leave the setting alone";

/** @param file its name, for mistakes @returns the content; what's mistaken is left out */
export function readYaml(text: string, file: string, shape: Shape, mistakes: Mistakes): unknown {
  let count = 0;
  for (const _ of new Lexer().lex(text))
    if (++count > maxTokens) throw new ProblemError("too-large", `${file} has too many values; split it`);
  const lines = new LineCounter();
  // The library compares each key with all others, so a long mapping would take forever.
  const { errors, contents } = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false });
  const placeAt = (offset = 0) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const placeOf = ({ range }: ParsedNode) => placeAt(range?.[0]);
  const reject = (node: ParsedNode, detail: string) => mistakes.add(placeOf(node), detail);
  const anchors = new Map<string, ParsedNode>();
  let values = 0;

  const read = (node: ParsedNode, shape: Shape): unknown => {
    if (++values > maxValues) throw new ProblemError("too-large", `${placeOf(node)}: more than ${maxValues} values`);
    if (isAlias(node)) {
      const meant = anchors.get(node.source);
      return meant ? read(meant, shape) : reject(node, `there's no \`&${node.source}\` above`);
    }
    if (node.anchor) anchors.set(node.anchor, node);
    if (shape.type === "object") return readObject(node, shape);
    return shape.type === "array" ? readList(node, shape) : readScalar(node, shape);
  };

  const readObject = (node: ParsedNode, { properties, required }: ObjectShape) => {
    const names = Object.keys(properties);
    if (isScalar(node) && /^\w+:./.test(node.source)) return reject(node, "put a space after the colon");
    if (!isMap(node)) return reject(node, `use fields here, such as \`${names[0]}: ...\``);
    const object: Record<string, unknown> = {};
    mistakes.remember(object, "", placeOf(node));
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? key.source : "";
      const shape = Object.hasOwn(properties, name) ? properties[name] : undefined;
      const hint = shape ? "" : formatHint(findNearest(name, names), `use ${names.join(", ")}`, name);
      if (!shape) reject(key, `unknown field \`${name.slice(0, 100)}\`; ${hint}`);
      else if (Object.hasOwn(object, name)) reject(key, `\`${name}\` is set twice; set it only once`);
      else {
        object[name] = value ? read(value, shape) : reject(key, noValue);
        mistakes.remember(object, name, placeOf(value ?? key));
      }
    }
    for (const name of required) if (!Object.hasOwn(object, name)) reject(node, `\`${name}\` is missing`);
    return object;
  };

  const readList = (node: ParsedNode, { items, maxItems }: ListShape) => {
    const example = items.type === "object" ? `\`- ${Object.keys(items.properties)[0]}: ...\`` : "[a, b]";
    if (!isSeq(node)) return reject(node, `use a list, such as ${example}, or [] for none`);
    if (node.items.length > maxItems) return reject(node, `use at most ${maxItems} entries`);
    const list: unknown[] = [];
    mistakes.remember(list, "", placeOf(node));
    for (const item of node.items as ParsedNode[]) {
      mistakes.remember(list, list.length, placeOf(item));
      list.push(...[read(item, items)].filter((value) => value !== undefined));
    }
    return list;
  };

  const readScalar = (node: ParsedNode, { type, enum: words, parse }: ScalarShape) => {
    if (!isScalar(node)) return reject(node, "use a single value here; text that starts with { or [ needs quotes");
    const { value, source } = node;
    const sent = `\`${source.slice(0, 100)}\``;
    if (value === null) return reject(node, noValue);
    if (type === "boolean" && typeof value === "boolean") return value;
    if (type === "boolean") return reject(node, `use true or false, without quotes, instead of ${sent}`);
    const hint = words && formatHint(findNearest(source, words), `use ${words.join(", ")}`, source);
    if (words && !words.includes(source)) return reject(node, `unknown value ${sent}; ${hint}`);
    return parse ? mistakes.check(placeOf(node), () => parse(source)) : source;
  };

  // The others usually follow from the first one.
  const [error] = errors;
  if (error) mistakes.add(placeAt(error.pos[0]), syntaxDetails[error.code] ?? otherSyntax);
  else if (!contents) mistakes.add(`${file}:1:1`, "the file is empty; it needs `sites:` with a list below");
  else return read(contents, shape);
  return undefined;
}

/** Writes YAML with short lists in one line. Quotes words such as `no`, which other parsers read as false, and what `escapeControls` escapes. */
export function formatYaml(value: object): string {
  const document = new Document(value, { aliasDuplicateObjects: false, compat: "yaml-1.1" });
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === "string" && escapeControls(node.value) !== node.value) node.type = "QUOTE_DOUBLE";
    },
    Seq(_, node) {
      if (node.items.every(isScalar)) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).trimEnd();
}
