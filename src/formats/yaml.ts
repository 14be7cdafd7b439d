// Reads YAML 1.2 files, and so JSON files, that follow a `Shape`. Finds all mistakes, and remembers where each value was.

import {
  type Alias,
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type ParsedNode,
  parseDocument,
  type Scalar,
  visit,
} from "yaml";
import { findNearest, formatHint } from "../lib/text.ts";
import { ProblemError } from "../model/errors.ts";
import type { ListShape, ObjectShape, ScalarShape, Shape } from "./sites-schema.ts";

/** The first ones are reported. */
const maxMistakes = 100;
/** In a file: words, brackets, line breaks and so on. Parsed, each takes about 400 bytes of memory, and a site from `describe` has 200. */
const maxTokens = 1_500_000;
/** Values in a file, counting those of an alias each time it's used, so that a few of them can't stand for millions. */
const maxValues = 500_000;

/** The mistakes in one or more files, as `file:line:column: what's wrong`. */
export class Mistakes {
  readonly #found = new Set<string>();
  readonly #places = new WeakMap<object, Map<string | number, string>>();

  /** Remembers where a member of an object or list was. An empty `member` stands for the whole. */
  remember(owner: object, member: string | number, place: string): void {
    const places = this.#places.get(owner) ?? new Map();
    this.#places.set(owner, places.set(member, place));
  }

  /** The place of a member, or else of the whole object or list. */
  placeOf(owner: object, member: string | number = ""): string {
    const places = this.#places.get(owner);
    return places?.get(member) ?? places?.get("") ?? "";
  }

  add(place: string, detail: string): void {
    this.#found.add(`${place}: ${detail}`);
  }

  /** Runs `check`. If it throws, its error is a mistake in that member. */
  check<T>(owner: object, member: string | number, check: () => T): T | undefined {
    try {
      return check();
    } catch (error) {
      if (!(error instanceof Error) || error.name === "TypeError") throw error;
      const details = error instanceof ProblemError ? error.fieldErrors.map(({ detail }) => detail) : [];
      for (const detail of details.length > 0 ? details : [error.message])
        this.add(this.placeOf(owner, member), detail);
      return undefined;
    }
  }

  /** @throws ProblemError `invalid-record` with all mistakes */
  throwIfAny(): void {
    const found = [...this.#found].map((text) => ({ text, place: /^(.*?):(\d+):(\d+): /.exec(text) ?? [] }));
    found.sort(
      ({ place: [, file, a, b] }, { place: [, other, c, d] }) =>
        (file === other ? 0 : String(file) < String(other) ? -1 : 1) || Number(a) - Number(c) || Number(b) - Number(d),
    );
    const [first, ...others] = found.slice(0, maxMistakes).map(({ text }) => text);
    if (first === undefined) return;
    const hasMore = found.length > maxMistakes;
    const rest = hasMore ? ` (and more; the first ${maxMistakes} are listed)` : "";
    const fieldErrors = [first, ...others].map((detail) => ({ field: "", code: "invalid" as const, detail }));
    throw new ProblemError("invalid-record", first + rest, { fieldErrors });
  }
}

/** @param file its name, for mistakes @returns the content; what's mistaken is left out */
export function readYaml(text: string, file: string, shape: Shape, mistakes: Mistakes): unknown {
  let tokens = 0;
  for (const _ of new Lexer().lex(text))
    if (++tokens > maxTokens) throw new ProblemError("too-large", `${file} has too many values; apply it in parts`);
  const lines = new LineCounter();
  // The library compares each key with all others, so a long mapping would take forever. We use a set.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false });
  const placeAt = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const { errors, contents } = document;
  for (const { code, message, pos } of errors) mistakes.add(placeAt(pos[0]), syntaxDetails[code] ?? message);
  if (errors.length > 0) return undefined;
  if (!contents) mistakes.add(`${file}:1:1`, "the file is empty; it needs `sites:` with a list below");
  return contents ? new Reader(placeAt, mistakes).read(contents as ParsedNode, shape) : undefined;
}

/** Writes YAML with short lists in one line. Quotes words such as `no`, which other parsers read as false. */
export function formatYaml(value: object): string {
  const document = new Document(value, { aliasDuplicateObjects: false, compat: "yaml-1.1" });
  visit(document, {
    Seq(_, node) {
      if (node.items.every(isScalar)) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).trimEnd();
}

/** For the library's errors whose message doesn't help. */
const syntaxDetails: Readonly<Record<string, string>> = {
  BAD_INDENT: "this line isn't indented enough, or a closing ] or } is missing",
  MULTIPLE_DOCS: "the file has several documents; put all sites below one `sites:`",
  RESOURCE_EXHAUSTION: "this is nested too deeply",
  TAB_AS_INDENT: "indent with spaces; YAML doesn't allow tabs here",
  BLOCK_AS_IMPLICIT_KEY: "a value can't contain `: `; put it in quotes",
};

class Reader {
  readonly #placeAt: (offset: number) => string;
  readonly #mistakes: Mistakes;
  readonly #anchors = new Map<string, ParsedNode>();
  #values = 0;

  constructor(placeAt: (offset: number) => string, mistakes: Mistakes) {
    this.#placeAt = placeAt;
    this.#mistakes = mistakes;
  }

  /** @param orElse ends a message about a scalar, with what else it can be */
  read(sent: ParsedNode, shape: Shape, orElse = ""): unknown {
    if (++this.#values > maxValues)
      throw new ProblemError("too-large", `${this.#place(sent)}: the file has more than ${maxValues} values; split it`);
    if (isAlias(sent)) return this.#readAlias(sent, shape);
    if (sent.anchor) this.#anchors.set(sent.anchor, sent);
    if ("anyOf" in shape) {
      const [word, other] = shape.anyOf;
      if (isScalar(sent) && sent.value === word.const) return word.const;
      return this.read(sent, other, `, or \`${word.const}\``);
    }
    if (shape.type === "object") return this.#readObject(sent, shape);
    if (shape.type === "array") return this.#readList(sent, shape);
    if (!isScalar(sent)) return this.#reject(sent, `use a single ${words[shape.type]}`);
    return this.#readScalar(sent, shape, orElse);
  }

  #place({ range }: ParsedNode | Alias): string {
    return this.#placeAt(range?.[0] ?? 0);
  }

  #reject(node: ParsedNode, detail: string): undefined {
    this.#mistakes.add(this.#place(node), detail);
  }

  #readAlias(alias: Alias.Parsed, shape: Shape): unknown {
    const node = this.#anchors.get(alias.source);
    return node ? this.read(node, shape) : this.#reject(alias, `there's no \`&${alias.source}\` above`);
  }

  #readObject(node: ParsedNode, { properties, required }: ObjectShape): unknown {
    const names = Object.keys(properties);
    if (!isMap(node)) return this.#reject(node, `use fields here, such as \`${required[0] ?? names[0]}: ...\``);
    const read: Record<string, unknown> = {};
    this.#mistakes.remember(read, "", this.#place(node));
    for (const { key, value } of node.items) {
      const keyNode = key as ParsedNode;
      const name = isScalar(keyNode) ? String(keyNode.value) : "";
      const place = this.#place(keyNode);
      if (!Object.hasOwn(properties, name)) {
        const hint = formatHint(findNearest(name, names), `use ${names.join(", ")}`, name);
        this.#mistakes.add(place, `unknown field \`${name.slice(0, 100)}\`; ${hint}`);
      } else if (Object.hasOwn(read, name)) {
        this.#mistakes.add(place, `\`${name}\` is set twice; use it only once`);
      } else {
        read[name] = value ? this.read(value as ParsedNode, properties[name] as Shape) : this.#reject(keyNode, noValue);
        this.#mistakes.remember(read, name, value ? this.#place(value as ParsedNode) : place);
      }
    }
    for (const name of required) if (!Object.hasOwn(read, name)) this.#reject(node, `\`${name}\` is missing`);
    return read;
  }

  #readList(node: ParsedNode, { items, maxItems }: ListShape): unknown {
    if (!isSeq(node)) return this.#reject(node, "use a list, such as [a, b], or [] for none");
    if (node.items.length > maxItems) return this.#reject(node, `use at most ${maxItems} entries`);
    const read: unknown[] = [];
    this.#mistakes.remember(read, "", this.#place(node));
    for (const item of node.items as ParsedNode[]) {
      const value = this.read(item, items);
      if (value === undefined) continue;
      this.#mistakes.remember(read, read.length, this.#place(item));
      read.push(value);
    }
    return read;
  }

  #readScalar(node: Scalar.Parsed, shape: ScalarShape, orElse: string): unknown {
    const { value, source } = node;
    const sent = source.slice(0, 100);
    if (value === null) return this.#reject(node, noValue);
    if (shape.type === "boolean") {
      if (typeof value === "boolean") return value;
      return this.#reject(node, `use true or false; in YAML, \`${sent}\` is ${describeType(value)}`);
    }
    if (shape.type === "integer") {
      const { minimum, maximum } = shape;
      if (Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum) return value;
      return this.#reject(node, `use a whole number from ${minimum} to ${maximum}${orElse}`);
    }
    if (typeof value !== "string")
      return this.#reject(node, `in YAML, \`${sent}\` is ${describeType(value)}; put it in quotes: "${sent}"`);
    if (!shape.enum || shape.enum.includes(value)) return value;
    const hint = formatHint(findNearest(value, shape.enum), `use ${shape.enum.join(", ")}`, value);
    return this.#reject(node, `unknown value \`${sent}\`; ${hint}`);
  }
}

const noValue = "give the field a value, or remove it to leave the setting alone";
const words = { string: "text", boolean: "true or false", integer: "number" };

function describeType(value: unknown): string {
  if (typeof value === "string") return "text";
  return typeof value === "boolean" ? "a boolean" : "a number";
}
