import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { once } from "../../lib/concurrency.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";

/** Bytes that don't change while the program runs. All clients share one copy per content coding, so many slow clients take no more memory than one. */
export class StaticFile<Coding extends string> {
  /** The first 16 hexadecimal digits of the SHA-256 digest. */
  readonly digest: () => Promise<string>;
  readonly #plain: () => Promise<Uint8Array>;
  readonly #encoded: ReadonlyMap<Coding, () => Promise<Uint8Array>>;

  /**
   * @param make makes the bytes on first use. If it fails, it's called again on the next
   * @param encoders by content coding, called on first use
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

  /** @param coding undefined for none */
  bytes(coding: Coding | undefined): Promise<Uint8Array> {
    const encoded = coding === undefined ? this.#plain : this.#encoded.get(coding);
    return (encoded ?? this.#plain)();
  }
}

/** 16 hexadecimal digits are enough to tell versions of a file apart. */
function shortDigest(bytes: Uint8Array): string {
  return Bun.SHA256.hash(bytes as Uint8Array<ArrayBuffer>, "hex").slice(0, 16);
}

/** As small as possible, on another thread. */
export function gzipWhole(bytes: Uint8Array): Promise<Uint8Array> {
  return promisify(gzip)(bytes, { level: 9 });
}
