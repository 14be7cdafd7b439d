// Parses the beginning of a request: the request line and the header section (RFC 9112 sections 3, 5 and 6).
//
// The parser is strict: if two parsers read the same bytes differently, an attacker can smuggle a request past one of them. `HeaderReader` avoids
// most of its work, because most clients send the same header section in every request.

/** Maximum bytes of the request line and the header section together. */
const maxHeaderBytes = 16 * 1024;

/** How to read the body of a request, and whether the connection persists after its response. */
export interface RequestFraming {
  /** Length of the body in bytes; 0 if it is chunked. */
  readonly length: number;
  readonly isChunked: boolean;
  /** Whether the client waits for `100 Continue` (RFC 9110 section 10.1.1). */
  readonly awaitsContinue: boolean;
  /** True if `Connection` contains `keep-alive`, false if it contains `close` (RFC 9112 section 9.3), otherwise undefined. */
  readonly keepsAlive: boolean | undefined;
}

/** A parsed header section. */
interface HeaderSection {
  /** All fields except `Content-Length`, which is in `framing`. */
  readonly headers: RequestHeaders;
  readonly framing: RequestFraming;
}

/** A parsed request line. */
interface RequestLine {
  readonly method: string;
  /** The request target as sent, one character per byte. */
  readonly target: string;
  readonly isHttp10: boolean;
}

/** A parsed request line and header section. */
export interface RequestHeader extends RequestLine {
  readonly section: HeaderSection;
  /** The index in the input at which the header section begins. */
  readonly sectionAt: number;
  /** Length in bytes of the request line and the header section, including the empty line at the end. */
  readonly bytes: number;
}

/** A request line (RFC 9112 section 3). */
const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~\x80-\xff]+) HTTP\/1\.([01])$/;

/**
 * Whether a request begins in `input`. An empty line alone does not begin a request (RFC 9112 section 2.2): some clients send an empty line after a
 * body, and the next request only much later.
 */
export function hasBegun(input: Buffer | undefined): boolean {
  if (!input) return false;
  const isEmptyLine = input[0] === carriageReturn && (input.length === 1 || input[1] === lineFeed);
  return input.length > 2 || !isEmptyLine;
}

/**
 * Parses the request line and the header section at the beginning of `input`; undefined if they are incomplete.
 * @throws RequestError `malformed`, or `header-too-large` for more than 16 KiB
 */
function parseRequestHeader(input: Buffer): RequestHeader | undefined {
  const text = input.toString("latin1", 0, Math.min(searchLength(input), maxHeaderBytes + 1));
  // An empty line before a request is ignored (RFC 9112 section 2.2).
  const start = text.startsWith("\r\n") ? 2 : 0;
  const end = text.indexOf("\r\n\r\n", start);
  if (end === -1 || end + 4 > maxHeaderBytes) return checkIncomplete(text, start);
  const lineEnd = text.indexOf("\r\n", start);
  const line = parseRequestLine(text.slice(start, lineEnd));
  return toHeader(line, parseHeaderSection(text.slice(lineEnd + 2, end + 2)), lineEnd + 2, end + 4);
}

/** Combines a request line and a header section. @throws RequestError `malformed` if the version of HTTP does not allow this section */
function toHeader(
  { method, target, isHttp10 }: RequestLine,
  section: HeaderSection,
  sectionAt: number,
  bytes: number,
): RequestHeader {
  if (isHttp10 && section.framing.isChunked) throw new RequestError("malformed", "HTTP/1.0 has no Transfer-Encoding");
  if (!isHttp10 && !section.headers.has("host")) throw new RequestError("malformed", "the request has no Host header");
  return { method, target, isHttp10, section, sectionAt, bytes };
}

/** Parses a request line, without its CRLF. @throws RequestError `malformed` */
function parseRequestLine(line: string): RequestLine {
  const [, method, target, minor] = requestLine.exec(line) ?? [];
  if (method === undefined || target === undefined) throw invalidRequestLineError();
  return { method, target, isHttp10: minor === "0" };
}

/** Returns how many bytes to decode: in a long input, only those up to the end of the header section, because a body may follow it. */
function searchLength(input: Buffer): number {
  const end = input.length > 1024 ? input.indexOf("\r\n\r\n", 2) : -1;
  return end === -1 ? input.length : end + 4;
}

/** Returns undefined if `text` can still become a valid header. @throws RequestError `malformed` or `header-too-large` */
function checkIncomplete(text: string, start: number): undefined {
  if (text.length > maxHeaderBytes) {
    throw new RequestError(
      "header-too-large",
      `the request line and the header section have more than ${maxHeaderBytes} bytes together`,
    );
  }
  // Report these errors now. Otherwise a client that speaks TLS to an HTTP port, or that ends its lines with LF alone, would wait for the timeout.
  if (text.length > start && !/[!-~\r]/.test(text.charAt(start))) throw invalidRequestLineError();
  if (/[^\r]\n/.test(text)) throw new RequestError("malformed", "a line of the header section does not end in CR LF");
  return undefined;
}

function invalidRequestLineError(): RequestError {
  return new RequestError("malformed", "the first line is not an HTTP/1.1 request line such as `GET /path HTTP/1.1`");
}

function parseHeaderSection(text: string): HeaderSection {
  const headers = parseHeaders(text);
  rejectBadHost(headers.get("host") ?? "");
  return { headers: headers.without("content-length"), framing: toFraming(headers) };
}

/**
 * Requires at most one host, which is valid (RFC 9112 section 3.2). If there are two, another parser of the same request could choose the other host.
 * @throws RequestError `malformed`
 */
function rejectBadHost(host: string): void {
  if (host.includes(",")) throw new RequestError("malformed", "the request has more than one Host header");
  if (!hostAndPort.test(host)) throw new RequestError("malformed", "the Host header is not a valid host");
}

/** A host with or without a port (RFC 3986 section 3.2.2). Bytes outside ASCII are allowed, because some clients send them. */
const hostAndPort = /^(?:[\w.~!$&'()*+;=%\x80-\xff-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?$/;

/**
 * Returns the framing of a request (RFC 9112 section 6.3).
 * @throws RequestError `malformed` for a length or coding that is invalid, and for a request that has both, as that section allows
 */
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

/** The header fields of a request, by their names in lower case (RFC 9110 section 5.1: names are case-insensitive). */
export class RequestHeaders {
  readonly #values: ReadonlyMap<string, string>;

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  /** Returns the value of a field; null if the field is absent. The values of a repeated field are joined with commas (RFC 9110 section 5.3). */
  get(name: string): string | null {
    return this.#values.get(name) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** Returns all fields except one. */
  without(name: string): RequestHeaders {
    if (!this.has(name)) return this;
    return new RequestHeaders(new Map([...this.#values].filter(([other]) => other !== name)));
  }
}

const line = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;

/**
 * Parses the lines of a header section, each with its CRLF (RFC 9112 section 5).
 * @throws RequestError `malformed` for whitespace before the colon, folded lines, control characters and other invalid lines
 */
export function parseHeaders(section: string): RequestHeaders {
  const values = new Map<string, string>();
  for (const text of section.split("\r\n").slice(0, -1)) {
    const [, name, raw] = line.exec(text) ?? [];
    if (name === undefined || raw === undefined) throw malformedError(text);
    const key = name.toLowerCase();
    const value = withoutOuterWhitespace(raw);
    const before = values.get(key);
    values.set(key, before === undefined ? value : `${before}, ${value}`);
  }
  return new RequestHeaders(values);
}

function malformedError(text: string): RequestError {
  const shown = text.slice(0, 40).replaceAll(/[^ -~]/g, "?");
  return new RequestError("malformed", `a line of the header section is not a header field: \`${shown}\``);
}

/** Removes the optional whitespace around a value (RFC 9110 section 5.6.3). `trim` would remove more than spaces and tabs. */
function withoutOuterWhitespace(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isWhitespace(text.charCodeAt(start))) start++;
  while (end > start && isWhitespace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** Maximum bytes of a header that is cached. The parsed header takes up to 15 times as much memory. */
const maxCachedHeaderBytes = 2 * 1024;

const [lineFeed, carriageReturn, zero, nine] = [0x0a, 0x0d, 0x30, 0x39];

/** The bytes of a header, and the parsed header. */
interface CachedHeader {
  readonly sent: Buffer;
  readonly header: RequestHeader;
  /** The position of the value of `Content-Length` in `sent`; undefined if the field is absent or 0. */
  readonly digits: { readonly start: number; readonly end: number } | undefined;
}

/**
 * Parses the headers of one connection, and caches the last one. Most clients repeat their header section except for the length of the body, and many
 * repeat their request line too. Bytes that equal the cached ones are neither decoded nor parsed again.
 */
export class HeaderReader {
  #last: CachedHeader | undefined;

  /** Like `parseRequestHeader`. */
  read(input: Buffer): RequestHeader | undefined {
    const last = this.#last;
    if (last && beginsWith(input, last.sent)) return last.header;
    const header = (last && parseWithCachedSection(last, input)) ?? parseRequestHeader(input);
    if (header) this.#keep(header, input);
    return header;
  }

  #keep(header: RequestHeader, input: Buffer): void {
    const { bytes, section } = header;
    const isWhole = bytes === input.length && input.byteOffset === 0;
    const isSimilar = section.headers === this.#last?.header.section.headers;
    // Copy a slice before caching it, so that it does not keep its whole buffer alive. Do not cache when there is little to gain.
    if (!isWhole && isSimilar) return;
    const sent = isWhole ? input : Buffer.from(input.subarray(0, bytes));
    this.#last = bytes <= maxCachedHeaderBytes ? { sent, header, digits: digitsIn(sent, section) } : undefined;
  }
}

/** Whether `input` begins with `beginning`; a body or the next request may follow. */
function beginsWith(input: Buffer, beginning: Buffer): boolean {
  const { length } = beginning;
  return input.length === length ? beginning.equals(input) : isSame(beginning, 0, length, input, 0);
}

/** Parses a header that differs from the cached one only in the request line or in the length of the body; undefined if it differs in more. */
function parseWithCachedSection(last: CachedHeader, input: Buffer): RequestHeader | undefined {
  const { sent, header } = last;
  const sectionAt = input.indexOf(lineFeed) + 1;
  if (sectionAt < 3 || input[sectionAt - 2] !== carriageReturn) return undefined;
  const similar = parseSimilarSection(last, input, sectionAt);
  if (!similar || similar.end > maxHeaderBytes) return undefined;
  const isSameLine = sectionAt === header.sectionAt && isSame(sent, 0, sectionAt, input, 0);
  const line = isSameLine ? header : parseRequestLine(input.toString("latin1", 0, sectionAt - 2));
  return toHeader(line, similar.section, sectionAt, similar.end);
}

/**
 * Reads the header section that begins at `at`, if it equals the cached one except for the length of the body. Returns the section and the index of
 * its end; undefined if it differs in more.
 */
function parseSimilarSection(
  { sent, header: { section, sectionAt, bytes }, digits }: CachedHeader,
  input: Buffer,
  at: number,
): { readonly section: HeaderSection; readonly end: number } | undefined {
  const sameEnd = digits?.start ?? bytes;
  if (!isSame(sent, sectionAt, sameEnd, input, at)) return undefined;
  const digitsAt = at + sameEnd - sectionAt;
  if (!digits) return { section, end: digitsAt };
  const digitsEnd = endOfDigits(input, digitsAt);
  if (digitsEnd === digitsAt || !isSame(sent, digits.end, bytes, input, digitsEnd)) return undefined;
  const framing = { ...section.framing, length: Number(input.toString("latin1", digitsAt, digitsEnd)) };
  return { section: { headers: section.headers, framing }, end: digitsEnd + bytes - digits.end };
}

/** Whether `other` has at `at` the same bytes as `one` from `start` up to `end`. */
function isSame(one: Buffer, start: number, end: number, other: Buffer, at: number): boolean {
  const otherEnd = at + end - start;
  return otherEnd <= other.length && one.compare(other, at, otherEnd, start, end) === 0;
}

/** Maximum number of digits of a `Content-Length`. */
const maxDigits = 15;

function endOfDigits(input: Buffer, start: number): number {
  let end = start;
  while (end < start + maxDigits && (input[end] ?? 0) >= zero && (input[end] as number) <= nine) end++;
  return end;
}

/** Finds the position of the value of `Content-Length` in a header; undefined if the field is absent or 0. */
function digitsIn(sent: Buffer, { framing }: HeaderSection): CachedHeader["digits"] {
  if (framing.length === 0) return undefined;
  const match = /\r\ncontent-length:[\t ]*([0-9]+)/i.exec(sent.toString("latin1"));
  if (!match) return undefined;
  const end = match.index + match[0].length;
  return { start: end - (match[1] as string).length, end };
}

/**
 * Why a request could not be read. `malformed`: it breaks a rule of HTTP/1.1, or the client disconnected in the middle of it. `timeout`: it did not
 * arrive in time. The others: its header section or its body is larger than the limit.
 */
type RequestErrorReason = "malformed" | "timeout" | "header-too-large" | "body-too-large";

/** A request that could not be read. The message is for its client. */
export class RequestError extends Error {
  readonly reason: RequestErrorReason;

  constructor(reason: RequestErrorReason, message: string) {
    super(message);
    this.name = "RequestError";
    this.reason = reason;
  }
}
