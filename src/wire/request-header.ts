// Parses a request line and header section (RFC 9112 sections 3, 5 and 6).
//
// The parser is strict, because if two parsers read the same bytes differently, an attacker can smuggle a request past one of them.

import { describeCharacter } from "../lib/characters.ts";
import { type HeaderFields, parseHeaderFields } from "./header-fields.ts";
import { RequestError } from "./request-error.ts";

/** For the request line and header section together. */
export const maxHeaderBytes = 16 * 1024;

export const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/** How to read a request's body, and whether the connection persists after the response. */
export interface RequestFraming {
  /** The body's length in bytes; 0 if it's chunked. */
  readonly length: number;
  readonly isChunked: boolean;
  /** Whether the content coding is gzip alone. */
  readonly isGzip: boolean;
  /** Whether the client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1). */
  readonly awaitsContinue: boolean;
  /** True if `Connection` contains `keep-alive`, false if it contains `close` (RFC 9112 section 9.3), otherwise undefined. */
  readonly keepsAlive: boolean | undefined;
}

export interface HeaderSection {
  /** Without `Content-Length`, which is in `framing`. */
  readonly headers: HeaderFields;
  readonly framing: RequestFraming;
}

interface RequestLine {
  readonly method: string;
  /** As sent, one character per byte. */
  readonly target: string;
  readonly isHttp10: boolean;
}

export interface RequestHeader extends RequestLine {
  readonly section: HeaderSection;
  /** Where the header section starts in the input. */
  readonly sectionAt: number;
  /** Length of the request line and header section, including the empty line at the end. */
  readonly bytes: number;
}

/**
 * A request line (RFC 9112 section 3). The target has no fragment, and only its query may have non-ASCII bytes, which some clients send. Any HTTP/1 version
 * but 1.0 is read as HTTP/1.1 (RFC 9110 section 2.5).
 */
const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!"$->@-~]+(?:\?[!"$-~\x80-\xff]*)?) HTTP\/1\.([0-9])$/;

/**
 * Whether a request has started in `input`. An empty line alone doesn't count (RFC 9112 section 2.2), because some clients send one after a body, and the next
 * request much later.
 */
export function hasBegun(input: Buffer | undefined): boolean {
  if (!input) return false;
  const isEmptyLine = input[0] === carriageReturn && (input.length === 1 || input[1] === lineFeed);
  return input.length > 2 || !isEmptyLine;
}

/**
 * Parses the request line and header section that `input` starts with. Returns undefined if they're incomplete.
 * @throws RequestError `malformed`, or `header-too-large` for more than 16 KiB
 */
export function parseRequestHeader(input: Buffer): RequestHeader | undefined {
  const text = input.toString("latin1", 0, Math.min(searchLength(input), maxHeaderBytes + 1));
  // An empty line before a request is ignored (RFC 9112 section 2.2).
  const start = text.startsWith("\r\n") ? 2 : 0;
  const end = text.indexOf("\r\n\r\n", start);
  if (end === -1 || end + 4 > maxHeaderBytes) return checkIncomplete(text, start);
  const lineEnd = text.indexOf("\r\n", start);
  const line = parseRequestLine(text.slice(start, lineEnd));
  return toHeader(line, parseHeaderSection(text.slice(lineEnd + 2, end + 2)), lineEnd + 2, end + 4);
}

/** Combines a request line and a header section. @throws RequestError `malformed` if this HTTP version doesn't allow this section */
export function toHeader(
  { method, target, isHttp10 }: RequestLine,
  section: HeaderSection,
  sectionAt: number,
  bytes: number,
): RequestHeader {
  if (isHttp10 && section.framing.isChunked)
    throw new RequestError("malformed", "HTTP/1.0 has no Transfer-Encoding; use HTTP/1.1 or send a Content-Length");
  if (!isHttp10 && !section.headers.get("host")) {
    const fault = section.headers.has("host") ? "an empty Host header" : "no Host header";
    throw new RequestError("malformed", `the request has ${fault}; send the server's name`);
  }
  return { method, target, isHttp10, section, sectionAt, bytes };
}

/** @param line without its CRLF @throws RequestError `malformed` */
export function parseRequestLine(line: string): RequestLine {
  const [, method, target, minor] = requestLine.exec(line) ?? [];
  if (method === undefined || target === undefined) throw invalidRequestLineError(line);
  if (target === "*" && method !== "OPTIONS") {
    throw new RequestError("malformed", "only OPTIONS can have the target `*`; send the path you want");
  }
  return { method, target, isHttp10: minor === "0" };
}

/** Returns how many bytes to decode. In a long input, those up to the end of the header section, because a body may follow. */
function searchLength(input: Buffer): number {
  const end = input.length > 1024 ? input.indexOf("\r\n\r\n", 2) : -1;
  return end === -1 ? input.length : end + 4;
}

/** Returns if `text` can still become a valid header. @throws RequestError `malformed` or `header-too-large` */
function checkIncomplete(text: string, start: number): undefined {
  if (text.length > maxHeaderBytes) {
    throw new RequestError(
      "header-too-large",
      `the request line and headers have more than ${maxHeaderBytes} bytes together; send fewer or shorter headers, or a shorter URL`,
    );
  }
  // Report these now. Otherwise a client that speaks TLS to an HTTP port, or ends its lines with a bare LF, would wait for the timeout.
  if (text.length > start && !/[!-~\r]/.test(text.charAt(start))) throw invalidRequestLineError();
  if (/[^\r]\n/.test(text)) throw new RequestError("malformed", "a header line doesn't end in CR LF");
  return undefined;
}

function invalidRequestLineError(line = ""): RequestError {
  const [, target = "", version] = /^[!-~]+ ([!-~\x80-\xff]+) HTTP\/([0-9]\.[0-9])$/.exec(line) ?? [];
  const [byte] = /[\x80-\xff]/.exec(target.split("?", 1)[0] as string) ?? [];
  if (target.includes("#")) {
    const advice = "leave out the `#` and what follows it, or write it as `%23` if it's part of a value";
    return new RequestError("malformed", `the URL has a fragment, which isn't meant for the server; ${advice}`);
  }
  if (byte !== undefined) {
    const hex = byte.charCodeAt(0).toString(16).toUpperCase();
    // This is logged too, and log lines are ASCII.
    const advice = "percent-encode such characters as UTF-8, for example U+00E9 as `%C3%A9`";
    return new RequestError("malformed", `the path contains the byte 0x${hex}, which isn't ASCII; ${advice}`);
  }
  if (version !== undefined && !version.startsWith("1.")) {
    return new RequestError("malformed", `the server doesn't speak HTTP/${version}; send the request as HTTP/1.1`);
  }
  const odd = oddCharacterIn(line) ?? "the first line isn't an HTTP/1.1 request line such as `GET /path HTTP/1.1`";
  return new RequestError("malformed", odd);
}

/** Looks for a space or control character in a request line that's otherwise valid. */
function oddCharacterIn(line: string): string | undefined {
  const [, target] = /^[A-Za-z]+ (.+) HTTP\/1\.[0-9]$/s.exec(line) ?? [];
  const [odd] = /[^!-~\x80-\xff]/.exec(target ?? "") ?? [];
  if (target === undefined || odd === undefined) return undefined;
  if (target.startsWith(" ") || target.endsWith(" "))
    return "the request line has more than one space before or after the target; use just one";
  const code = odd.charCodeAt(0);
  const encoded = `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
  return `the target in the request line has a raw ${code === 0x20 ? "space" : describeCharacter(code)}; write it as \`${encoded}\``;
}

function parseHeaderSection(text: string): HeaderSection {
  const headers = parseHeaderFields(text);
  rejectBadHost(headers.get("host") ?? "");
  return { headers: headers.without("content-length"), framing: toFraming(headers) };
}

/**
 * Only accepts one valid host (RFC 9112 section 3.2). If there were two, another parser could pick the other one.
 * @throws RequestError `malformed`
 */
function rejectBadHost(host: string): void {
  if (host.includes(",")) throw new RequestError("malformed", "the request has more than one Host header; send one");
  if (!hostAndPort.test(host))
    throw new RequestError(
      "malformed",
      "the Host header isn't a valid host; send the server's name, with a port if needed",
    );
}

/**
 * A host with or without a port (RFC 3986 section 3.2.2); empty if the client's URL has none. Non-ASCII bytes are allowed, because some clients send them.
 */
const hostAndPort = /^(?:(?:[\w.~!$&'()*+;=%\x80-\xff-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?)?$/;

/**
 * Applies RFC 9112 section 6.3.
 * @throws RequestError `malformed` for an invalid length or coding, or for both at once, as that section allows
 */
function toFraming(headers: HeaderFields): RequestFraming {
  const coding = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (coding !== null && length !== null) {
    throw new RequestError("malformed", "the request has both Content-Length and Transfer-Encoding; send one of them");
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
    isGzip: isGzip(contentCodings(headers)),
    awaitsContinue: headers.get("expect")?.toLowerCase() === "100-continue",
    keepsAlive: keepsAlive(headers.get("connection")),
  };
}

/** Content codings that change nothing. `utf-8` isn't one, but some clients send it. */
const withoutEffect = ["", "identity", "utf-8", "utf8"];

/** Returns a body's content codings (RFC 9110 section 8.4) in lower case, without those that change nothing. */
export function contentCodings(headers: HeaderFields): readonly string[] {
  const value = headers.get("content-encoding");
  if (value === null) return [];
  const codings = value.split(",").map((coding) => coding.trim().toLowerCase());
  return codings.filter((coding) => !withoutEffect.includes(coding));
}

/** Counts `x-gzip` as `gzip` (RFC 9110 section 8.4.1.3). */
export function isGzip(codings: readonly string[]): boolean {
  return codings.length === 1 && (codings[0] === "gzip" || codings[0] === "x-gzip");
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
