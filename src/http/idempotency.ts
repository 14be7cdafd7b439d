// Idempotency-Key (contract section 7). What was answered is remembered by the store, with the write itself; here is
// only what is under way.

import { Refusal } from "../model/errors.ts";
import type { Idempotency, Intent, Outcome } from "../model/write.ts";
import type { Key } from "./directory.ts";
import type { Exchange } from "./exchange.ts";

/** The idempotency that a POST asks for. @throws Refusal `bad-request` for a malformed key */
export function readIdempotency(
  { request, method, target }: Exchange,
  key: Key,
  body: Uint8Array,
): Idempotency | undefined {
  const name = request.method === "POST" ? request.fields.get("idempotency-key") : null;
  if (name === null) return undefined;
  if (!/^[\x20-\x7e]{1,255}$/.test(name)) {
    throw new Refusal("bad-request", "the Idempotency-Key must be 1 to 255 printable ASCII characters");
  }
  const asked = new Bun.CryptoHasher("sha256").update(`${method} ${target.path}?${target.query}\n`).update(body);
  return { keyId: key.id, name, digest: asked.digest("hex") };
}

export class Idempotencies {
  readonly #underWay = new Set<string>();

  /** Runs `work`, unless a request with the same idempotency key is still being answered. @throws Refusal `conflict` */
  once({ idempotency }: Intent, work: () => Promise<Outcome>): Promise<Outcome> {
    return idempotency ? this.#once(idempotency, work) : work();
  }

  async #once(idempotency: Idempotency, work: () => Promise<Outcome>): Promise<Outcome> {
    const name = `${idempotency.keyId}/${idempotency.name}`;
    if (this.#underWay.has(name)) {
      throw new Refusal("conflict", "a request with this Idempotency-Key is still being answered", { retryAfter: 1 });
    }
    this.#underWay.add(name);
    try {
      return await work();
    } finally {
      this.#underWay.delete(name);
    }
  }
}
