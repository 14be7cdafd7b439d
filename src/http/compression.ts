// Lists in the content coding that the client takes. Each part of a list is compressed once and kept with it, so after a
// write only the part that changed is compressed again.

import { constants, deflateRawSync } from "node:zlib";
import type { List } from "../store/list.ts";

/** A content coding (RFC 9110 section 8.4.1) whose compressed parts can be joined. */
interface Coding {
  compress(part: Uint8Array): Uint8Array;
  join(parts: readonly Uint8Array[], list: List): Uint8Array;
}

/** The codings that lists are offered in, the preferred first. */
const codings: Record<string, Coding> = {
  // Several frames after one another are a valid stream (RFC 8878 section 3.1).
  zstd: {
    compress: (part) => Bun.zstdCompressSync(part as Uint8Array<ArrayBuffer>, { level: 3 }),
    join: (parts) => Buffer.concat(parts),
  },
  // One member (RFC 1952): the parts are deflate blocks that end on a byte and refer to nothing before them.
  gzip: {
    compress: (part) => deflateRawSync(part, { level: 6, finishFlush: constants.Z_FULL_FLUSH }),
    join: (parts, list) => Buffer.concat([gzipHeader, ...parts, lastBlock, gzipTrailer(list)]),
  },
};

const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** An empty block that says it is the last (RFC 1951 section 3.2.3). */
const lastBlock = Buffer.from([0x03, 0x00]);

function gzipTrailer({ parts, length }: List): Buffer {
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
  const accepted = parse(header);
  let best: string | undefined;
  let most = 0;
  for (const coding in codings) {
    const weight = accepted.get(coding) ?? accepted.get("*") ?? 0;
    if (weight > most) [best, most] = [coding, weight];
  }
  return best;
}

/** The whole list in `name`, one of the codings. */
export function compressed(list: List, name: string): Uint8Array {
  const coding = codings[name] as Coding;
  return list.compressed.get(name, () => {
    const parts = list.parts.map(({ bytes, compressed }) => compressed.get(name, () => coding.compress(bytes)));
    return coding.join(parts, list);
  });
}

const parsed = new Map<string, ReadonlyMap<string, number>>();
/** Longest header to remember: no client's own is longer, and long ones would fill the memory. */
const longestKept = 256;

/** Weights by coding (RFC 9110 section 12.5.3). Clients send few different headers, so they are remembered. */
function parse(header: string): ReadonlyMap<string, number> {
  const known = parsed.get(header);
  if (known) return known;
  const weights = new Map(header.split(",").map(parseEntry));
  if (parsed.size >= 256) parsed.clear();
  if (header.length <= longestKept) parsed.set(header, weights);
  return weights;
}

function parseEntry(entry: string): [string, number] {
  const [coding = "", ...parameters] = entry
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  return [coding === "x-gzip" ? "gzip" : coding, weight ? Number(weight.slice(2)) || 0 : 1];
}
