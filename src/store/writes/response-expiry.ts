// Deletes expired idempotency-key responses. They're never used anyway, so this only frees space: it can be late, but mustn't delay writes. So each
// transaction deletes a small chunk, and most of the time is spent pausing.

import type { Logger } from "pino";
import { type Background, startBackground, withJitter } from "../../lib/background.ts";
import { errorMessage } from "../../lib/errors-for-log.ts";
import type { Engine } from "../../model/engine.ts";
import { idempotencyLifetimeMs } from "../../model/limits.ts";

/** A transaction of this size takes a few milliseconds. */
const maxDeletedResponses = 250;
const minExpiryPauseMs = 50;
/** Pause as a multiple of the transaction's duration, so that this takes at most a fifth of the time. */
const expiryPausePerWork = 4;
/** Pause once all expired responses are gone. */
const roundIntervalMs = 60 * 60_000;

interface ExpiryOptions {
  readonly log: Pick<Logger, "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly rowsPerTransaction?: number;
  readonly firstPauseMs?: number;
}

/** Any number of processes can do this for the same database. */
export function startResponseExpiry(
  engine: Pick<Engine, "deleteExpiredResponses">,
  options: ExpiryOptions,
): Background {
  const { log, now, rowsPerTransaction = maxDeletedResponses, firstPauseMs } = options;
  /** Deletes a chunk. Returns how long to pause, in milliseconds. */
  async function work(): Promise<number> {
    const started = performance.now();
    const hasMore = await engine.deleteExpiredResponses(now() - idempotencyLifetimeMs, rowsPerTransaction);
    if (!hasMore) return withJitter(roundIntervalMs);
    return Math.max(minExpiryPauseMs, expiryPausePerWork * (performance.now() - started));
  }

  const onError = (error: unknown) =>
    log.warn({ reason: errorMessage(error) }, "could not delete expired idempotency-key responses");
  return startBackground(work, { onError, firstPauseMs });
}
