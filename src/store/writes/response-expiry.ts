// Deletes the expired responses of idempotency keys. An expired response is never used, so deleting it only frees space. The deletion may be late, but
// must not delay writes. So each transaction deletes a small chunk, and the pauses take most of the time.

import type { Logger } from "pino";
import { type Background, startBackground, withJitter } from "../../lib/background.ts";
import { errorMessage } from "../../lib/errors-for-log.ts";
import type { Engine } from "../../model/engine.ts";
import { idempotencyLifetimeMs } from "../../model/limits.ts";

/** Maximum responses that one transaction deletes. It takes a few milliseconds. */
const maxDeletedResponses = 250;
/** Minimum pause after a transaction. */
const minExpiryPauseMs = 50;
/** The pause after a transaction, as a multiple of its duration. So the work takes at most a fifth of the time. */
const expiryPausePerWork = 4;
/** The pause after all expired responses are deleted, in milliseconds. */
const roundIntervalMs = 60 * 60_000;

interface ExpiryOptions {
  readonly log: Pick<Logger, "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Maximum responses that one transaction deletes. */
  readonly rowsPerTransaction?: number;
  /** Milliseconds before the first transaction. */
  readonly firstPauseMs?: number;
}

/** Deletes expired responses until it is stopped. Any number of processes may do this on one database. */
export function startResponseExpiry(
  engine: Pick<Engine, "deleteExpiredResponses">,
  options: ExpiryOptions,
): Background {
  const { log, now, rowsPerTransaction = maxDeletedResponses, firstPauseMs } = options;
  /** Deletes a chunk. Returns the pause after it, in milliseconds. */
  async function work(): Promise<number> {
    const started = performance.now();
    const hasMore = await engine.deleteExpiredResponses(now() - idempotencyLifetimeMs, rowsPerTransaction);
    if (!hasMore) return withJitter(roundIntervalMs);
    return Math.max(minExpiryPauseMs, expiryPausePerWork * (performance.now() - started));
  }

  const onError = (error: unknown) =>
    log.warn({ reason: errorMessage(error) }, "could not delete the expired responses of idempotency keys");
  return startBackground(work, { onError, firstPauseMs });
}
