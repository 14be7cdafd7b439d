// The bodies of responses, their parts, and how far a body is sent.

import type { BufferWithHeadroom, ByteRange } from "../lib/bytes.ts";

export type BodyPart = Uint8Array | ByteRange;

/** The body of a response: text (sent as UTF-8), bytes, or bytes in parts; null for none. The bytes must not change afterwards. */
export type ResponseBody = string | Uint8Array | readonly BodyPart[] | BufferWithHeadroom | null;

/** Returns the length of a body in bytes. */
export function bodyLength(body: ResponseBody): number {
  if (body === null) return 0;
  if (typeof body === "string") return Buffer.byteLength(body);
  if ("memory" in body) return body.memory.length - body.start;
  if (body instanceof Uint8Array) return body.length;
  return partsLength(body);
}

/** Returns the length of all `parts` together, in bytes. */
export function partsLength(parts: readonly BodyPart[]): number {
  let sum = 0;
  for (const part of parts) sum += partLength(part);
  return sum;
}

/** Returns the length of `part` in bytes. */
export function partLength(part: BodyPart): number {
  return part instanceof Uint8Array ? part.length : part.end - part.start;
}

/** Copies the first `count` bytes of `part` to `target` at the index `at`. */
export function copyPart(part: BodyPart, count: number, target: Buffer, at: number): void {
  if (!(part instanceof Uint8Array)) part.source.copy(target, at, part.start, part.start + count);
  else target.set(count === part.length ? part : part.subarray(0, count), at);
}

/** Returns the bytes of `part`, which are not copied. */
export function partBytes(part: BodyPart): Uint8Array {
  return part instanceof Uint8Array ? part : part.source.subarray(part.start, part.end);
}

/** A body that is sent in several writes, up to its end. All responses with the same body share `parts`, so a response costs the same for any number of parts. */
export interface UnsentBody {
  readonly parts: readonly BodyPart[];
  /** The index of the first part that is not completely sent; the number of parts at the end. */
  index: number;
  /** How many bytes of that part are sent. */
  sent: number;
}

/** Returns `parts` of which the first `count` bytes are sent. */
export function unsentAfter(parts: readonly BodyPart[], count: number): UnsentBody {
  let index = 0;
  let sent = count;
  for (; index < parts.length; index++) {
    const length = partLength(parts[index] as BodyPart);
    if (sent < length) break;
    sent -= length;
  }
  return { parts, index, sent };
}
