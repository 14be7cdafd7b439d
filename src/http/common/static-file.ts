import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { once } from "../../lib/concurrency.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";

/**
 * Bytes that stay the same as long as the program runs. They are kept once per content coding, and all clients are sent the same bytes, so that many
 * slow clients take no more memory than one.
 */
export class StaticFile<Coding extends string> {
  /** Returns the first 16 hexadecimal digits of a SHA-256 digest of the bytes. */
  readonly digest: () => Promise<string>;
  readonly #plain: () => Promise<Uint8Array>;
  readonly #encoded: ReadonlyMap<Coding, () => Promise<Uint8Array>>;

  /**
   * @param make makes the bytes on first use. If it fails, the next use calls it again
   * @param encoders for each content coding, returns the bytes in this coding; called on its first use
   */
  constructor(
    make: () => MaybePromise<Uint8Array>,
    encoders: Readonly<Record<Coding, (bytes: Uint8Array) => Promise<Uint8Array>>>,
  ) {
    const plain = once(async () => make());
    this.#plain = plain;
    this.digest = once(async () => shortDigest(await plain()));
    const codings = Object.keys(encoders) as Coding[];
    this.#encoded = new Map(codings.map((coding) => [coding, once(async () => encoders[coding](await plain()))]));
  }

  /** Returns the bytes in a content coding; without one for undefined. */
  bytes(coding: Coding | undefined): Promise<Uint8Array> {
    const encoded = coding === undefined ? this.#plain : this.#encoded.get(coding);
    return (encoded ?? this.#plain)();
  }
}

/** Returns the first 16 hexadecimal digits of a SHA-256 digest, which are enough to tell versions of a file apart. */
function shortDigest(bytes: Uint8Array): string {
  return Bun.SHA256.hash(bytes as Uint8Array<ArrayBuffer>, "hex").slice(0, 16);
}

/** Compresses bytes that are kept: as small as possible, on another thread. */
export function gzipWhole(bytes: Uint8Array): Promise<Uint8Array> {
  return promisify(gzip)(bytes, { level: 9 });
}
