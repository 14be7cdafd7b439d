// Compresses responses the way the client prefers. Each part of a list is compressed once and cached with it, so after a write, only the changed part has
// to be compressed again.

import { constants, deflateRawSync } from "node:zlib";
import { allocateWithHeadroom, type BufferWithHeadroom } from "../lib/bytes.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { type Steps, slices } from "../lib/slices.ts";
import type { TextInParts } from "../store/memory/text-in-parts.ts";
import { preferredCoding } from "./common/content-negotiation.ts";
import { gzipWhole } from "./common/static-file.ts";

/** A content coding (RFC 9110 section 8.4.1) whose separately compressed parts can be joined. */
interface Coding {
  compress(part: Uint8Array): Uint8Array;
  /** Joins compressed parts. There's free space at the start, so that the header section can be sent in the same write. */
  join(parts: readonly Uint8Array[], list: TextInParts): Steps<BufferWithHeadroom>;
}

export type ContentCoding = "zstd" | "gzip";

/** In our order of preference. */
const offered: readonly ContentCoding[] = ["zstd", "gzip"];

const codings: Record<ContentCoding, Coding> = {
  // Each part is a frame. A sequence of frames is a valid stream (RFC 8878 section 3.1).
  zstd: {
    compress: (part) => Bun.zstdCompressSync(part as Uint8Array<ArrayBuffer>, { level: 3 }),
    join: concatenate,
  },
  // All parts form one member (RFC 1952). Each one's deflate blocks end at a byte boundary and don't refer to earlier bytes.
  gzip: {
    compress: (part) => deflateRawSync(part, { level: 6, finishFlush: constants.Z_FULL_FLUSH }),
    *join(parts, list) {
      return yield* concatenate([gzipHeader, ...parts, lastBlock, yield* gzipTrailer(list)]);
    },
  },
};

/** For bytes that never change: better compression, but slower, so it runs on another thread. */
export const wholeEncoders: Readonly<Record<ContentCoding, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  zstd: (bytes) => Bun.zstdCompress(bytes as Uint8Array<ArrayBuffer>, { level: 12 }),
  gzip: gzipWhole,
};

const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** An empty block, marked as the last one (RFC 1951 section 3.2.3). */
const lastBlock = Buffer.from([0x03, 0x00]);

function* gzipTrailer({ parts, length }: TextInParts): Steps<Buffer> {
  const trailer = Buffer.alloc(8);
  let check = 0;
  for (const { bytes } of parts) {
    check = Bun.hash.crc32(bytes as Uint8Array<ArrayBuffer>, check);
    yield;
  }
  trailer.writeUInt32LE(check, 0);
  trailer.writeUInt32LE(length % 2 ** 32, 4);
  return trailer;
}

/** Smaller responses fit in about one packet anyway, so they aren't compressed. */
const minBytes = 1024;

/** @param header the value of `Accept-Encoding` @param bytes the size of the body @returns undefined for no compression */
export function chooseCoding(header: string | null, bytes: number): ContentCoding | undefined {
  return bytes < minBytes ? undefined : preferredCoding(header, offered);
}

/** The result is cached with the list. A long list is compressed in slices. */
export function compressList(list: TextInParts, name: ContentCoding): MaybePromise<BufferWithHeadroom> {
  return list.compressed(name, () => slices.run(compress(list, name)));
}

function* compress(list: TextInParts, name: ContentCoding): Steps<BufferWithHeadroom> {
  const coding = codings[name];
  const parts: Uint8Array[] = [];
  for (const part of list.parts) {
    parts.push(part.compressed(name, coding.compress));
    yield;
  }
  return yield* coding.join(parts, list);
}

function* concatenate(parts: readonly Uint8Array[]): Steps<BufferWithHeadroom> {
  const joined = allocateWithHeadroom(parts.reduce((sum, { length }) => sum + length, 0));
  let end = joined.start;
  for (const part of parts) {
    joined.memory.set(part, end);
    end += part.length;
    yield;
  }
  return joined;
}
