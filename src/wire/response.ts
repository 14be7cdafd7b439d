// Responses, and what follows them on their connection (RFC 9112 section 9).

import type { BufferWithHeadroom, ByteRange } from "../lib/bytes.ts";
import type { RequestHeader } from "./request-header.ts";

export interface WireResponse {
  readonly status: number;
  /** Made by `toHeaderLines`, without `Date`, `Content-Length` and `Connection`, which the wire adds. */
  readonly headers: HeaderParts;
  readonly body: ResponseBody;
}

/** The properties of a response that depend on the connection and the request. */
export interface ResponseFraming {
  /** Whether the body is left out, as in the response to HEAD (RFC 9110 section 9.3.2). */
  readonly headOnly: boolean;
  /** The value of `Connection`; undefined for no such header. */
  readonly connection: "close" | "keep-alive" | undefined;
}

/**
 * RFC 9112 section 9.3: connections of HTTP/1.1 persist and those of HTTP/1.0 do not, unless the client asks for the other.
 * @param isLast whether the connection ends with this response, whatever the client asks for
 */
export function toResponseFraming({ method, isHttp10, section }: RequestHeader, isLast: boolean): ResponseFraming {
  const { keepsAlive = !isHttp10 } = section.framing;
  const headOnly = method === "HEAD";
  if (!keepsAlive || isLast) return { headOnly, connection: "close" };
  if (isHttp10) return { headOnly, connection: "keep-alive" };
  return headOnly ? headGoesOn : goesOn;
}

const goesOn: ResponseFraming = { headOnly: false, connection: undefined };
const headGoesOn: ResponseFraming = { headOnly: true, connection: undefined };

// The bodies of responses, and the parts that they come in.

export type BodyPart = Uint8Array | ByteRange;

/** Text (sent as UTF-8), bytes, or bytes in pieces. They must not change afterwards. */
export type ResponseBody = string | Uint8Array | readonly BodyPart[] | BufferWithHeadroom | null;

/** Bytes of the body. */
export function bodyLength(body: ResponseBody): number {
  if (body === null) return 0;
  if (typeof body === "string") return Buffer.byteLength(body);
  if ("memory" in body) return body.memory.length - body.start;
  if (body instanceof Uint8Array) return body.length;
  return partsLength(body);
}

/** Bytes of all `parts`. */
export function partsLength(parts: readonly BodyPart[]): number {
  let sum = 0;
  for (const part of parts) sum += partLength(part);
  return sum;
}

export function partLength(part: BodyPart): number {
  return part instanceof Uint8Array ? part.length : part.end - part.start;
}

/** Copies the first `count` bytes of `part` to `at` of `target`. */
export function copyPart(part: BodyPart, count: number, target: Buffer, at: number): void {
  if (!(part instanceof Uint8Array)) part.source.copy(target, at, part.start, part.start + count);
  else target.set(count === part.length ? part : part.subarray(0, count), at);
}

/** The bytes of `parts` without the first `count`. */
export function partsFrom(parts: readonly BodyPart[], count: number): Uint8Array[] {
  const rest: Uint8Array[] = [];
  let skipped = 0;
  for (const part of parts) {
    const skip = Math.min(partLength(part), count - skipped);
    if (skip < partLength(part)) rest.push(partFrom(part, skip));
    skipped += skip;
  }
  return rest;
}

function partFrom(part: BodyPart, count: number): Uint8Array {
  if (part instanceof Uint8Array) return count === 0 ? part : part.subarray(count);
  return part.source.subarray(part.start + count, part.end);
}

// Header sections are written from their end to their beginning, in front of a body that is in its place already: its length is known then, and
// all is sent with one write.

/**
 * A text with one character per byte, a whole number from 0, which is sent in decimal, or parts, one after another. They are written to where
 * they are sent from: joining them before would take longer than that.
 */
type HeaderPart = string | number | HeaderParts;
export type HeaderParts = readonly HeaderPart[];

/** Values of header fields by name. Values in parts are not checked: no part may come from a client. */
export type HeaderValues = Readonly<Record<string, string | HeaderParts>>;

/**
 * Header fields as they are sent.
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

/** The text of `parts`. */
export function joinParts(parts: HeaderParts): string {
  let text = "";
  for (const part of parts) text += typeof part === "object" ? joinParts(part) : part;
  return text;
}

const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

/** An upper bound of the bytes of `parts`. */
export function mostBytes(parts: HeaderParts): number {
  let bytes = 0;
  for (const part of parts) {
    if (typeof part === "string") bytes += part.length;
    else bytes += typeof part === "number" ? maxDigits : mostBytes(part);
  }
  return bytes;
}

const maxDigits = 16;

/** Writes `part` so that it ends before `end`. Returns where it begins. */
export function writeBefore(target: Buffer, end: number, part: HeaderPart): number {
  if (typeof part === "string") return writeText(target, end, part);
  if (typeof part === "number") return writeNumber(target, end, part);
  let start = end;
  for (let index = part.length - 1; index >= 0; index--) start = writeBefore(target, start, part[index] as HeaderPart);
  return start;
}

/** Up to this length, writing one character after another takes less time than a call of the runtime. */
const maxShort = 24;

function writeText(target: Buffer, end: number, text: string): number {
  const start = end - text.length;
  if (text.length > maxShort) target.write(text, start, "latin1");
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

/** Up to here, the runtime calculates with integers. */
const maxInteger = 2 ** 31 - 1;
