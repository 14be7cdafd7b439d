// The bytes of responses on the wire (RFC 9112 sections 2 and 4).

import type { BufferWithHeadroom } from "../lib/bytes.ts";
import {
  type BodyPart,
  copyPart,
  mostBytes,
  partLength,
  partsFrom,
  partsLength,
  type ResponseFraming,
  type WireResponse,
  writeBefore,
} from "./response.ts";

// All responses share one buffer: each is encoded into it and passed to the system before the next one. The header section ends at
// `bodyAt`, where the body begins, so that both are sent with one write though the length of the header section depends on the body.
const buffer = Buffer.allocUnsafe(256 * 1024);
const bodyAt = 4 * 1024;
/** A body up to this size is copied to follow its header section in one write; of a longer one, only the first 16 KiB. */
const maxCopied = 64 * 1024;
const copiedStart = 16 * 1024;
const encoder = new TextEncoder();
const bodySpace = buffer.subarray(bodyAt);
const nothing: readonly Uint8Array[] = [];

/** The bytes to send: `bytes` from `start` to `end`, then `rest`. */
export interface EncodedResponse {
  /** Up to `stableFrom`, valid only until the next response is encoded. */
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** From here on, `bytes` do not change. */
  readonly stableFrom: number;
  readonly rest: readonly Uint8Array[];
}

export function encodeResponse(response: WireResponse, framing: ResponseFraming): EncodedResponse {
  const { body } = response;
  if (typeof body === "string") return encodeText(response, framing, body);
  if (body === null) return encodeParts(response, framing, []);
  if ("memory" in body) return encodeWithHeadroom(response, framing, body);
  return encodeParts(response, framing, body instanceof Uint8Array ? [body] : body);
}

function encodeText(response: WireResponse, framing: ResponseFraming, text: string): EncodedResponse {
  // A character takes up to three bytes.
  if (text.length * 3 > bodySpace.length) return encodeParts(response, framing, [Buffer.from(text)]);
  const { written } = encoder.encodeInto(text, bodySpace);
  return withHeader(response, framing, written, written, nothing);
}

/** A small body, or the start of a large one, is copied behind the header section; the rest is sent without a copy. */
function encodeParts(response: WireResponse, framing: ResponseFraming, parts: readonly BodyPart[]): EncodedResponse {
  const length = partsLength(parts);
  const limit = length <= maxCopied ? maxCopied : copiedStart;
  let copied = 0;
  for (const part of parts) {
    const count = Math.min(partLength(part), limit - copied);
    if (count > 0) copyPart(part, count, buffer, bodyAt + copied);
    copied += count;
  }
  return withHeader(response, framing, length, copied, copied < length ? partsFrom(parts, copied) : nothing);
}

function encodeWithHeadroom(
  response: WireResponse,
  framing: ResponseFraming,
  { memory, start }: BufferWithHeadroom,
): EncodedResponse {
  const headerAt = framing.headOnly ? undefined : writeHeader(response, framing, memory.length - start, memory, start);
  if (headerAt === undefined) return encodeParts(response, framing, [memory.subarray(start)]);
  return { bytes: memory, start: headerAt, end: memory.length, stableFrom: start, rest: nothing };
}

function withHeader(
  response: WireResponse,
  framing: ResponseFraming,
  length: number,
  copied: number,
  rest: readonly Uint8Array[],
): EncodedResponse {
  const end = bodyAt + (framing.headOnly ? 0 : copied);
  const unsent = framing.headOnly ? nothing : rest;
  const start = writeHeader(response, framing, length, buffer, bodyAt);
  if (start !== undefined) return { bytes: buffer, start, end, stableFrom: end, rest: unsent };
  const header = Buffer.allocUnsafe(mostBytes(response.headers) + maxOwnBytes);
  const headerAt = writeHeader(response, framing, length, header, header.length) as number;
  const bytes = Buffer.concat([header.subarray(headerAt), buffer.subarray(bodyAt, end)]);
  return { bytes, start: 0, end: bytes.length, stableFrom: 0, rest: unsent };
}

/** More bytes than the status line and the lines that are added here. */
const maxOwnBytes = 256;

/** Writes the header section so that it ends before `end`. Returns where it begins; undefined if there may be too little space. */
function writeHeader(
  { status, headers }: WireResponse,
  { connection }: ResponseFraming,
  length: number,
  target: Buffer,
  end: number,
): number | undefined {
  if (mostBytes(headers) + maxOwnBytes > end) return undefined;
  let start = writeBefore(target, end, endings[connection ?? "none"]);
  const { date, dateAndLength } = dateLines();
  // Neither has content. A 204 must not have a Content-Length, and a 304 need not (RFC 9110 section 8.6).
  if (status === 304 || status === 204) start = writeBefore(target, start, date);
  else start = writeBefore(target, writeBefore(target, start, length), dateAndLength);
  start = writeBefore(target, start, headers);
  return writeBefore(target, start, statusLine(status));
}

/** The end of the header section, by the value of `Connection`. */
const endings = {
  none: "\r\n\r\n",
  close: "\r\nConnection: close\r\n\r\n",
  "keep-alive": "\r\nConnection: keep-alive\r\n\r\n",
};

const reasons = {
  200: "OK",
  201: "Created",
  204: "No Content",
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

// The current date in the form of `Date` (RFC 9110 section 6.6.1), made once per second: to read the clock and to compare takes longer than to
// write the text.

/** `Date`, without the end of the line, and the same with the beginning of `Content-Length`. */
interface DateLines {
  readonly date: string;
  readonly dateAndLength: string;
}

let current: DateLines | undefined;

/** The lines for a response that is sent now. If the event loop is late, they are as late. */
function dateLines(): DateLines {
  current ??= makeLines();
  return current;
}

function makeLines(): DateLines {
  const now = Date.now();
  setTimeout(() => (current = undefined), 1000 - (now % 1000)).unref();
  const date = `Date: ${new Date(now).toUTCString()}`;
  return { date, dateAndLength: `${date}\r\nContent-Length: ` };
}
