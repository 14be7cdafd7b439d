// Deletes the expired responses of idempotency keys. An expired response is never used, so this only frees space: it may be late,
// but must not delay writes. So it deletes small portions, each in a separate transaction, and pauses most of the time.

import type { Logger } from "pino";
import { messageOf } from "../lib/thrown.ts";
import type { Engine } from "../model/engine.ts";
import { idempotencyLifetime } from "./batch.ts";

/** Responses that one transaction deletes at most: a few milliseconds. */
const maxPortion = 250;
/** The pause between two portions: at least so many milliseconds, and so many times as long as the last portion took (a fifth of the time is work). */
const minPause = 50;
const pausesPerWork = 4;
/** Milliseconds after a round over everything, and after a failure. */
const betweenRounds = 60 * 60_000;
const afterFailure = 60_000;

interface ExpiryOptions {
  readonly log: Pick<Logger, "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly portion?: number;
  /** Milliseconds before the first portion. */
  readonly firstPause?: number;
}

interface ResponseExpiry {
  /** Waits for the portion under way; no other follows. */
  stop(): Promise<void>;
}

/** Deletes expired responses until it is stopped. Any number of processes may do so on one database. */
export function startResponseExpiry(
  engine: Pick<Engine, "deleteExpiredResponses">,
  options: ExpiryOptions,
): ResponseExpiry {
  const { log, now, portion = maxPortion, firstPause = randomized(afterFailure) } = options;
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  let isStopped = false;

  /** Deletes a portion. Returns how long to pause, in milliseconds. */
  async function work(): Promise<number> {
    const started = performance.now();
    try {
      const isMore = await engine.deleteExpiredResponses(now() - idempotencyLifetime, portion);
      if (!isMore) return randomized(betweenRounds);
      return Math.max(minPause, pausesPerWork * (performance.now() - started));
    } catch (error) {
      if (!isStopped)
        log.warn({ reason: messageOf(error) }, "could not delete the expired responses of idempotency keys");
      return randomized(afterFailure);
    }
  }

  async function run(): Promise<void> {
    await sleep(firstPause, stopped);
    while (!isStopped) await sleep(await work(), stopped);
  }

  const running = run();
  return {
    stop() {
      isStopped = true;
      stop();
      return running;
    },
  };
}

/** A quarter more or less, so that processes do not work at the same time. */
function randomized(milliseconds: number): number {
  return milliseconds * (0.75 + Math.random() / 2);
}

/** Waits that long, or until `stopped`. Does not keep the process alive. */
async function sleep(milliseconds: number, stopped: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  timer.unref();
  await Promise.race([promise, stopped]);
  clearTimeout(timer);
}
