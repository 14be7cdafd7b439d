// Responses as the handler makes them, and whether the connection persists afterwards (RFC 9112 section 9). encode-response.ts turns them into bytes.

import type { BufferWithHeadroom, ByteRange } from "../lib/bytes.ts";
import type { RequestHeader } from "./request-header.ts";

export interface WireResponse {
  readonly status: number;
  /** From `toHeaderLines`. encode-response.ts adds `Date`, `Content-Length` and `Connection`. */
  readonly headers: HeaderParts;
  readonly body: ResponseBody;
}

/** What depends on the connection and the request. */
export interface ResponseFraming {
  /** For the response to HEAD (RFC 9110 section 9.3.2). */
  readonly omitsBody: boolean;
  /** The `Connection` header, if any. */
  readonly connection: "close" | "keep-alive" | undefined;
}

/**
 * HTTP/1.1 connections persist and HTTP/1.0 connections end, unless the client asks for the opposite (RFC 9112 section 9.3). After a CONNECT, they always end,
 * because what follows was meant for a tunnel (RFC 9110 section 9.3.6).
 * @param isLast the connection must end with this response, whatever the client asks for
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

/** Text (sent as UTF-8), bytes, or bytes in parts; null for none. The bytes mustn't change afterwards. */
export type ResponseBody = string | Uint8Array | readonly BodyPart[] | BufferWithHeadroom | null;

/** In bytes. */
export function bodyLength(body: ResponseBody): number {
  if (body === null) return 0;
  if (typeof body === "string") return Buffer.byteLength(body);
  if ("memory" in body) return body.memory.length - body.start;
  if (body instanceof Uint8Array) return body.length;
  return partsLength(body);
}

/** In bytes, for all parts together. */
export function partsLength(parts: readonly BodyPart[]): number {
  let sum = 0;
  for (const part of parts) sum += partLength(part);
  return sum;
}

export function partLength(part: BodyPart): number {
  return part instanceof Uint8Array ? part.length : part.end - part.start;
}

/** Copies the first `count` bytes of `part` into `target`, starting at `at`. */
export function copyPart(part: BodyPart, count: number, target: Buffer, at: number): void {
  if (!(part instanceof Uint8Array)) part.source.copy(target, at, part.start, part.start + count);
  else target.set(count === part.length ? part : part.subarray(0, count), at);
}

/** Doesn't copy the bytes. */
export function partBytes(part: BodyPart): Uint8Array {
  return part instanceof Uint8Array ? part : part.source.subarray(part.start, part.end);
}

/** A body that takes several writes. Responses with the same body share `parts`, so each costs the same however many there are. */
export interface UnsentBody {
  readonly parts: readonly BodyPart[];
  /** The first part that hasn't been sent completely; `parts.length` when all have. */
  index: number;
  /** How many of that part's bytes have been sent. */
  sent: number;
}

/** Returns `parts` with the first `count` bytes marked as sent. */
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

// Header sections are written back to front, in front of the body. The body is already in the buffer, so its length is known, and one write sends both.

/**
 * Part of a header section: text with one character per byte, a whole number that isn't negative (sent in decimal), or nested parts. Each is written into the
 * send buffer separately, because joining them first would take longer.
 */
type HeaderPart = string | number | HeaderParts;

export type HeaderParts = readonly HeaderPart[];

/** By name. Values in parts aren't checked, so no part may come from a client. */
export type HeaderValues = Readonly<Record<string, string | HeaderParts>>;

/**
 * Returns header lines, each with its CRLF.
 * @throws Error if a text has an invalid character, such as a line break (RFC 9110 section 5.5)
 */
export function toHeaderLines(headers: HeaderValues): HeaderParts {
  const lines: HeaderPart[] = [];
  for (const name in headers) {
    const value = headers[name] as string | HeaderParts;
    if (typeof value === "string" && unsendable.test(value))
      throw new Error(`the header ${name} contains a character that can't be sent`);
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

/** Returns an upper bound for the number of bytes. */
export function maxByteLength(parts: HeaderParts): number {
  let bytes = 0;
  for (const part of parts) {
    if (typeof part === "string") bytes += part.length;
    else bytes += typeof part === "number" ? maxDigits : maxByteLength(part);
  }
  return bytes;
}

/** In a header's number. */
const maxDigits = 16;

/** Writes `part` so that it ends before `end`. Returns where it starts. */
export function writeEndingAt(target: Buffer, end: number, part: HeaderPart): number {
  if (typeof part === "string") return writeText(target, end, part);
  if (typeof part === "number") return writeNumber(target, end, part);
  let start = end;
  for (let index = part.length - 1; index >= 0; index--)
    start = writeEndingAt(target, start, part[index] as HeaderPart);
  return start;
}

/** Up to this length, writing character by character is faster than calling the runtime. */
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

/** The runtime uses integer arithmetic up to here. */
const maxInteger = 2 ** 31 - 1;
