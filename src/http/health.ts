// `/healthz` and `/readyz`: whether the process is alive, and whether it can serve requests (contract section 11).

import type { Engine } from "../model/engine.ts";
import { RetryableError, unavailableError } from "../model/errors.ts";
import { systemSite } from "../model/system-site.ts";
import { type PublicRoute, publicRoute } from "./request-context.ts";
import { toTextResponse } from "./responses.ts";

/** `/healthz` returns 200 as long as the process lives, `/readyz` only while the server is ready. */
export function healthRoutes({ readiness }: { readonly readiness: Readiness }): [string, PublicRoute][] {
  return [
    publicRoute("/healthz", (context) => toTextResponse(context, "ok\n")),
    publicRoute("/readyz", (context) => readiness.requireReady().then(() => toTextResponse(context, "ready\n"))),
  ];
}

/** How long the result of a check is reused. */
const resultLifetimeMs = 1000;
/** How long a failed write makes the server unready, even if checks succeed: they write so little that it often still fits on a full disk. */
const failedWriteMs = 3000;
/** How long the database may take to respond to a check. */
const storageTimeoutMs = 3000;
/** How long metrics wait for a check. */
const patienceMs = 500;

interface CheckResult {
  /** When the check started, in milliseconds since 1970. */
  readonly at: number;
  readonly result: Promise<void>;
}

/** Whether the server is ready for requests: it can read and write its database, and isn't shutting down. */
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
   * Checks the database at most once a second, for all callers together, because `/readyz` needs no key and mustn't put a load on the database.
   * @throws RetryableError if the server is shutting down; ProblemError `unavailable` or another error if the database can't be read and written
   */
  async requireReady(): Promise<void> {
    if (this.#isDraining) throw new RetryableError("the server is shutting down");
    const at = this.#now();
    if (Math.abs(at - this.#writeFailedAt) < failedWriteMs) throw unavailableError("the storage just failed a write");
    if (this.#last === undefined || Math.abs(at - this.#last.at) >= resultLifetimeMs) {
      this.#last = { at, result: this.#checkDatabase() };
      // Callers handle a rejection, but if none is waiting any more, it would end the process.
      this.#last.result.then(
        () => (this.#isReady = true),
        () => (this.#isReady = false),
      );
    }
    await this.#last.result;
  }

  /** If the check takes over 500 ms, returns the last result, or false before the first. */
  async isReadyForMetrics(): Promise<boolean> {
    const checked = this.requireReady().then(
      () => true,
      () => false,
    );
    return Promise.race([checked, Bun.sleep(patienceMs).then(() => this.latest === true)]);
  }

  /** The result of the last check; undefined before the first. */
  get latest(): boolean | undefined {
    return this.#isDraining ? false : this.#isReady;
  }

  /** Makes the server unready for a few seconds, because a client's write failed in the storage. */
  reportFailedWrite(): void {
    this.#writeFailedAt = this.#now();
    this.#isReady = false;
  }

  /** Makes `/readyz` fail from now on, and resolves after `seconds`, by when load balancers should send requests elsewhere. */
  async drain(seconds: number): Promise<void> {
    this.#isDraining = true;
    await Bun.sleep(seconds * 1000);
  }

  /** Runs one check at a time. Otherwise, a database that doesn't respond would get another one every second. */
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
  const error = unavailableError(`the storage didn't respond within ${storageTimeoutMs} ms`);
  const timer = setTimeout(() => reject(error), storageTimeoutMs);
  try {
    await Promise.race([check, promise]);
  } finally {
    clearTimeout(timer);
  }
}
