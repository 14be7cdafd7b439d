// Answers, and their bytes on the wire (RFC 9112 sections 2 and 4).

import type { BufferWithHeadroom } from "../lib/buffer-with-headroom.ts";
import type { RequestHeader } from "./request-header.ts";

/** A body is text (sent as UTF-8), bytes, or bytes in pieces. They must not change once they were handed over. */
export type ResponseBody = string | Uint8Array | readonly Uint8Array[] | BufferWithHeadroom | null;

export interface WireResponse {
  readonly status: number;
  /** As `toLines` makes them, without `Date`, `Content-Length` and `Connection`, which the wire adds. */
  readonly headers: string;
  readonly body: ResponseBody;
}

/** Headers as they are sent. @throws Error for a value with a character that no header can have, such as a line break */
export function toHeaderLines(headers: Readonly<Record<string, string>>): string {
  let lines = "";
  for (const name in headers) {
    const value = headers[name] as string;
    if (unsendable.test(value)) throw new Error(`the header ${name} cannot be sent`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

/** What of a response depends on the connection and the request. */
export interface ResponseFraming {
  /** Whether the body is left out, as in the answer to HEAD. */
  readonly headOnly: boolean;
  /** What `Connection` says; undefined to leave it out. */
  readonly connection: "close" | "keep-alive" | undefined;
}

/**
 * RFC 9112 section 9.3: connections of HTTP/1.1 persist and those of HTTP/1.0 do not, unless the client asks for the other.
 * @param isLast whether the connection ends with this response, whatever the client asks for
 */
export function toResponseFraming({ method, isHttp10, section }: RequestHeader, isLast: boolean): ResponseFraming {
  const { keepsAlive = !isHttp10 } = section.framing;
  const connection = !keepsAlive || isLast ? "close" : isHttp10 ? "keep-alive" : undefined;
  return { headOnly: method === "HEAD", connection };
}

// One buffer for all: an answer is put together in it and handed to the system before the next one begins. The head stands
// right before the body, whose length it tells.
const buffer = Buffer.allocUnsafe(256 * 1024);
const bodyAt = 4 * 1024;
/** A body of so many bytes is copied, to leave in one write with its head; of a longer one, only the start. */
const longestCopied = 64 * 1024;
const longestStart = 16 * 1024;
const encoder = new TextEncoder();
const bodySpace = buffer.subarray(bodyAt);

/** Bytes to send: those of `bytes` from `start` to `end`, and then `rest`. */
export interface EncodedResponse {
  /** Up to `stableFrom`, only good until the next response is encoded. */
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** From where on `bytes` stay as they are. */
  readonly stableFrom: number;
  readonly rest: readonly Uint8Array[];
}

/** `response` as it is sent. */
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
  return withHeader(response, framing, written, written, []);
}

/** What fits a packet or a few leaves with the head; the rest is sent from where it is. */
function encodeParts(response: WireResponse, framing: ResponseFraming, parts: readonly Uint8Array[]): EncodedResponse {
  let length = 0;
  for (const part of parts) length += part.length;
  const room = length <= longestCopied ? longestCopied : longestStart;
  let copied = 0;
  let index = 0;
  const rest: Uint8Array[] = [];
  for (; index < parts.length && copied < room; index++) {
    const part = parts[index] as Uint8Array;
    const fits = part.length <= room - copied ? part : part.subarray(0, room - copied);
    bodySpace.set(fits, copied);
    copied += fits.length;
    if (fits !== part) rest.push(part.subarray(fits.length));
  }
  for (; index < parts.length; index++) rest.push(parts[index] as Uint8Array);
  return withHeader(response, framing, length, copied, rest);
}

function encodeWithHeadroom(
  response: WireResponse,
  framing: ResponseFraming,
  { memory, start }: BufferWithHeadroom,
): EncodedResponse {
  const head = toHeader(response, framing, memory.length - start);
  if (head.length > start || framing.headOnly) return encodeParts(response, framing, [memory.subarray(start)]);
  memory.write(head, start - head.length, "latin1");
  return { bytes: memory, start: start - head.length, end: memory.length, stableFrom: start, rest: [] };
}

function withHeader(
  response: WireResponse,
  framing: ResponseFraming,
  length: number,
  copied: number,
  rest: readonly Uint8Array[],
): EncodedResponse {
  const head = toHeader(response, framing, length);
  const end = bodyAt + (framing.headOnly ? 0 : copied);
  if (head.length > bodyAt) {
    const bytes = Buffer.concat([Buffer.from(head, "latin1"), buffer.subarray(bodyAt, end)]);
    return { bytes, start: 0, end: bytes.length, stableFrom: 0, rest: framing.headOnly ? [] : rest };
  }
  const start = bodyAt - head.length;
  buffer.write(head, start, "latin1");
  return { bytes: buffer, start, end, stableFrom: end, rest: framing.headOnly ? [] : rest };
}

function toHeader({ status, headers }: WireResponse, { connection }: ResponseFraming, length: number): string {
  let head = statusLine(status) + headers + dateLine();
  // Neither has a body, and a 304 need not tell the length of the one that it stands for (RFC 9110 section 8.6).
  if (status !== 304 && status !== 204) head += `Content-Length: ${length}\r\n`;
  if (connection) head += `Connection: ${connection}\r\n`;
  return `${head}\r\n`;
}

let second = 0;
let date = "";

function dateLine(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    date = `Date: ${new Date(now * 1000).toUTCString()}\r\n`;
  }
  return date;
}

const reasons: Record<number, string> = {
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

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${reasons[status] ?? ""}\r\n`;
}
