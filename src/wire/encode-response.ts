// Encodes responses as bytes (RFC 9112 sections 2 and 4).
//
// All responses share one buffer: each is encoded into it and passed to the kernel before the next. First the body is copied to `bodyAt`. Then the header
// section is written in front of it, back to front, because its length depends on the body. So most responses need one write and no allocation.

import type { BufferWithHeadroom } from "../lib/bytes.ts";
import {
  type BodyPart,
  copyPart,
  maxByteLength,
  partLength,
  partsLength,
  type ResponseFraming,
  type UnsentBody,
  unsentAfter,
  type WireResponse,
  writeEndingAt,
} from "./response.ts";

const buffer = Buffer.allocUnsafe(256 * 1024);
/** Where the header section ends and the body starts. */
const bodyAt = 4 * 1024;
/** Up to this size, the whole body is copied behind its header section; of a larger one, only the first 16 KiB. */
const maxCopiedBytes = 64 * 1024;
const copiedStart = 16 * 1024;
const encoder = new TextEncoder();
const bodySpace = buffer.subarray(bodyAt);

/** Send `bytes` from `start` up to `end`, and then `rest`. */
export interface EncodedResponse {
  /** In total, with `rest`. */
  readonly length: number;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** From here on, `bytes` never change. Those before it are only valid until the next response is encoded. */
  readonly stableFrom: number;
  readonly rest: UnsentBody | undefined;
}

/** Send or copy the result before the next call (see `stableFrom`). */
export function encodeResponse(response: WireResponse, framing: ResponseFraming): EncodedResponse {
  const { body } = response;
  if (typeof body === "string") return encodeText(response, framing, body);
  if (body === null) return encodeParts(response, framing, []);
  if ("memory" in body) return encodeWithHeadroom(response, framing, body);
  return encodeParts(response, framing, body instanceof Uint8Array ? [body] : body);
}

function encodeText(response: WireResponse, framing: ResponseFraming, text: string): EncodedResponse {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (text.length * 3 > bodySpace.length) return encodeParts(response, framing, [Buffer.from(text)]);
  const { written } = encoder.encodeInto(text, bodySpace);
  return withHeader(response, framing, written, written, undefined);
}

/** Copies a small body, or the start of a large one, behind the header section. The rest is sent without copying. */
function encodeParts(response: WireResponse, framing: ResponseFraming, parts: readonly BodyPart[]): EncodedResponse {
  const length = partsLength(parts);
  const limit = length <= maxCopiedBytes ? maxCopiedBytes : copiedStart;
  let copied = 0;
  for (const part of parts) {
    if (copied === limit) break;
    const count = Math.min(partLength(part), limit - copied);
    copyPart(part, count, buffer, bodyAt + copied);
    copied += count;
  }
  return withHeader(response, framing, length, copied, copied < length ? unsentAfter(parts, copied) : undefined);
}

/** Writes the header section into the free space before the body. */
function encodeWithHeadroom(
  response: WireResponse,
  framing: ResponseFraming,
  { memory, start }: BufferWithHeadroom,
): EncodedResponse {
  const headerAt = framing.omitsBody ? undefined : writeHeader(response, framing, memory.length - start, memory, start);
  if (headerAt === undefined) return encodeParts(response, framing, [memory.subarray(start)]);
  return {
    length: memory.length - headerAt,
    bytes: memory,
    start: headerAt,
    end: memory.length,
    stableFrom: start,
    rest: undefined,
  };
}

/**
 * Writes the header section in front of a body in the shared buffer, or into its own buffer if it's too long.
 * @param length of the whole body, in bytes
 * @param copied how many of them are in the shared buffer
 */
function withHeader(
  response: WireResponse,
  framing: ResponseFraming,
  length: number,
  copied: number,
  rest: UnsentBody | undefined,
): EncodedResponse {
  const end = bodyAt + (framing.omitsBody ? 0 : copied);
  const unsent = framing.omitsBody ? undefined : rest;
  const unsentBytes = unsent ? length - copied : 0;
  const start = writeHeader(response, framing, length, buffer, bodyAt);
  if (start !== undefined) {
    return { length: end - start + unsentBytes, bytes: buffer, start, end, stableFrom: end, rest: unsent };
  }
  const header = Buffer.allocUnsafe(maxByteLength(response.headers) + maxOwnBytes);
  const headerAt = writeHeader(response, framing, length, header, header.length) as number;
  const bytes = Buffer.concat([header.subarray(headerAt), buffer.subarray(bodyAt, end)]);
  return { length: bytes.length + unsentBytes, bytes, start: 0, end: bytes.length, stableFrom: 0, rest: unsent };
}

/** Enough for the status line and the headers that this file adds. */
const maxOwnBytes = 256;

/** Writes the header section so that it ends before `end`. Returns where it starts; undefined if the space may be too small. */
function writeHeader(
  { status, headers }: WireResponse,
  { connection }: ResponseFraming,
  length: number,
  target: Buffer,
  end: number,
): number | undefined {
  if (maxByteLength(headers) + maxOwnBytes > end) return undefined;
  let start = writeEndingAt(target, end, endings[connection ?? "none"]);
  const { date, dateAndLength } = dateLines();
  // Responses without content: a 204 mustn't have a Content-Length, and a 304 needn't (RFC 9110 section 8.6).
  if (status === 304 || status === 204) start = writeEndingAt(target, start, date);
  else start = writeEndingAt(target, writeEndingAt(target, start, length), dateAndLength);
  start = writeEndingAt(target, start, headers);
  return writeEndingAt(target, start, statusLine(status));
}

/** What a header section ends with, by the value of `Connection`. */
const endings = {
  none: "\r\n\r\n",
  close: "\r\nConnection: close\r\n\r\n",
  "keep-alive": "\r\nConnection: keep-alive\r\n\r\n",
};

const reasons = {
  200: "OK",
  201: "Created",
  204: "No Content",
  303: "See Other",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  412: "Precondition Failed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
};

const statusLines = new Map(
  Object.entries(reasons).map(([status, reason]) => [Number(status), toStatusLine(status, reason)]),
);

function statusLine(status: number): string {
  return statusLines.get(status) ?? toStatusLine(status, "");
}

function toStatusLine(status: number | string, reason: string): string {
  return `HTTP/1.1 ${status} ${reason}\r\n`;
}

// The `Date` header (RFC 9110 section 6.6.1) is made once a second, because reading the clock for each response would take longer than writing it.

interface DateLines {
  /** The `Date` header without its CRLF. */
  readonly date: string;
  /** The same, followed by `Content-Length` up to its value. */
  readonly dateAndLength: string;
}

let current: DateLines | undefined;

/** If the event loop is blocked, the time is behind by as long. */
function dateLines(): DateLines {
  current ??= createLines();
  return current;
}

function createLines(): DateLines {
  const now = Date.now();
  setTimeout(() => (current = undefined), 1000 - (now % 1000)).unref();
  const date = `Date: ${new Date(now).toUTCString()}`;
  return { date, dateAndLength: `${date}\r\nContent-Length: ` };
}
