// The bodies of responses, and their parts.

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

/** Returns the bytes of `parts` without the first `count` bytes, in parts that are not copied. */
export function partsFrom(parts: readonly BodyPart[], count: number): Uint8Array[] {
  const rest: Uint8Array[] = [];
  let skipped = 0;
  for (const part of parts) {
    const skip = Math.min(partLength(part), count - skipped);
    if (skip < partLength(part)) rest.push(partFrom(part, skip));
    skipped += skip;
  }
  return rest;
}

function partFrom(part: BodyPart, count: number): Uint8Array {
  if (part instanceof Uint8Array) return count === 0 ? part : part.subarray(count);
  return part.source.subarray(part.start + count, part.end);
}
