// Deletes the expired responses of idempotency keys. An expired response is never used, so this only frees space: it may be late,
// but must not delay writes. So it deletes small portions, each in a separate transaction, and pauses most of the time.

import type { Logger } from "pino";
import { type Background, randomized, startBackground } from "../lib/background.ts";
import { messageOf } from "../lib/thrown.ts";
import type { Engine } from "../model/engine.ts";
import { idempotencyLifetime } from "./batch.ts";

/** Responses that one transaction deletes at most: a few milliseconds. */
const maxPortion = 250;
/** The pause between two portions: at least so many milliseconds, and so many times as long as the last portion took (a fifth of the time is work). */
const minExpiryPauseMs = 50;
const expiryPausePerWork = 4;
/** Milliseconds after a round over everything. */
const betweenRounds = 60 * 60_000;

interface ExpiryOptions {
  readonly log: Pick<Logger, "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly portion?: number;
  /** Milliseconds before the first portion. */
  readonly firstPause?: number;
}

/** Deletes expired responses until it is stopped. Any number of processes may do so on one database. */
export function startResponseExpiry(
  engine: Pick<Engine, "deleteExpiredResponses">,
  options: ExpiryOptions,
): Background {
  const { log, now, portion = maxPortion, firstPause } = options;
  /** Deletes a portion. Returns how long to pause, in milliseconds. */
  async function work(): Promise<number> {
    const started = performance.now();
    const isMore = await engine.deleteExpiredResponses(now() - idempotencyLifetime, portion);
    if (!isMore) return randomized(betweenRounds);
    return Math.max(minExpiryPauseMs, expiryPausePerWork * (performance.now() - started));
  }

  const onError = (error: unknown) =>
    log.warn({ reason: messageOf(error) }, "could not delete the expired responses of idempotency keys");
  return startBackground(work, { onError, firstPause });
}
