// Parses and looks up the fields of a header section (RFC 9112 section 5).

import { RequestError } from "./request-error.ts";

/** A request's headers. Look them up in lower case, because names are case-insensitive (RFC 9110 section 5.1). */
export class HeaderFields {
  readonly #values: ReadonlyMap<string, string>;
  readonly #repeated: ReadonlySet<string>;
  #isConditional: boolean | undefined;

  constructor(values: ReadonlyMap<string, string>, repeated: ReadonlySet<string> = noNames) {
    this.#values = values;
    this.#repeated = repeated;
  }

  /** Returns null for a missing header. A repeated one's values are joined with commas (RFC 9110 section 5.3), and cookies with semicolons (RFC 9113 section 8.2.3). */
  get(name: string): string | null {
    return this.#values.get(name) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /**
   * Like `get`, for a header that isn't a list, so it may only appear once (RFC 9110 section 5.3).
   * @param name as messages spell it
   * @throws RequestError `malformed` if it's repeated
   */
  single(name: string): string | null {
    const key = name.toLowerCase();
    if (!this.#repeated.has(key)) return this.get(key);
    throw new RequestError("malformed", `the request has more than one ${name} header; send one`);
  }

  /** Whether there's an `If-Match` or `If-None-Match`. Remembered, because a connection's requests often share a header section. */
  get isConditional(): boolean {
    this.#isConditional ??= this.has("if-match") || this.has("if-none-match");
    return this.#isConditional;
  }

  /** Returns the name of the first header that `isWanted` accepts, among the first `count`. */
  findName(isWanted: (name: string, value: string) => boolean, count: number): string | undefined {
    let left = count;
    for (const [name, value] of this.#values) {
      if (left-- === 0) return undefined;
      if (isWanted(name, value)) return name;
    }
    return undefined;
  }

  without(name: string): HeaderFields {
    if (!this.has(name)) return this;
    return new HeaderFields(new Map([...this.#values].filter(([other]) => other !== name)), this.#repeated);
  }
}

const noNames: ReadonlySet<string> = new Set();

const line = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;

/**
 * Parses header lines, each with its CRLF (RFC 9112 section 5).
 * @throws RequestError `malformed` for whitespace before the colon, folded lines, control characters and other invalid lines
 */
export function parseHeaderFields(section: string): HeaderFields {
  const values = new Map<string, string>();
  let repeated: Set<string> | undefined;
  for (const text of section.split("\r\n").slice(0, -1)) {
    const [, name, raw] = line.exec(text) ?? [];
    if (name === undefined || raw === undefined) throw malformedError(text);
    const key = name.toLowerCase();
    const value = withoutOuterWhitespace(raw);
    const before = values.get(key);
    values.set(key, before === undefined ? value : `${before}${key === "cookie" ? ";" : ","} ${value}`);
    if (before !== undefined) repeated = (repeated ?? new Set()).add(key);
  }
  return new HeaderFields(values, repeated);
}

function malformedError(text: string): RequestError {
  const shown = text.slice(0, 40).replaceAll(/[^ -~]/g, "?");
  return new RequestError("malformed", `\`${shown}\` isn't a valid header line`);
}

/** Removes optional whitespace (RFC 9110 section 5.6.3), which means spaces and tabs; `trim` would remove more. */
function withoutOuterWhitespace(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isWhitespace(text.charCodeAt(start))) start++;
  while (end > start && isWhitespace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
