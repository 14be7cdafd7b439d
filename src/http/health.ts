// `/healthz` and `/readyz`: whether the process lives, and whether it can serve requests (contract section 11).

import type { Engine } from "../model/engine.ts";
import { RetryableError, unavailableError } from "../model/errors.ts";
import { systemSite } from "../model/system-site.ts";
import { type PublicRoute, publicRoute } from "./request-context.ts";
import { toTextResponse } from "./responses.ts";

/** Returns the routes. `/healthz` responds with 200 while the process lives, `/readyz` while the server is ready, otherwise with 503. */
export function healthRoutes({ readiness }: { readonly readiness: Readiness }): [string, PublicRoute][] {
  return [
    publicRoute("/healthz", (context) => toTextResponse(context, "ok\n")),
    publicRoute("/readyz", (context) => readiness.requireReady().then(() => toTextResponse(context, "ready\n"))),
  ];
}

/** Milliseconds for which the result of a check is reused. */
const resultLifetimeMs = 1000;
/**
 * Milliseconds for which a failed write makes the server unready, although checks may succeed: a check writes so little that it often still fits on a
 * full disk.
 */
const failedWriteMs = 3000;
/** Maximum milliseconds for the database to respond to a check. */
const storageTimeoutMs = 3000;
/** Maximum milliseconds for which the metrics wait for a check. */
const patienceMs = 500;

interface CheckResult {
  /** When the check started, in milliseconds since 1970. */
  readonly at: number;
  readonly result: Promise<void>;
}

/** Checks whether the server is ready for requests: its database can be read and written, and the server is not about to stop. */
export class Readiness {
  readonly #engine: Pick<Engine, "readHeads" | "probeWrite">;
  readonly #now: () => number;
  #last: CheckResult | undefined;
  #writeFailedAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #isDraining = false;
  #isReady: boolean | undefined;

  /** @param now milliseconds since 1970 */
  constructor(engine: Pick<Engine, "readHeads" | "probeWrite">, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /**
   * Requires that the server is ready. Checks the database at most once a second, for all callers together, because `/readyz` needs no key and must
   * not become a load on the database.
   * @throws RetryableError if the server is about to stop; ProblemError `unavailable` or another error if the database cannot be read and written
   */
  async requireReady(): Promise<void> {
    if (this.#isDraining) throw new RetryableError("the server is about to stop");
    const at = this.#now();
    if (Math.abs(at - this.#writeFailedAt) < failedWriteMs)
      throw unavailableError("the storage has just failed a write");
    if (this.#last === undefined || Math.abs(at - this.#last.at) >= resultLifetimeMs) {
      this.#last = { at, result: this.#checkDatabase() };
      // Callers handle a rejection. Handle it here too: a rejection that no caller awaits would end the process.
      this.#last.result.then(
        () => (this.#isReady = true),
        () => (this.#isReady = false),
      );
    }
    await this.#last.result;
  }

  /** Returns whether the server is ready, for the metrics. If the check takes over 500 ms, returns the last result; false before the first result. */
  async isReadyForMetrics(): Promise<boolean> {
    const checked = this.requireReady().then(
      () => true,
      () => false,
    );
    return Promise.race([checked, Bun.sleep(patienceMs).then(() => this.latest === true)]);
  }

  /** Whether the server was ready at the last check; undefined if it was never checked. */
  get latest(): boolean | undefined {
    return this.#isDraining ? false : this.#isReady;
  }

  /** Makes the server unready for a few seconds, because the storage has failed a write of a client. */
  reportFailedWrite(): void {
    this.#writeFailedAt = this.#now();
    this.#isReady = false;
  }

  /** Makes `/readyz` fail from now on. Resolves after `seconds` seconds: in this time, load balancers should begin to send requests elsewhere. */
  async drain(seconds: number): Promise<void> {
    this.#isDraining = true;
    await Bun.sleep(seconds * 1000);
  }

  /** Checks the database, one check at a time. Otherwise a database that does not respond would get one more check each second. */
  #checkDatabase(): Promise<void> {
    const readAndWrite = async () => {
      await this.#engine.readHeads([systemSite]);
      await this.#engine.probeWrite();
    };
    this.#running ??= readAndWrite().finally(() => (this.#running = undefined));
    return withTimeout(this.#running);
  }
}

async function withTimeout(check: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const error = unavailableError(`the storage did not respond within ${storageTimeoutMs} ms`);
  const timer = setTimeout(() => reject(error), storageTimeoutMs);
  try {
    await Promise.race([check, promise]);
  } finally {
    clearTimeout(timer);
  }
}
