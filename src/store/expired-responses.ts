// Forgets what expired idempotency keys stand for. A response that has expired counts as none, so this only makes room: it may be late, and
// it must be in nobody's way. So it goes in small portions, each in a transaction of its own, and rests most of the time.

import type { Logger } from "pino";
import { messageOf } from "../lib/thrown.ts";
import type { Engine } from "../model/engine.ts";
import { idempotencyLifetime } from "./batch.ts";

/** Most responses to delete in one transaction: some milliseconds. */
const maxPortion = 250;
/** Milliseconds between two portions at least, and how many times as long as the last one took: a fifth of the time is work. */
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
  /** Waits for the portion under way; there is none after it. */
  stop(): Promise<void>;
}

/** Forgets expired responses for as long as the server runs; any number of processes may do so on one database. */
export function startResponseExpiry(
  engine: Pick<Engine, "deleteExpiredResponses">,
  options: ExpiryOptions,
): ResponseExpiry {
  const { log, now, portion = maxPortion, firstPause = randomized(afterFailure) } = options;
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  let isStopped = false;

  /** Forgets a portion, and returns how long to rest. */
  async function work(): Promise<number> {
    const started = performance.now();
    try {
      const isMore = await engine.deleteExpiredResponses(now() - idempotencyLifetime, portion);
      if (!isMore) return randomized(betweenRounds);
      return Math.max(minPause, pausesPerWork * (performance.now() - started));
    } catch (error) {
      if (!isStopped)
        log.warn({ reason: messageOf(error) }, "could not delete what expired idempotency keys stood for");
      return randomized(afterFailure);
    }
  }

  async function run(): Promise<void> {
    await sleepUntil(firstPause, stopped);
    while (!isStopped) await sleepUntil(await work(), stopped);
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

/** Not all processes at the same time. */
function randomized(milliseconds: number): number {
  return milliseconds * (0.75 + Math.random() / 2);
}

/** Waits so long, or until `stopped`; the process may end meanwhile. */
async function sleepUntil(milliseconds: number, stopped: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  timer.unref();
  await Promise.race([promise, stopped]);
  clearTimeout(timer);
}
