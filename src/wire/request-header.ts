// The beginning of a request: the request line and the header section (RFC 9112 sections 3, 5 and 6).

import { RequestError } from "./request-error.ts";
import { parseHeaders, type RequestHeaders } from "./request-headers.ts";

/** Bound of the request line and the header section together, in bytes. */
export const maxHeaderBytes = 16 * 1024;

/** How the body is read, and what follows the response. */
export interface RequestFraming {
  /** Bytes of the body, if it is not chunked. */
  readonly length: number;
  readonly isChunked: boolean;
  /** Whether the client waits for `100 Continue` (RFC 9110 section 10.1.1). */
  readonly awaitsContinue: boolean;
  /** Whether `Connection` says `keep-alive` or `close` (RFC 9112 section 9.3); undefined when it says neither. */
  readonly keepsAlive: boolean | undefined;
}

/** A parsed header section. */
export interface HeaderSection {
  /** Without `Content-Length`, which is in `framing`. */
  readonly headers: RequestHeaders;
  readonly framing: RequestFraming;
}

/** A parsed request line. */
interface RequestLine {
  readonly method: string;
  /** As sent, one character per byte. */
  readonly target: string;
  readonly isHttp10: boolean;
}

export interface RequestHeader extends RequestLine {
  readonly section: HeaderSection;
  /** Where the header section begins in the input. */
  readonly sectionAt: number;
  /** Length of the request line and the header section, with the empty line. */
  readonly bytes: number;
}

/** RFC 9112 section 3. */
const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~\x80-\xff]+) HTTP\/1\.([01])$/;

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/**
 * Whether a request has begun in `input`. An empty line is no part of it (RFC 9112 section 2.2): some clients send one after a body, and then wait
 * for as long as they like until they send the next request.
 */
export function hasBegun(input: Buffer | undefined): boolean {
  if (!input) return false;
  const isEmptyLine = input[0] === carriageReturn && (input.length === 1 || input[1] === lineFeed);
  return input.length > 2 || !isEmptyLine;
}

/**
 * Reads the request line and the header section at the beginning of `input`; undefined when they are incomplete.
 * @throws RequestError `malformed`, or `header-too-large` for more than 16 KiB
 */
export function readRequestHeader(input: Buffer): RequestHeader | undefined {
  const text = input.toString("latin1", 0, Math.min(searchLength(input), maxHeaderBytes + 1));
  // An empty line before a request is ignored (RFC 9112 section 2.2).
  const start = text.startsWith("\r\n") ? 2 : 0;
  const end = text.indexOf("\r\n\r\n", start);
  if (end === -1 || end + 4 > maxHeaderBytes) return checkIncomplete(text, start);
  const lineEnd = text.indexOf("\r\n", start);
  const line = readRequestLine(text.slice(start, lineEnd));
  return toHeader(line, readHeaderSection(text.slice(lineEnd + 2, end + 2)), lineEnd + 2, end + 4);
}

/** @throws RequestError `malformed` if the two do not go together */
export function toHeader(
  { method, target, isHttp10 }: RequestLine,
  section: HeaderSection,
  sectionAt: number,
  bytes: number,
): RequestHeader {
  if (isHttp10 && section.framing.isChunked) throw new RequestError("malformed", "HTTP/1.0 has no Transfer-Encoding");
  if (!isHttp10 && !section.headers.has("host")) throw new RequestError("malformed", "the request has no Host header");
  return { method, target, isHttp10, section, sectionAt, bytes };
}

/** @throws RequestError `malformed` */
export function readRequestLine(line: string): RequestLine {
  const [, method, target, minor] = requestLine.exec(line) ?? [];
  if (method === undefined || target === undefined) throw invalidRequestLine();
  return { method, target, isHttp10: minor === "0" };
}

/** Length of the header section where much more may follow it; otherwise of the whole input. */
function searchLength(input: Buffer): number {
  const end = input.length > 1024 ? input.indexOf("\r\n\r\n", 2) : -1;
  return end === -1 ? input.length : end + 4;
}

function checkIncomplete(text: string, start: number): undefined {
  if (text.length > maxHeaderBytes) {
    throw new RequestError(
      "header-too-large",
      `the request line and the header section have more than ${maxHeaderBytes} bytes together`,
    );
  }
  // These errors are reported at once, so that a client that speaks TLS to a plain port, or ends its lines with LF, does not wait.
  if (text.length > start && !/[!-~\r]/.test(text.charAt(start))) throw invalidRequestLine();
  if (/[^\r]\n/.test(text)) throw new RequestError("malformed", "a line of the header section does not end in CR LF");
  return undefined;
}

function invalidRequestLine(): RequestError {
  return new RequestError("malformed", "the first line is not an HTTP/1.1 request line such as `GET /path HTTP/1.1`");
}

function readHeaderSection(text: string): HeaderSection {
  const headers = parseHeaders(text);
  refuseBadHost(headers.get("host") ?? "");
  return { headers: headers.without("content-length"), framing: toFraming(headers) };
}

/** RFC 9112 section 3.2: a request has one valid host. With two, another parser of the same request could choose the other one. */
function refuseBadHost(host: string): void {
  if (host.includes(",")) throw new RequestError("malformed", "the request has more than one Host header");
  if (!hostAndPort.test(host)) throw new RequestError("malformed", "the Host header is not a valid host");
}

/** RFC 3986 section 3.2.2. Bytes outside ASCII are accepted, as some clients send them. */
const hostAndPort = /^(?:[\w.~!$&'()*+;=%\x80-\xff-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?$/;

/** RFC 9112 section 6.3. A request with two lengths is refused, as that section allows. */
function toFraming(headers: RequestHeaders): RequestFraming {
  const coding = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (coding !== null && length !== null) {
    throw new RequestError("malformed", "the request has both Content-Length and Transfer-Encoding");
  }
  if (coding !== null && coding.toLowerCase() !== "chunked") {
    throw new RequestError("malformed", "the only supported Transfer-Encoding is `chunked`");
  }
  if (length !== null && !/^[0-9]{1,15}$/.test(length)) {
    throw new RequestError("malformed", "Content-Length must be one whole number");
  }
  return {
    length: Number(length ?? 0),
    isChunked: coding !== null,
    awaitsContinue: headers.get("expect")?.toLowerCase() === "100-continue",
    keepsAlive: keepsAlive(headers.get("connection")),
  };
}

function keepsAlive(connection: string | null): boolean | undefined {
  if (connection === null) return undefined;
  const options = connection
    .toLowerCase()
    .split(",")
    .map((option) => option.trim());
  if (options.includes("close")) return false;
  return options.includes("keep-alive") ? true : undefined;
}
