// Parses the headers of the requests of one connection (request-header.ts), and caches the last one.

import {
  carriageReturn,
  type HeaderSection,
  lineFeed,
  maxHeaderBytes,
  parseRequestHeader,
  parseRequestLine,
  type RequestHeader,
  toHeader,
} from "./request-header.ts";

/** Maximum bytes of a header that is cached. The parsed header takes up to 15 times as much memory. */
const maxCachedHeaderBytes = 2 * 1024;

const [zero, nine] = [0x30, 0x39];

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

  parse(input: Buffer): RequestHeader | undefined {
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
