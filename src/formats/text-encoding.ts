// Decodes text in any character encoding of the WHATWG Encoding Standard.

import { findNearest } from "../lib/text.ts";
import { ProblemError } from "../model/errors.ts";
import { firstPosition, malformedErrorAt, type Position, positionOf } from "./syntax-errors.ts";

/** The encodings that an import accepts. Their other labels, such as `latin1`, are accepted, too. Those that files most often have come first. */
export const encodings = [
  ...["utf-8", "utf-16le", "utf-16be", "windows-1252", "iso-8859-1", "iso-8859-15", "windows-1250", "iso-8859-2"],
  ...["big5", "euc-jp", "euc-kr", "gb18030", "gbk", "ibm866", "iso-2022-jp"],
  ...["iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-8-i"],
  ...["iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-16", "koi8-r", "koi8-u", "macintosh", "shift_jis"],
  ...["windows-874", "windows-1251", "windows-1253", "windows-1254", "windows-1255", "windows-1256", "windows-1257"],
  ...["windows-1258", "x-mac-cyrillic"],
] as const;

/** Returns what to use in place of a label that names no encoding, as the end of a message; undefined for the label of an encoding. */
export function encodingHint(label: string): string | undefined {
  try {
    new TextDecoder(label as "utf-8");
    return undefined;
  } catch {
    const meant = findNearest(label, encodings);
    return `${meant ? `did you mean ${meant}? ` : ""}These are known: ${encodings.join(", ")}`;
  }
}

/** The byte order marks of the Unicode encodings. The mark of UTF-16 is the beginning of one of UTF-32. */
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
 * Recognizes the Unicode encoding of a text by its first four bytes: by a byte order mark, or by zero bytes, which only these encodings have in a text.
 * Returns undefined for any other text, also for UTF-8 without a byte order mark.
 */
export function recognizeUnicode(start: Uint8Array): (typeof byteOrderMarks)[number][0] | undefined {
  const marked = markedEncoding(start);
  if (marked || start.length < 2) return marked;
  const [a, b, c, d] = start;
  if ((a === 0 && b === 0) || (c === 0 && d === 0)) return a || b || c || d ? "utf-32" : undefined;
  if (b === 0 || (a !== 0 && d === 0)) return "utf-16le";
  return a === 0 || c === 0 ? "utf-16be" : undefined;
}

/** Bytes that `recognizeUnicode` needs. */
const recognizedBytes = 4;

/**
 * Decodes the text of a file. A byte order mark decides the encoding, and takes precedence over `label` (Encoding Standard section 6.1).
 * @param label the encoding of a text without a byte order mark; by default the one that its bytes show, otherwise UTF-8
 * @param hint the end of the message for a text that is not UTF-8
 * @throws ProblemError `bad-request` if the bytes are not valid in the encoding, or are UTF-32
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
    throw new ProblemError("bad-request", `the file is not valid ${name}${name === "UTF-8" ? hint : ""}`);
  }
}

/** Decodes the beginning of a file, as far as possible. @throws ProblemError `bad-request` for UTF-32 */
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

/** Whether this is a name of UTF-8, or of ASCII, which is a part of it. Python's libraries declare "us-ascii", "ascii" or "utf8". */
export function isUtf8Name(name: string): boolean {
  return /^(?:utf[-_]?8|(?:us[-_]?)?ascii)$/i.test(name);
}

/** Returns the name of the encoding of a text in UTF-16 or UTF-32, such as `UTF-16LE`, as `recognizeUnicode`; undefined for any other. */
export function findWideEncoding(start: Uint8Array): string | undefined {
  const encoding = recognizeUnicode(start);
  return encoding === "utf-8" ? undefined : encoding?.toUpperCase();
}

/** Returns the index of the first byte that is not valid UTF-8 (Encoding Standard section 8.1); -1 if all are. @param start the index of a character */
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
  // Longer than necessary, a surrogate, or above U+10FFFF.
  return !(
    (first === 0xe0 && second < 0xa0) ||
    (first === 0xed && second > 0x9f) ||
    (first === 0xf0 && second < 0x90) ||
    (first === 0xf4 && second > 0x8f)
  );
}

/** Returns what is wrong with the byte at the index `at`, which is not valid UTF-8, and what to do. */
function invalidByteDetail(bytes: Uint8Array, at: number): string {
  const encoding = findWideEncoding(bytes);
  if (encoding !== undefined) return `it is ${encoding}; send UTF-8`;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "it is compressed by gzip; send it with `Content-Encoding: gzip`";
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
  // Two such bytes in sequence are seldom Western European.
  const isWestern = second < 0x80 && /[^\p{C}]/u.test(character);
  return `${shown} is not UTF-8${isWestern ? `; it is \`${character}\` in Windows-1252` : ""}; send UTF-8`;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8, and removes a byte order mark. @throws ProblemError `bad-request` with line and column, if the bytes are not valid UTF-8 */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    const at = findInvalidByte(bytes);
    const text = decodeLeniently(bytes, at);
    throw invalidUtf8Error(positionOf(text, text.length), bytes, at);
  }
}

/** Bytes that are decoded at once: little enough for a tick. */
const chunkBytes = 1 << 16;

/** Decodes UTF-8 in chunks, as `fromUtf8` decodes it at once. @throws ProblemError as `fromUtf8` */
export function* utf8Chunks(bytes: Uint8Array): Generator<string, void> {
  const chunkDecoder = new TextDecoder("utf-8", { fatal: true });
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    const end = start + chunkBytes;
    let chunk: string | undefined;
    try {
      chunk = chunkDecoder.decode(bytes.subarray(start, end), { stream: end < bytes.length });
    } catch {
      // A character may begin in the last three bytes of the chunk before.
      const back = [1, 2, 3].find((count) => (bytes[start - count] ?? 0) >= 0xc0) ?? 0;
      const at = findInvalidByte(bytes, start - back);
      throw invalidUtf8Error(yield* positionAtEnd(decodeLeniently(bytes, at)), bytes, at);
    }
    yield chunk;
  }
}

/** Returns the position of the end of a long text. Yields empty chunks between the steps. */
function* positionAtEnd(text: string): Generator<string, Position> {
  let position = firstPosition;
  for (let start = 0; start < text.length; start += chunkBytes) {
    // With the next character, because a CR and an LF are one line end.
    const step = text.slice(start, start + chunkBytes + 1);
    position = positionOf(step, Math.min(step.length, chunkBytes), position);
    yield "";
  }
  return position;
}

/** Decodes the bytes before the index `end`. */
function decodeLeniently(bytes: Uint8Array, end: number): string {
  return new TextDecoder().decode(bytes.subarray(0, end));
}

function invalidUtf8Error(position: Position, bytes: Uint8Array, at: number): ProblemError {
  return malformedErrorAt("valid UTF-8", position, invalidByteDetail(bytes, at));
}
