// Responses, and their bytes on the wire (RFC 9112 sections 2 and 4).

import type { BufferWithHeadroom } from "../lib/buffer-with-headroom.ts";
import type { RequestHeader } from "./request-header.ts";

/** Text (sent as UTF-8), bytes, or bytes in pieces. They must not change afterwards. */
export type ResponseBody = string | Uint8Array | readonly Uint8Array[] | BufferWithHeadroom | null;

export interface WireResponse {
  readonly status: number;
  /** Made by `toHeaderLines`, without `Date`, `Content-Length` and `Connection`, which the wire adds. */
  readonly headers: string;
  readonly body: ResponseBody;
}

/** Bytes of the body. */
export function bodyLength(body: ResponseBody): number {
  if (body === null) return 0;
  if (typeof body === "string") return Buffer.byteLength(body);
  if ("memory" in body) return body.memory.length - body.start;
  if (body instanceof Uint8Array) return body.length;
  return body.reduce((sum, part) => sum + part.length, 0);
}

/** Header fields as they are sent. @throws Error for a value with an invalid character, such as a line break (RFC 9110 section 5.5) */
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
  const connection = !keepsAlive || isLast ? "close" : isHttp10 ? "keep-alive" : undefined;
  return { headOnly: method === "HEAD", connection };
}

// All responses share one buffer: each is encoded into it and passed to the system before the next one. The header section ends at
// `bodyAt`, where the body begins, so that both are sent with one write though the length of the header section depends on the body.
const buffer = Buffer.allocUnsafe(256 * 1024);
const bodyAt = 4 * 1024;
/** A body up to this size is copied to follow its header section in one write; of a longer one, only the first 16 KiB. */
const maxCopied = 64 * 1024;
const copiedStart = 16 * 1024;
const encoder = new TextEncoder();
const bodySpace = buffer.subarray(bodyAt);

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
  return withHeader(response, framing, written, written, []);
}

/** A small body, or the start of a large one, is copied behind the header section; the rest is sent without a copy. */
function encodeParts(response: WireResponse, framing: ResponseFraming, parts: readonly Uint8Array[]): EncodedResponse {
  let length = 0;
  for (const part of parts) length += part.length;
  const limit = length <= maxCopied ? maxCopied : copiedStart;
  let copied = 0;
  const rest: Uint8Array[] = [];
  for (const part of parts) {
    const left = limit - copied;
    if (left > 0) bodySpace.set(part.length <= left ? part : part.subarray(0, left), copied);
    if (part.length > left) rest.push(left > 0 ? part.subarray(left) : part);
    copied += Math.min(part.length, left);
  }
  return withHeader(response, framing, length, copied, rest);
}

function encodeWithHeadroom(
  response: WireResponse,
  framing: ResponseFraming,
  { memory, start }: BufferWithHeadroom,
): EncodedResponse {
  const header = toHeader(response, framing, memory.length - start);
  if (header.length > start || framing.headOnly) return encodeParts(response, framing, [memory.subarray(start)]);
  memory.write(header, start - header.length, "latin1");
  return { bytes: memory, start: start - header.length, end: memory.length, stableFrom: start, rest: [] };
}

function withHeader(
  response: WireResponse,
  framing: ResponseFraming,
  length: number,
  copied: number,
  rest: readonly Uint8Array[],
): EncodedResponse {
  const header = toHeader(response, framing, length);
  const end = bodyAt + (framing.headOnly ? 0 : copied);
  if (header.length > bodyAt) {
    const bytes = Buffer.concat([Buffer.from(header, "latin1"), buffer.subarray(bodyAt, end)]);
    return { bytes, start: 0, end: bytes.length, stableFrom: 0, rest: framing.headOnly ? [] : rest };
  }
  const start = bodyAt - header.length;
  buffer.write(header, start, "latin1");
  return { bytes: buffer, start, end, stableFrom: end, rest: framing.headOnly ? [] : rest };
}

function toHeader({ status, headers }: WireResponse, { connection }: ResponseFraming, length: number): string {
  let header = statusLine(status) + headers + dateLine();
  // Neither has content. A 204 must not have a Content-Length, and a 304 need not (RFC 9110 section 8.6).
  if (status !== 304 && status !== 204) header += `Content-Length: ${length}\r\n`;
  if (connection) header += `Connection: ${connection}\r\n`;
  return `${header}\r\n`;
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

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${reasons[status] ?? ""}\r\n`;
}
