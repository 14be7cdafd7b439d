// Decodes text in any character encoding of the WHATWG Encoding Standard.

import { ProblemError } from "../model/errors.ts";

/** The byte order marks of the Unicode encodings. */
const byteOrderMarks: readonly [encoding: string, bytes: readonly number[]][] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

/** Bytes of the longest byte order mark. */
const longestMark = 3;

/** Whether `label` names an encoding, such as `utf-8`, `windows-1252` or `latin1`. */
export function isEncoding(label: string): boolean {
  try {
    createDecoder(label);
    return true;
  } catch {
    return false;
  }
}

/**
 * Decodes a text. A byte order mark decides the encoding, and takes precedence over `label` (Encoding Standard section 6.1).
 * @param label the encoding of a text without a byte order mark
 * @throws ProblemError `bad-request` if the bytes are not valid in the encoding
 */
export async function* decodeText(bytes: AsyncIterable<Uint8Array>, label = "utf-8"): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let start: Uint8Array = new Uint8Array(0);
  try {
    for await (const chunk of bytes) {
      if (decoder) yield decoder.decode(chunk, { stream: true });
      else {
        start = start.length === 0 ? chunk : Buffer.concat([start, chunk]);
        if (start.length < longestMark) continue;
        decoder = decoderOf(start, label);
        yield decoder.decode(start, { stream: true });
      }
    }
    yield decoder ? decoder.decode() : decoderOf(start, label).decode(start);
  } catch (error) {
    if (error instanceof TypeError) throw invalidTextError(decoder?.encoding ?? label);
    throw error;
  }
}

function decoderOf(start: Uint8Array, label: string): TextDecoder {
  const marked = byteOrderMarks.find(([, mark]) => mark.every((byte, index) => start[index] === byte));
  return createDecoder(marked?.[0] ?? label);
}

/** Returns a decoder that throws a TypeError for invalid bytes. @throws RangeError if no encoding has this label */
function createDecoder(label: string): TextDecoder {
  // The runtime supports more encodings than its types say.
  return new TextDecoder(label as "utf-8", { fatal: true });
}

function invalidTextError(encoding: string): ProblemError {
  const name = encoding.toUpperCase();
  const isDefault = name === "UTF-8";
  const hint = isDefault ? ": save it as UTF-8 (`CSV UTF-8` in a spreadsheet), or add --encoding windows-1252" : "";
  return new ProblemError("bad-request", `the file is not valid ${name}${hint}`);
}

/** Whether this is a name of UTF-8, or of ASCII, which is a part of it. Python's libraries declare `us-ascii`, `ascii` or `utf8`. */
export function isUtf8Name(name: string): boolean {
  return /^(?:utf[-_]?8|(?:us[-_]?)?ascii)$/i.test(name);
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8, and removes a byte order mark. @throws ProblemError `bad-request` if the bytes are not valid UTF-8 */
export function fromUtf8(bytes: Uint8Array): string {
  return decodePart(decoder, bytes, false);
}

/** Bytes that are decoded between two yields. */
const decodedAtOnce = 1 << 19;

/** Decodes UTF-8 as `fromUtf8` does. Yields between the parts of a long text. @throws ProblemError `bad-request` if the bytes are not valid UTF-8 */
export function* fromUtf8InSteps(bytes: Uint8Array): Generator<undefined, string> {
  if (bytes.length <= decodedAtOnce) return fromUtf8(bytes);
  const partDecoder = new TextDecoder("utf-8", { fatal: true });
  const parts: string[] = [];
  for (let start = 0; start < bytes.length; start += decodedAtOnce) {
    const end = start + decodedAtOnce;
    parts.push(decodePart(partDecoder, bytes.subarray(start, end), end < bytes.length));
    yield;
  }
  return parts.join("");
}

function decodePart(partDecoder: TextDecoder, part: Uint8Array, stream: boolean): string {
  try {
    return partDecoder.decode(part, { stream });
  } catch {
    throw new ProblemError("bad-request", "the body is not valid UTF-8");
  }
}
