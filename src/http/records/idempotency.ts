// `Idempotency-Key` (contract section 7): tells requests apart by digest, and rejects a key that's in use in this process. The engine stores the first
// successful outcome in the write's transaction, and replays it.

import { createYielder } from "../../lib/yielding.ts";
import type { Idempotency } from "../../model/change.ts";
import { ProblemError } from "../../model/errors.ts";
import type { ApiKey } from "../../system/system-records.ts";
import type { BodyBytes } from "../../wire/request-body.ts";
import { parseIdempotencyName } from "../common/parameters.ts";
import type { RequestContext } from "../request-context.ts";

/**
 * Returns undefined if the request has no `Idempotency-Key`.
 * @throws ProblemError `bad-request` for a key that is not 1 to 255 printable ASCII characters
 */
export function parseIdempotency(context: RequestContext, key: ApiKey, body: BodyBytes): Idempotency | undefined {
  const name = parseIdempotencyName(context);
  if (name === undefined) return undefined;
  const digest = new Bun.CryptoHasher("sha256").update(startOf(context)).update(body.view).digest("hex");
  return { keyId: key.firstId, name, digest };
}

/** How much of a body is hashed in one step. It takes less than a millisecond. */
const hashedAtOnce = 256 << 10;

/**
 * Does the same for a batch or an undo, but yields to the event loop, because the body can be long. The digest can't match that of any other request, because
 * what's stored for a batch isn't a record.
 * @throws ProblemError `bad-request` as `parseIdempotency` does
 */
export async function parseBatchIdempotency(
  context: RequestContext,
  key: ApiKey,
  body: Uint8Array,
): Promise<Idempotency | undefined> {
  const name = parseIdempotencyName(context);
  if (name === undefined) return undefined;
  const hasher = new Bun.CryptoHasher("sha256").update(startOf(context));
  const yieldIfDue = createYielder();
  for (let start = 0; start < body.length; start += hashedAtOnce) {
    await yieldIfDue();
    hasher.update(body.subarray(start, start + hashedAtOnce));
  }
  return { keyId: key.firstId, name, digest: `batch:${hasher.digest("hex")}` };
}

/**
 * Returns what's hashed before the body. Two requests are the same if they have the same method (a POST with `X-HTTP-Method-Override: PUT` is a PUT), path,
 * query, conditions and body. Conditions are separated by CR, which headers can't contain.
 */
function startOf({ request, method, target }: RequestContext): string {
  const conditions = ["if-match", "if-none-match"].flatMap((name) => {
    const value = request.headers.get(name);
    return value === null ? [] : [`\r${name}: ${value}`];
  });
  return `${method} ${target.path}?${target.query}${conditions.join("")}\n`;
}

export class RunningIdempotencyKeys {
  readonly #running = new Set<string>();

  /** Runs `work`. @throws ProblemError `conflict` if a request with the same idempotency key is still running */
  async runUnlessRunning<T>(idempotency: Idempotency | undefined, work: () => Promise<T>): Promise<T> {
    if (!idempotency) return work();
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
