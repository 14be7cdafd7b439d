// Responses as the handler makes them, and whether the connection persists after them (RFC 9112 section 9).
// encode-response.ts makes the bytes to send.

import type { BufferWithHeadroom, ByteRange } from "../lib/bytes.ts";
import type { RequestHeader } from "./request-header.ts";

export interface WireResponse {
  readonly status: number;
  /** Header fields, made by `toHeaderLines`, without `Date`, `Content-Length` and `Connection`, which encode-response.ts adds. */
  readonly headers: HeaderParts;
  readonly body: ResponseBody;
}

/** The properties of a response that depend on the connection and the request. */
export interface ResponseFraming {
  /** Whether the body is left out, as in the response to HEAD (RFC 9110 section 9.3.2). */
  readonly omitsBody: boolean;
  /** The value of `Connection`; undefined if the response has no such field. */
  readonly connection: "close" | "keep-alive" | undefined;
}

/**
 * Returns the framing of the response to a request. A connection of HTTP/1.1 persists, a connection of HTTP/1.0 ends, unless the client asks for
 * the opposite (RFC 9112 section 9.3). It always ends after a CONNECT: what follows was meant for a tunnel (RFC 9110 section 9.3.6).
 * @param isLast whether the connection must end with this response, whatever the client asks for
 */
export function toResponseFraming({ method, isHttp10, section }: RequestHeader, isLast: boolean): ResponseFraming {
  const { keepsAlive = !isHttp10 } = section.framing;
  const omitsBody = method === "HEAD";
  if (!keepsAlive || isLast || method === "CONNECT") return { omitsBody, connection: "close" };
  if (isHttp10) return { omitsBody, connection: "keep-alive" };
  return omitsBody ? persistentWithoutBody : persistent;
}

const persistent: ResponseFraming = { omitsBody: false, connection: undefined };
const persistentWithoutBody: ResponseFraming = { omitsBody: true, connection: undefined };

export type BodyPart = Uint8Array | ByteRange;

/** The body of a response: text (sent as UTF-8), bytes, or bytes in parts; null for none. The bytes must not change afterwards. */
export type ResponseBody = string | Uint8Array | readonly BodyPart[] | BufferWithHeadroom | null;

/** Returns the length of a body in bytes. */
export function bodyLength(body: ResponseBody): number {
  if (body === null) return 0;
  if (typeof body === "string") return Buffer.byteLength(body);
  if ("memory" in body) return body.memory.length - body.start;
  if (body instanceof Uint8Array) return body.length;
  return partsLength(body);
}

/** Returns the length of all `parts` together, in bytes. */
export function partsLength(parts: readonly BodyPart[]): number {
  let sum = 0;
  for (const part of parts) sum += partLength(part);
  return sum;
}

/** Returns the length of `part` in bytes. */
export function partLength(part: BodyPart): number {
  return part instanceof Uint8Array ? part.length : part.end - part.start;
}

/** Copies the first `count` bytes of `part` to `target` at the index `at`. */
export function copyPart(part: BodyPart, count: number, target: Buffer, at: number): void {
  if (!(part instanceof Uint8Array)) part.source.copy(target, at, part.start, part.start + count);
  else target.set(count === part.length ? part : part.subarray(0, count), at);
}

/** Returns the bytes of `part`, which are not copied. */
export function partBytes(part: BodyPart): Uint8Array {
  return part instanceof Uint8Array ? part : part.source.subarray(part.start, part.end);
}

/** A body that is sent in several writes, up to its end. All responses with the same body share `parts`, so a response costs the same for any number of parts. */
export interface UnsentBody {
  readonly parts: readonly BodyPart[];
  /** The index of the first part that is not completely sent; the number of parts at the end. */
  index: number;
  /** How many bytes of that part are sent. */
  sent: number;
}

/** Returns `parts` of which the first `count` bytes are sent. */
export function unsentAfter(parts: readonly BodyPart[], count: number): UnsentBody {
  let index = 0;
  let sent = count;
  for (; index < parts.length; index++) {
    const length = partLength(parts[index] as BodyPart);
    if (sent < length) break;
    sent -= length;
  }
  return { parts, index, sent };
}

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
