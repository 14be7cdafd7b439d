// Responses in the content coding that the client takes. Each part of a list is compressed once and kept with it, so after a
// write only the part that changed is compressed again.

import { promisify } from "node:util";
import { constants, deflateRawSync, gzip } from "node:zlib";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { inSlices, type Steps } from "../lib/slices.ts";
import type { EncodedList } from "../store/memory/encoded-list.ts";
import { weightsOf } from "./accept.ts";

/** A content coding (RFC 9110 section 8.4.1) whose compressed parts can be joined. */
interface Coding {
  compress(part: Uint8Array): Uint8Array;
  join(parts: readonly Uint8Array[], list: EncodedList): Uint8Array;
  /** The whole of what never changes, which is worth more time; off this thread. */
  compressWhole(bytes: Uint8Array): Promise<Uint8Array>;
}

/** The codings that responses are offered in, the preferred first. */
const codings: Record<string, Coding> = {
  // Several frames after one another are a valid stream (RFC 8878 section 3.1).
  zstd: {
    compress: (part) => Bun.zstdCompressSync(part as Uint8Array<ArrayBuffer>, { level: 3 }),
    join: (dependencies) => Buffer.concat(dependencies),
    compressWhole: (bytes) => Bun.zstdCompress(bytes as Uint8Array<ArrayBuffer>, { level: 12 }),
  },
  // One member (RFC 1952): the parts are deflate blocks that end on a byte and refer to nothing before them.
  gzip: {
    compress: (part) => deflateRawSync(part, { level: 6, finishFlush: constants.Z_FULL_FLUSH }),
    join: (parts, list) => Buffer.concat([gzipHeader, ...parts, lastBlock, gzipTrailer(list)]),
    compressWhole: (bytes) => promisify(gzip)(bytes, { level: 9 }),
  },
};

const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** An empty block that says it is the last (RFC 1951 section 3.2.3). */
const lastBlock = Buffer.from([0x03, 0x00]);

function gzipTrailer({ parts, length }: EncodedList): Buffer {
  const trailer = Buffer.alloc(8);
  const check = parts.reduce((before, { bytes }) => Bun.hash.crc32(bytes as Uint8Array<ArrayBuffer>, before), 0);
  trailer.writeUInt32LE(check, 0);
  trailer.writeUInt32LE(length % 2 ** 32, 4);
  return trailer;
}

/** Below this many bytes the answer fits a packet or so, and compressing it gains nothing. */
const leastBytes = 1024;

/** The coding to answer with, by the client's `Accept-Encoding`; undefined for none. */
export function chooseCoding(header: string | null, bytes: number): string | undefined {
  if (header === null || bytes < leastBytes) return undefined;
  const accepted = weightsOf(header);
  const others = accepted.get("*") ?? 0;
  let best: string | undefined;
  let most = 0;
  for (const coding in codings) {
    const weight = accepted.get(coding) ?? accepted.get(`x-${coding}`) ?? others;
    if (weight > most) [best, most] = [coding, weight];
  }
  return best;
}

/** The whole list in `name`, one of the codings. A long one is compressed in slices. */
export function compressed(list: EncodedList, name: string): MaybePromise<Uint8Array> {
  return list.compressed(name, () => inSlices(compress(list, name)));
}

function* compress(list: EncodedList, name: string): Steps<Uint8Array> {
  const coding = codings[name] as Coding;
  const parts: Uint8Array[] = [];
  for (const part of list.parts) {
    parts.push(part.compressed(name, coding.compress));
    yield;
  }
  return coding.join(parts, list);
}

/** `bytes` in `name`, one of the codings. */
export function compressWhole(bytes: Uint8Array, name: string): Promise<Uint8Array> {
  return (codings[name] as Coding).compressWhole(bytes);
}
