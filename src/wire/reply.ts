// Answers, and their bytes on the wire (RFC 9112 sections 2 and 4).

import type { Roomy } from "../model/roomy.ts";

/** A body is text (sent as UTF-8), bytes, or bytes in pieces. They must not change once they were handed over. */
export type Body = string | Uint8Array | readonly Uint8Array[] | Roomy | null;

export interface Reply {
  readonly status: number;
  /** As `toLines` makes them, without `Date`, `Content-Length` and `Connection`, which the wire adds. */
  readonly headers: string;
  readonly body: Body;
}

/** Headers as they are sent. @throws Error for a value with a character that no header can have, such as a line break */
export function toLines(headers: Readonly<Record<string, string>>): string {
  let lines = "";
  for (const name in headers) {
    const value = headers[name] as string;
    if (unsendable.test(value)) throw new Error(`the header ${name} cannot be sent`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

/** What of a reply depends on the connection and the request. */
export interface Manner {
  /** Whether the body is left out, as in the answer to HEAD. */
  readonly headOnly: boolean;
  /** What `Connection` says; undefined to leave it out. */
  readonly connection: "close" | "keep-alive" | undefined;
}

// One buffer for all: an answer is put together in it and handed to the system before the next one begins. The head stands
// right before the body, whose length it tells.
const scratch = Buffer.allocUnsafe(256 * 1024);
const bodyAt = 4 * 1024;
/** A body of so many bytes is copied, to leave in one write with its head; of a longer one, only the start. */
const longestCopied = 64 * 1024;
const longestStart = 16 * 1024;
const encoder = new TextEncoder();
const bodySpace = scratch.subarray(bodyAt);

/** Bytes to send: those of `bytes` from `start` to `end`, and then `rest`. */
export interface Outgoing {
  /** Up to `stableFrom`, only good until the next reply is encoded. */
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** From where on `bytes` stay as they are. */
  readonly stableFrom: number;
  readonly rest: readonly Uint8Array[];
}

/** `reply` as it is sent. */
export function encodeReply(reply: Reply, manner: Manner): Outgoing {
  const { body } = reply;
  if (typeof body === "string") return encodeText(reply, manner, body);
  if (body === null) return encodeParts(reply, manner, []);
  if ("memory" in body) return encodeRoomy(reply, manner, body);
  return encodeParts(reply, manner, body instanceof Uint8Array ? [body] : body);
}

function encodeText(reply: Reply, manner: Manner, text: string): Outgoing {
  // A character takes up to three bytes.
  if (text.length * 3 > bodySpace.length) return encodeParts(reply, manner, [Buffer.from(text)]);
  const { written } = encoder.encodeInto(text, bodySpace);
  return withHead(reply, manner, written, written, []);
}

/** What fits a packet or a few leaves with the head; the rest is sent from where it is. */
function encodeParts(reply: Reply, manner: Manner, parts: readonly Uint8Array[]): Outgoing {
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
  return withHead(reply, manner, length, copied, rest);
}

function encodeRoomy(reply: Reply, manner: Manner, { memory, start }: Roomy): Outgoing {
  const head = toHead(reply, manner, memory.length - start);
  if (head.length > start || manner.headOnly) return encodeParts(reply, manner, [memory.subarray(start)]);
  memory.write(head, start - head.length, "latin1");
  return { bytes: memory, start: start - head.length, end: memory.length, stableFrom: start, rest: [] };
}

function withHead(reply: Reply, manner: Manner, length: number, copied: number, rest: readonly Uint8Array[]): Outgoing {
  const head = toHead(reply, manner, length);
  const end = bodyAt + (manner.headOnly ? 0 : copied);
  if (head.length > bodyAt) {
    const bytes = Buffer.concat([Buffer.from(head, "latin1"), scratch.subarray(bodyAt, end)]);
    return { bytes, start: 0, end: bytes.length, stableFrom: 0, rest: manner.headOnly ? [] : rest };
  }
  const start = bodyAt - head.length;
  scratch.write(head, start, "latin1");
  return { bytes: scratch, start, end, stableFrom: end, rest: manner.headOnly ? [] : rest };
}

function toHead({ status, headers }: Reply, { connection }: Manner, length: number): string {
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
