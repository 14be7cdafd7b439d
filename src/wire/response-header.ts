// A header section is written from its end to its beginning, in front of the body. The body is in the buffer already, so its length is known, and
// both are sent in one write.

/**
 * A part of a header section: a text with one character per byte, a whole number from 0 (sent in decimal), or parts, one after another. Each part is
 * written into the send buffer on its own, because joining the parts first would take longer.
 */
type HeaderPart = string | number | HeaderParts;

export type HeaderParts = readonly HeaderPart[];

/** The values of header fields, by name. Values in parts are not checked, so no part may come from a client. */
export type HeaderValues = Readonly<Record<string, string | HeaderParts>>;

/**
 * Returns the lines of header fields, each with its CRLF.
 * @param headers values by name
 * @throws Error for a text with an invalid character, such as a line break (RFC 9110 section 5.5)
 */
export function toHeaderLines(headers: HeaderValues): HeaderParts {
  const lines: HeaderPart[] = [];
  for (const name in headers) {
    const value = headers[name] as string | HeaderParts;
    if (typeof value === "string" && unsendable.test(value)) throw new Error(`the header ${name} cannot be sent`);
    lines.push(name, ": ", value, "\r\n");
  }
  return lines;
}

export function joinParts(parts: HeaderParts): string {
  let text = "";
  for (const part of parts) text += typeof part === "object" ? joinParts(part) : part;
  return text;
}

const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

/** Returns an upper bound for the length of `parts` in bytes. */
export function maxByteLength(parts: HeaderParts): number {
  let bytes = 0;
  for (const part of parts) {
    if (typeof part === "string") bytes += part.length;
    else bytes += typeof part === "number" ? maxDigits : maxByteLength(part);
  }
  return bytes;
}

/** Maximum number of digits of a number in a header. */
const maxDigits = 16;

/** Writes `part` so that its last byte is before the index `end`. Returns the index of its first byte. */
export function writeEndingAt(target: Buffer, end: number, part: HeaderPart): number {
  if (typeof part === "string") return writeText(target, end, part);
  if (typeof part === "number") return writeNumber(target, end, part);
  let start = end;
  for (let index = part.length - 1; index >= 0; index--)
    start = writeEndingAt(target, start, part[index] as HeaderPart);
  return start;
}

/** Maximum characters of a text that is written character by character, because that takes less time than a call of the runtime. */
const maxShortChars = 24;

function writeText(target: Buffer, end: number, text: string): number {
  const start = end - text.length;
  if (text.length > maxShortChars) target.write(text, start, "latin1");
  else for (let index = 0; index < text.length; index++) target[start + index] = text.charCodeAt(index);
  return start;
}

function writeNumber(target: Buffer, end: number, value: number): number {
  if (value > maxInteger) return writeText(target, end, String(value));
  let start = end;
  let rest = value | 0;
  do {
    const next = (rest / 10) | 0;
    target[--start] = 0x30 + (rest - next * 10);
    rest = next;
  } while (rest > 0);
  return start;
}

/** Maximum number for which the runtime uses integer arithmetic. */
const maxInteger = 2 ** 31 - 1;
