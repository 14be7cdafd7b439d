// Decodes text in the encodings of the WHATWG Encoding Standard.

import { findNearest } from "../lib/text.ts";
import { ProblemError } from "../model/errors.ts";
import { firstPosition, malformedErrorAt, type Position, positionOf } from "./syntax-errors.ts";

/** The encodings an import accepts, most common first. It also accepts their other labels, such as `latin1`. */
export const encodings = [
  ...["utf-8", "utf-16le", "utf-16be", "windows-1252", "iso-8859-1", "iso-8859-15", "windows-1250", "iso-8859-2"],
  ...["big5", "euc-jp", "euc-kr", "gb18030", "gbk", "ibm866", "iso-2022-jp"],
  ...["iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-8-i"],
  ...["iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-16", "koi8-r", "koi8-u", "macintosh", "shift_jis"],
  ...["windows-874", "windows-1251", "windows-1253", "windows-1254", "windows-1255", "windows-1256", "windows-1257"],
  ...["windows-1258", "x-mac-cyrillic"],
] as const;

/** Returns the end of a message about an unknown encoding; undefined for a known one. */
export function encodingHint(label: string): string | undefined {
  try {
    new TextDecoder(label as "utf-8");
    return undefined;
  } catch {
    const meant = findNearest(label, encodings);
    return `${meant ? `did you mean ${meant}? ` : ""}These are known: ${encodings.join(", ")}`;
  }
}

/** UTF-32 comes first, because one of its marks starts with a mark of UTF-16. */
const byteOrderMarks = [
  ["utf-32", [0xff, 0xfe, 0, 0]],
  ["utf-32", [0, 0, 0xfe, 0xff]],
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
] as const;

function markedEncoding(start: Uint8Array) {
  return byteOrderMarks.find(([, mark]) => mark.every((byte, index) => start[index] === byte))?.[0];
}

/**
 * Recognizes a Unicode encoding by the first four bytes: by a byte order mark, or by zero bytes, which text in other encodings doesn't have. Undefined for
 * anything else, including UTF-8 without a byte order mark.
 */
export function recognizeUnicode(start: Uint8Array): (typeof byteOrderMarks)[number][0] | undefined {
  const marked = markedEncoding(start);
  if (marked || start.length < 2) return marked;
  const [a, b, c, d] = start;
  if ((a === 0 && b === 0) || (c === 0 && d === 0)) return a || b || c || d ? "utf-32" : undefined;
  if (b === 0 || (a !== 0 && d === 0)) return "utf-16le";
  return a === 0 || c === 0 ? "utf-16be" : undefined;
}

/** How many bytes `recognizeUnicode` needs. */
const recognizedBytes = 4;

/**
 * Decodes a file. A byte order mark takes precedence over `label` (Encoding Standard section 6.1).
 * @param label the encoding without a byte order mark. Default: what the bytes look like, or else UTF-8
 * @param hint the end of the message if the file isn't UTF-8
 * @throws ProblemError `bad-request` if the bytes aren't valid in the encoding, or are UTF-32
 */
export async function* decodeText(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  label?: string,
  hint = "",
): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let start: Uint8Array = new Uint8Array(0);
  try {
    for await (const chunk of bytes) {
      if (decoder) yield decoder.decode(chunk, { stream: true });
      else {
        start = start.length === 0 ? chunk : Buffer.concat([start, chunk]);
        if (start.length < recognizedBytes) continue;
        decoder = decoderOf(start, label, true);
        yield decoder.decode(start, { stream: true });
      }
    }
    const rest = decoder ? new Uint8Array(0) : start;
    decoder ??= decoderOf(start, label, true);
    yield decoder.decode(rest);
  } catch (error) {
    if (!(error instanceof TypeError) || !decoder) throw error;
    const name = decoder.encoding.toUpperCase();
    throw new ProblemError("bad-request", `the file isn't valid ${name}${name === "UTF-8" ? hint : ""}`);
  }
}

/** Decodes the start of a file as far as possible. @throws ProblemError `bad-request` for UTF-32 */
export function decodeStart(start: Uint8Array): string {
  return decoderOf(start, undefined, false).decode(start);
}

/** @param fatal whether the decoder throws a TypeError for invalid bytes @throws ProblemError `bad-request` for UTF-32 */
function decoderOf(start: Uint8Array, label: string | undefined, fatal: boolean): TextDecoder {
  const encoding = markedEncoding(start) ?? label ?? recognizeUnicode(start) ?? "utf-8";
  if (encoding === "utf-32") throw new ProblemError("bad-request", "the file is UTF-32; save it as UTF-8");
  // The runtime supports more encodings than its types say.
  return new TextDecoder(encoding as "utf-8", { fatal });
}

/** Accepts ASCII too, since it's part of UTF-8. Python's libraries declare "us-ascii", "ascii" or "utf8". */
export function isUtf8Name(name: string): boolean {
  return /^(?:utf[-_]?8|(?:us[-_]?)?ascii)$/i.test(name);
}

/** Recognizes UTF-16 and UTF-32, as in `UTF-16LE`; undefined for any other encoding. */
export function findWideEncoding(start: Uint8Array): string | undefined {
  const encoding = recognizeUnicode(start);
  return encoding === "utf-8" ? undefined : encoding?.toUpperCase();
}

/** Returns the index of the first byte that isn't valid UTF-8 (Encoding Standard section 8.1), or -1. @param start where a character starts */
function findInvalidByte(bytes: Uint8Array, start = 0): number {
  let at = start;
  while (at < bytes.length) {
    const first = bytes[at] as number;
    if (first >= 0x80 && !isSequence(bytes, at, first)) return at;
    at += lengthOfSequence(first);
  }
  return -1;
}

function lengthOfSequence(first: number): number {
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

function isSequence(bytes: Uint8Array, at: number, first: number): boolean {
  if (first < 0xc2 || first > 0xf4) return false;
  for (let index = 1; index < lengthOfSequence(first); index++) {
    const byte = bytes[at + index] ?? 0;
    if ((byte & 0xc0) !== 0x80) return false;
  }
  const second = bytes[at + 1] as number;
  // Overlong, a surrogate, or above U+10FFFF.
  return !(
    (first === 0xe0 && second < 0xa0) ||
    (first === 0xed && second > 0x9f) ||
    (first === 0xf0 && second < 0x90) ||
    (first === 0xf4 && second > 0x8f)
  );
}

/** What's wrong with the invalid byte at index `at`, and what to do. */
function invalidByteDetail(bytes: Uint8Array, at: number): string {
  const encoding = findWideEncoding(bytes);
  if (encoding !== undefined) return `it's ${encoding}; send UTF-8`;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "it's compressed with gzip; send it with `Content-Encoding: gzip`";
  const [first = 0, second = 0] = bytes.subarray(at);
  const shown = `byte 0x${first.toString(16).toUpperCase().padStart(2, "0")}`;
  const rest = bytes.subarray(at + 1);
  const isCut =
    first >= 0xc2 &&
    first <= 0xf4 &&
    rest.length < lengthOfSequence(first) - 1 &&
    rest.every((byte) => (byte & 0xc0) === 0x80);
  if (isCut) return `${shown} begins a character whose other bytes are missing; was the end cut off?`;
  if (first === 0xed && (second & 0xe0) === 0xa0)
    return `${shown} begins half of a surrogate pair; encode the whole character in UTF-8`;
  const character = new TextDecoder("windows-1252").decode(bytes.subarray(at, at + 1));
  // Two such bytes in a row are rarely Western European.
  const isWestern = second < 0x80 && /[^\p{C}]/u.test(character);
  return `${shown} isn't UTF-8${isWestern ? `; it's \`${character}\` in Windows-1252` : ""}; send UTF-8`;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8 without its byte order mark. @throws ProblemError `bad-request` with line and column if it isn't valid */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    const at = findInvalidByte(bytes);
    const text = decodeLeniently(bytes, at);
    throw invalidUtf8Error(positionOf(text, text.length), bytes, at);
  }
}

/** Small enough for one tick. */
const chunkBytes = 1 << 16;

/** `fromUtf8` in chunks. @throws ProblemError as `fromUtf8` */
export function* utf8Chunks(bytes: Uint8Array): Generator<string, void> {
  const chunkDecoder = new TextDecoder("utf-8", { fatal: true });
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    const end = start + chunkBytes;
    let chunk: string | undefined;
    try {
      chunk = chunkDecoder.decode(bytes.subarray(start, end), { stream: end < bytes.length });
    } catch {
      // A character may start in the last three bytes of the previous chunk.
      const back = [1, 2, 3].find((count) => (bytes[start - count] ?? 0) >= 0xc0) ?? 0;
      const at = findInvalidByte(bytes, start - back);
      throw invalidUtf8Error(yield* positionAtEnd(decodeLeniently(bytes, at)), bytes, at);
    }
    yield chunk;
  }
}

/** Finds the end position of long text. Yields empty chunks between steps. */
function* positionAtEnd(text: string): Generator<string, Position> {
  let position = firstPosition;
  for (let start = 0; start < text.length; start += chunkBytes) {
    // Include the next character, because CR LF is one line end.
    const step = text.slice(start, start + chunkBytes + 1);
    position = positionOf(step, Math.min(step.length, chunkBytes), position);
    yield "";
  }
  return position;
}

function decodeLeniently(bytes: Uint8Array, end: number): string {
  return new TextDecoder().decode(bytes.subarray(0, end));
}

function invalidUtf8Error(position: Position, bytes: Uint8Array, at: number): ProblemError {
  return malformedErrorAt("valid UTF-8", position, invalidByteDetail(bytes, at));
}
