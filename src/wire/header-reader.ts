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

/** Longer headers aren't cached, because the parsed header takes up to 15 times as much memory. */
const maxCachedHeaderBytes = 2 * 1024;

const [zero, nine] = [0x30, 0x39];

interface CachedHeader {
  readonly sent: Buffer;
  readonly header: RequestHeader;
  /** Where `sent` has the value of `Content-Length`; undefined if it's missing or 0. */
  readonly digits: { readonly start: number; readonly end: number } | undefined;
}

/**
 * Parses the headers of a connection's requests (request-header.ts), and caches the last one. Most clients repeat their header section apart from the body's
 * length, and many repeat their request line too. Bytes that match the cached ones are neither decoded nor parsed again.
 */
export class HeaderReader {
  #last: CachedHeader | undefined;

  parse(input: Buffer): RequestHeader | undefined {
    const last = this.#last;
    if (last && startsWith(input, last.sent)) return last.header;
    const header = (last && parseWithCachedSection(last, input)) ?? parseRequestHeader(input);
    if (header) this.#keep(header, input);
    return header;
  }

  #keep(header: RequestHeader, input: Buffer): void {
    const { bytes, section } = header;
    const isWhole = bytes === input.length && input.byteOffset === 0;
    const isSimilar = section.headers === this.#last?.header.section.headers;
    // A cached slice would keep its whole buffer alive, so we copy it, but not if there's little to gain.
    if (!isWhole && isSimilar) return;
    const sent = isWhole ? input : Buffer.from(input.subarray(0, bytes));
    this.#last = bytes <= maxCachedHeaderBytes ? { sent, header, digits: digitsIn(sent, section) } : undefined;
  }
}

/** A body or the next request may follow. */
function startsWith(input: Buffer, prefix: Buffer): boolean {
  const { length } = prefix;
  return input.length === length ? prefix.equals(input) : isSame(prefix, 0, length, input, 0);
}

/** Parses a header that only differs from the cached one in its request line or the body's length. Returns undefined if there's more. */
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
 * Reads the header section at `at` if it only differs from the cached one in the body's length. Returns the section and where it ends; undefined if there's
 * more.
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

/** Whether `other`, from `at`, has the same bytes as `one` from `start` up to `end`. */
function isSame(one: Buffer, start: number, end: number, other: Buffer, at: number): boolean {
  const otherEnd = at + end - start;
  return otherEnd <= other.length && one.compare(other, at, otherEnd, start, end) === 0;
}

/** In a `Content-Length`. */
const maxDigits = 15;

function endOfDigits(input: Buffer, start: number): number {
  let end = start;
  while (end < start + maxDigits && (input[end] ?? 0) >= zero && (input[end] as number) <= nine) end++;
  return end;
}

/** Finds the value of `Content-Length`; undefined if it's missing or 0. */
function digitsIn(sent: Buffer, { framing }: HeaderSection): CachedHeader["digits"] {
  if (framing.length === 0) return undefined;
  const match = /\r\ncontent-length:[\t ]*([0-9]+)/i.exec(sent.toString("latin1"));
  if (!match) return undefined;
  const end = match.index + match[0].length;
  return { start: end - (match[1] as string).length, end };
}
