// What is served as it is: pages, documents and scripts. Each is kept once, and once in each coding that was asked for, so
// that clients that do not read take no more memory, however many they are.

import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import type { WireResponse } from "../wire/response.ts";
import { chooseCoding, compressWhole } from "./compression.ts";
import { noneMatchHits } from "./conditional.ts";
import type { Exchange } from "./exchange.ts";
import { once } from "./once.ts";
import { toCacheableResponse } from "./responses.ts";

/** Something that stays the same as long as the program runs. */
interface Fixed {
  /** `Content-Type`. */
  readonly type: string;
  /** Makes it, when it is first asked for. */
  readonly make: () => MaybePromise<Uint8Array | string>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether its path names its version, so that it may be used again without asking. */
  readonly isVersioned?: boolean;
}

interface Made {
  readonly bytes: Uint8Array;
  readonly version: string;
  /** Compressed, by content coding. */
  readonly coded: Map<string, () => Promise<Uint8Array>>;
}

/** Responds with it: 304 to those who have it, otherwise in the coding that the client prefers. */
export function serveFixed({
  type,
  make,
  headers,
  isVersioned,
}: Fixed): (exchange: Exchange) => MaybePromise<WireResponse> {
  const get = once(() => after(make(), toMade));
  const common = {
    ...headers,
    "Cache-Control": isVersioned ? "public, max-age=31536000, immutable" : "public, no-cache",
    Vary: "Accept-Encoding",
  };

  function respond(exchange: Exchange, { bytes, version, coded }: Made): MaybePromise<WireResponse> {
    const { headers } = exchange.request;
    const coding = chooseCoding(headers.get("accept-encoding"), bytes.length);
    const tagged = { ...common, ETag: `"${version}-${coding ?? "plain"}"` };
    const known = headers.get("if-none-match");
    if (known !== null && noneMatchHits(known, tagged.ETag)) return toCacheableResponse(exchange, 304, null, tagged);
    const typed = { "Content-Type": type, ...tagged };
    if (!coding) return toCacheableResponse(exchange, 200, bytes, typed);
    const compressed = coded.get(coding) ?? once(() => compressWhole(bytes, coding));
    coded.set(coding, compressed);
    return compressed().then((body) =>
      toCacheableResponse(exchange, 200, body, { "Content-Encoding": coding, ...typed }),
    );
  }

  return (exchange) => after(get(), (made) => respond(exchange, made));
}

/** A short digest of `bytes`, as an ETag has it. */
export function shortDigest(bytes: Uint8Array | string): string {
  return Bun.SHA256.hash(bytes as Uint8Array<ArrayBuffer>, "hex").slice(0, 16);
}

function toMade(content: Uint8Array | string): Made {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return { bytes, version: shortDigest(bytes), coded: new Map() };
}
