import type { List } from "../store/collection.ts";

/** The content codings (RFC 9110 section 8.4.1) that lists are offered in, the preferred first. */
const codings: Record<string, (bytes: Uint8Array) => Uint8Array> = {
  zstd: (bytes) => Bun.zstdCompressSync(bytes as Uint8Array<ArrayBuffer>, { level: 3 }),
  gzip: (bytes) => Bun.gzipSync(bytes as Uint8Array<ArrayBuffer>, { level: 6 }),
};

/** Below this many bytes the answer fits a packet or so, and compressing it gains nothing. */
const leastBytes = 1024;

/** The coding to answer with, by the client's `Accept-Encoding`; undefined for none. */
export function chooseCoding(header: string | null, bytes: number): string | undefined {
  if (header === null || bytes < leastBytes) return undefined;
  const accepted = parse(header);
  let best: string | undefined;
  for (const coding of Object.keys(codings)) {
    const weight = accepted.get(coding) ?? accepted.get("*") ?? 0;
    if (weight > (best ? (accepted.get(best) ?? accepted.get("*") ?? 0) : 0)) best = coding;
  }
  return best;
}

/** The list in `coding`: compressed once, and kept as long as the list. */
export function compressed(list: List, coding: string): Uint8Array {
  let bytes = list.compressed.get(coding);
  if (!bytes) {
    bytes = (codings[coding] as (bytes: Uint8Array) => Uint8Array)(list.bytes);
    list.compressed.set(coding, bytes);
  }
  return bytes;
}

const parsed = new Map<string, ReadonlyMap<string, number>>();

/** Weights by coding (RFC 9110 section 12.5.3). Clients send few different headers, so they are remembered. */
function parse(header: string): ReadonlyMap<string, number> {
  let weights = parsed.get(header);
  if (!weights) {
    weights = new Map(
      header.split(",").map((entry) => {
        const [coding = "", ...parameters] = entry
          .trim()
          .toLowerCase()
          .split(/\s*;\s*/);
        const weight = parameters.find((parameter) => parameter.startsWith("q="));
        return [coding === "x-gzip" ? "gzip" : coding, weight ? Number(weight.slice(2)) || 0 : 1];
      }),
    );
    if (parsed.size >= 256) parsed.clear();
    parsed.set(header, weights);
  }
  return weights;
}
