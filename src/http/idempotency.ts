// `Idempotency-Key` (contract section 7): which requests are the same, and which are running in this process. The store remembers the
// first outcome, in the transaction of the write.

import { Refusal } from "../model/errors.ts";
import type { Idempotency, Intent, Outcome } from "../model/intent.ts";
import type { BodyBytes } from "../wire/body-bytes.ts";
import type { Key } from "./directory.ts";
import type { Exchange } from "./exchange.ts";

/**
 * The idempotency that a write asks for; undefined without the header.
 * @throws Refusal `bad-request` for a key that is not 1 to 255 printable ASCII characters
 */
export function readIdempotency(exchange: Exchange, key: Key, body: BodyBytes): Idempotency | undefined {
  const name = exchange.request.headers.get("idempotency-key");
  if (name === null) return undefined;
  if (!/^[\x20-\x7e]{1,255}$/.test(name)) {
    throw new Refusal("bad-request", "the Idempotency-Key must be 1 to 255 printable ASCII characters");
  }
  return { keyId: key.id, name, digest: digestOf(exchange, body) };
}

/**
 * Two requests are the same if these are: the effective method (a POST with `X-HTTP-Method-Override: PUT` is a PUT), path, query,
 * conditions and body. CR separates the conditions; a header field cannot contain it.
 */
function digestOf({ request, method, target }: Exchange, body: BodyBytes): string {
  const conditions = ["if-match", "if-none-match"].flatMap((name) => {
    const value = request.headers.get(name);
    return value === null ? [] : [`\r${name}: ${value}`];
  });
  const start = `${method} ${target.path}?${target.query}${conditions.join("")}\n`;
  return new Bun.CryptoHasher("sha256").update(start).update(body.view).digest("hex");
}

export class Idempotencies {
  readonly #running = new Set<string>();

  /** Runs `work`, unless a request with the same idempotency key is still running. @throws Refusal `conflict` */
  once({ idempotency }: Intent, work: () => Promise<Outcome>): Promise<Outcome> {
    return idempotency ? this.#once(idempotency, work) : work();
  }

  async #once(idempotency: Idempotency, work: () => Promise<Outcome>): Promise<Outcome> {
    const name = `${idempotency.keyId}/${idempotency.name}`;
    if (this.#running.has(name)) {
      throw new Refusal("conflict", "a request with this Idempotency-Key is still running", { retryAfter: 1 });
    }
    this.#running.add(name);
    try {
      return await work();
    } finally {
      this.#running.delete(name);
    }
  }
}
