// Implements `Idempotency-Key` (contract section 7): compares requests by digest, and rejects a key that is in use in this process. The engine
// stores the first successful outcome in the transaction of the write, and replays it.

import type { Idempotency, Intent, Outcome } from "../../model/change.ts";
import { ProblemError } from "../../model/errors.ts";
import type { ApiKey } from "../../system/system-records.ts";
import type { BodyBytes } from "../../wire/request-body.ts";
import type { RequestContext } from "../request-context.ts";

/**
 * Returns the name of the `Idempotency-Key` and the digest of the request; undefined without that header.
 * @throws ProblemError `bad-request` for a key that is not 1 to 255 printable ASCII characters
 */
export function parseIdempotency(context: RequestContext, key: ApiKey, body: BodyBytes): Idempotency | undefined {
  const name = context.request.headers.get("idempotency-key");
  if (name === null) return undefined;
  if (!/^[\x20-\x7e]{1,255}$/.test(name)) {
    throw new ProblemError("bad-request", "the Idempotency-Key must be 1 to 255 printable ASCII characters");
  }
  return { keyId: key.id, name, digest: digestOf(context, body) };
}

/**
 * Returns the digest by which a repeated request is recognized. Two requests are the same if they have the same effective method (a POST with
 * `X-HTTP-Method-Override: PUT` is a PUT), path, query, conditions and body. A CR separates the conditions, because no header field can contain it.
 */
function digestOf({ request, method, target }: RequestContext, body: BodyBytes): string {
  const conditions = ["if-match", "if-none-match"].flatMap((name) => {
    const value = request.headers.get(name);
    return value === null ? [] : [`\r${name}: ${value}`];
  });
  const start = `${method} ${target.path}?${target.query}${conditions.join("")}\n`;
  return new Bun.CryptoHasher("sha256").update(start).update(body.view).digest("hex");
}

/** The idempotency keys of the writes that are running in this process. */
export class RunningIdempotencyKeys {
  readonly #running = new Set<string>();

  /** Runs `work`. @throws ProblemError `conflict` if a request with the same idempotency key is still running */
  runUnlessRunning({ idempotency }: Intent, work: () => Promise<Outcome>): Promise<Outcome> {
    return idempotency ? this.#once(idempotency, work) : work();
  }

  async #once(idempotency: Idempotency, work: () => Promise<Outcome>): Promise<Outcome> {
    const name = `${idempotency.keyId}/${idempotency.name}`;
    if (this.#running.has(name)) {
      throw new ProblemError("conflict", "a request with this Idempotency-Key is still running", {
        retryAfterSeconds: 1,
      });
    }
    this.#running.add(name);
    try {
      return await work();
    } finally {
      this.#running.delete(name);
    }
  }
}
