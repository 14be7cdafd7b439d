// `/healthz` and `/readyz`.

import { after } from "../lib/maybe-promise.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal, TryAgain } from "../model/errors.ts";
import { systemSite } from "../model/limits.ts";
import { toTextResponse } from "./responses.ts";
import { type PublicRoute, publicRoute } from "./route.ts";
import type { RouteDependencies } from "./routes.ts";

/** 200 while the process lives, and while the server is ready. */
export function healthRoutes({ readiness }: Pick<RouteDependencies, "readiness">): [string, PublicRoute][] {
  return [
    publicRoute("/healthz", (exchange) => toTextResponse(exchange, "ok\n")),
    publicRoute("/readyz", (exchange) => readiness.require().then(() => toTextResponse(exchange, "ready\n"))),
  ];
}

/** Milliseconds for which a result holds. */
const lifetime = 1000;
/** Milliseconds in which the storage must respond. */
const timeout = 3000;
/** Milliseconds for which the metrics wait for a check. */
const patience = 500;

interface CheckResult {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly result: Promise<void>;
}

/** Whether a server can be sent requests: its storage can be read and written, and it is not about to stop. */
export class Readiness {
  readonly #engine: Pick<Engine, "heads" | "tryWrite">;
  readonly #now: () => number;
  #last: CheckResult | undefined;
  #running: Promise<void> | undefined;
  #isDraining = false;
  #isReady: boolean | undefined;

  /** @param now milliseconds since 1970 */
  constructor(engine: Pick<Engine, "heads" | "tryWrite">, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /**
   * Checks the storage at most once a second for all callers: this needs no key, and must not become a load.
   * @throws TryAgain when the server is about to stop, Refusal `unavailable`, or what the storage failed of
   */
  async require(): Promise<void> {
    if (this.#isDraining) throw new TryAgain("the server is about to stop");
    const at = this.#now();
    if (this.#last === undefined || Math.abs(at - this.#last.at) >= lifetime) {
      this.#last = { at, result: this.#check() };
      // The callers handle a failure. Without this, one that no caller waits for would end the process.
      this.#last.result.then(
        () => this.#note(true),
        () => this.#note(false),
      );
    }
    await this.#last.result;
  }

  /** Whether it is ready, for the metrics: as of the last check, if this one takes long. A server whose first check takes long is not. */
  async check(): Promise<boolean> {
    const checked = this.require().then(
      () => true,
      () => false,
    );
    return Promise.race([checked, Bun.sleep(patience).then(() => this.latest === true)]);
  }

  /** Whether it was ready when it was last checked; undefined if it never was. */
  get latest(): boolean | undefined {
    return this.#isDraining ? false : this.#isReady;
  }

  #note(isReady: boolean): void {
    this.#isReady = isReady;
  }

  /** Is not ready from now on. Resolves after so many seconds, in which whoever sends requests should begin to send them elsewhere. */
  async drain(seconds: number): Promise<void> {
    this.#isDraining = true;
    await Bun.sleep(seconds * 1000);
  }

  /** One check at a time. Otherwise a storage that does not respond would get one more each second. */
  #check(): Promise<void> {
    this.#running ??= readAndWrite(this.#engine).finally(() => {
      this.#running = undefined;
    });
    return inTime(this.#running);
  }
}

async function readAndWrite(engine: Pick<Engine, "heads" | "tryWrite">): Promise<void> {
  await after(engine.heads([systemSite]), () => engine.tryWrite());
}

async function inTime(check: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const error = new Refusal("unavailable", `the storage did not respond within ${timeout} ms`, { retryAfter: 1 });
  const timer = setTimeout(() => reject(error), timeout);
  try {
    await Promise.race([check, promise]);
  } finally {
    clearTimeout(timer);
  }
}
