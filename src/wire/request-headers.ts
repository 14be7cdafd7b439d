import { RequestError } from "./request-error.ts";

/** The header section of a request. Names are without regard to case, and asked for in lower case. */
export class RequestHeaders {
  readonly #values: ReadonlyMap<string, string>;

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  /** The value; that of a repeated field joined by commas (RFC 9110 section 5.3), null where there is none. */
  get(name: string): string | null {
    return this.#values.get(name) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }
}

const line = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;

/**
 * Reads a header section, each line with its CRLF (RFC 9112 section 5). Strictly: what two readers of one request take for
 * different fields can be smuggled past one of them.
 * @throws RequestError `malformed` for anything that is no field: blanks before the colon, folded lines, control characters
 */
export function parseHeaders(section: string): RequestHeaders {
  const values = new Map<string, string>();
  for (const text of section.split("\r\n").slice(0, -1)) {
    const [, name, raw] = line.exec(text) ?? [];
    if (name === undefined || raw === undefined) throw malformed(text);
    const key = name.toLowerCase();
    const value = withoutBlanks(raw);
    const before = values.get(key);
    values.set(key, before === undefined ? value : `${before}, ${value}`);
  }
  return new RequestHeaders(values);
}

function malformed(text: string): RequestError {
  const shown = text.slice(0, 40).replaceAll(/[^ -~]/g, "?");
  return new RequestError("malformed", `a line of the header section is no field: \`${shown}\``);
}

/** Without the optional whitespace around a field's value. `trim` would take more than blanks and tabs. */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
