import {
  type HeaderSection,
  maxHeaderBytes,
  type RequestHeader,
  readRequestHeader,
  readRequestLine,
  toHeader,
} from "./request-header.ts";

/** Bytes of a header that is kept parsed, which takes up to 15 times as much memory. */
const maxKept = 2 * 1024;

const [lineFeed, carriageReturn, zero, nine] = [0x0a, 0x0d, 0x30, 0x39];

/** A header as it was sent, and what was read from it. */
interface KeptHeader {
  readonly sent: Buffer;
  readonly header: RequestHeader;
  /** Where the value of `Content-Length` is in `sent`; undefined when it has none. */
  readonly digits: { readonly start: number; readonly end: number } | undefined;
}

/**
 * Reads the headers of one connection. Most clients send the same header section again and again, but for the length of the body, and many
 * the same request line: bytes that equal the last ones are not made to a text and not parsed again.
 */
export class HeaderReader {
  #last: KeptHeader | undefined;

  /** As `readRequestHeader`. */
  read(input: Buffer): RequestHeader | undefined {
    const last = this.#last;
    if (last && beginsWith(input, last.sent)) return last.header;
    const header = (last && readSimilar(last, input)) ?? readRequestHeader(input);
    if (header) this.#keep(header, input);
    return header;
  }

  #keep(header: RequestHeader, input: Buffer): void {
    const { bytes, section } = header;
    const isWhole = bytes === input.length && input.byteOffset === 0;
    const isSimilar = section.headers === this.#last?.header.section.headers;
    // A part of a larger buffer is copied, as it would keep all of that in memory. Where it gains little, it is not kept.
    if (!isWhole && isSimilar) return;
    const sent = isWhole ? input : Buffer.from(input.subarray(0, bytes));
    this.#last = bytes <= maxKept ? { sent, header, digits: digitsIn(sent, section) } : undefined;
  }
}

/** Whether `input` is `beginning`, or has more behind it: a body, or the next request. */
function beginsWith(input: Buffer, beginning: Buffer): boolean {
  const { length } = beginning;
  return input.length === length ? beginning.equals(input) : isSame(beginning, 0, length, input, 0);
}

/** Reads another request line, or another length of the body, in an otherwise equal header; undefined when something else has arrived. */
function readSimilar(last: KeptHeader, input: Buffer): RequestHeader | undefined {
  const { sent, header } = last;
  const sectionAt = input.indexOf(lineFeed) + 1;
  if (sectionAt < 3 || input[sectionAt - 2] !== carriageReturn) return undefined;
  const similar = readSimilarSection(last, input, sectionAt);
  if (!similar || similar.end > maxHeaderBytes) return undefined;
  const isSameLine = sectionAt === header.sectionAt && isSame(sent, 0, sectionAt, input, 0);
  const line = isSameLine ? header : readRequestLine(input.toString("latin1", 0, sectionAt - 2));
  return toHeader(line, similar.section, sectionAt, similar.end);
}

/** Reads the header section that begins at `at`, if it differs from the last one in the length of the body at most. Returns where it ends. */
function readSimilarSection(
  { sent, header: { section, sectionAt, bytes }, digits }: KeptHeader,
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

/** Whether the bytes of `one` from `start` up to `end` are in `other` at `at`. */
function isSame(one: Buffer, start: number, end: number, other: Buffer, at: number): boolean {
  const otherEnd = at + end - start;
  return otherEnd <= other.length && one.compare(other, at, otherEnd, start, end) === 0;
}

/** Digits that a length has at most. */
const mostDigits = 15;

function endOfDigits(input: Buffer, start: number): number {
  let end = start;
  while (end < start + mostDigits && (input[end] ?? 0) >= zero && (input[end] as number) <= nine) end++;
  return end;
}

/** Where the value of `Content-Length` is in a header; undefined when there is none, or it is 0. */
function digitsIn(sent: Buffer, { framing }: HeaderSection): KeptHeader["digits"] {
  if (framing.length === 0) return undefined;
  const match = /\r\ncontent-length:[\t ]*([0-9]+)/i.exec(sent.toString("latin1"));
  if (!match) return undefined;
  const end = match.index + match[0].length;
  return { start: end - (match[1] as string).length, end };
}
