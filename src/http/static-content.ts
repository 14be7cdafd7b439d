// Content that caches may store: pages, documents and scripts. The server keeps each file once per content coding, so that slow clients
// take no more memory, however many they are.

import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import { once } from "../lib/once.ts";
import type { ServedFile } from "../reference/documents.ts";
import type { Download } from "../reference/downloads.ts";
import { pagePolicy } from "../reference/pages/layout.ts";
import type { WireResponse } from "../wire/response.ts";
import { type ContentCoding, chooseCoding, compressWhole } from "./compression.ts";
import { noneMatchHits } from "./conditional.ts";
import type { Exchange } from "./exchange.ts";
import { toCacheableResponse } from "./responses.ts";

interface LoadedFile {
  readonly bytes: Uint8Array;
  readonly digest: string;
  /** The compressed bytes by content coding. */
  readonly compressed: Map<ContentCoding, () => Promise<Uint8Array>>;
}

/** A function that responds with `file`, in the coding that the client prefers. */
export function serveFile({ type, make, policy, isVersioned, isCompressed }: ServedFile) {
  const load = once(() => after(make(), toLoadedFile));
  const headers = {
    "Cache-Control": isVersioned ? "public, max-age=31536000, immutable" : "public, no-cache",
    Vary: "Accept-Encoding",
    ...(policy ? { "Content-Security-Policy": policy } : {}),
  };

  function respond(exchange: Exchange, { bytes, digest, compressed }: LoadedFile): MaybePromise<WireResponse> {
    const accepted = exchange.request.headers.get("accept-encoding");
    const coding = isCompressed ? undefined : chooseCoding(accepted, bytes.length);
    const tagged = { ...headers, ETag: `"${digest}-${coding ?? "plain"}"` };
    if (isKnown(exchange, tagged.ETag)) return toCacheableResponse(exchange, 304, null, tagged);
    const typed = { "Content-Type": type, ...tagged };
    if (!coding) return toCacheableResponse(exchange, 200, bytes, typed);
    const get = compressed.get(coding) ?? once(() => compressWhole(bytes, coding));
    compressed.set(coding, get);
    return get().then((body) => toCacheableResponse(exchange, 200, body, { "Content-Encoding": coding, ...typed }));
  }

  return (exchange: Exchange) => after(load(), (file) => respond(exchange, file));
}

/** A text that was made for this request. @param vary the request header field that it depends on */
export function serveMade(exchange: Exchange, { type, text }: Download, vary: string): WireResponse {
  const headers = {
    "Cache-Control": "public, no-cache",
    Vary: vary,
    "Content-Security-Policy": pagePolicy,
    ETag: `"${shortDigest(text)}"`,
  };
  if (isKnown(exchange, headers.ETag)) return toCacheableResponse(exchange, 304, null, headers);
  return toCacheableResponse(exchange, 200, text, { "Content-Type": type, ...headers });
}

function isKnown({ request }: Exchange, etag: string): boolean {
  const known = request.headers.get("if-none-match");
  return known !== null && noneMatchHits(known, etag);
}

function shortDigest(bytes: Uint8Array | string): string {
  return Bun.SHA256.hash(bytes as Uint8Array<ArrayBuffer>, "hex").slice(0, 16);
}

function toLoadedFile(content: Uint8Array | string): LoadedFile {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return { bytes, digest: shortDigest(bytes), compressed: new Map() };
}
