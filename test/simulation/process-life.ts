// A simulated process's life. It can be killed, frozen and stopped, and a call to the database may be the last thing it does, come back late, or fail.

import type { Engine } from "../../src/model/engine.ts";
import { RetryableError } from "../../src/model/errors.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./time.ts";

/** Probability of each failure, per call to the database. */
export interface FailureRates {
  readonly kill: number;
  readonly fail: number;
  readonly slow: number;
}

export const noFailures: FailureRates = { kill: 0, fail: 0, slow: 0 };

interface LifeOptions {
  readonly time: SimulatedTime;
  readonly random: Random;
  /** What others do while the process waits for the database. */
  readonly meanwhile: () => Promise<unknown>;
  readonly onKill: () => void;
}

const never = new Promise<never>(() => {});

type Call = (...args: readonly unknown[]) => unknown;

export class ProcessLife {
  failureRates: FailureRates = noFailures;
  /** When it was last frozen, if ever. */
  frozenAt: number | undefined;
  /** When a call to the database last failed or took long. */
  failedAt = Number.NEGATIVE_INFINITY;
  #isAlive = true;
  #thaw: PromiseWithResolvers<void> | undefined;
  readonly #options: LifeOptions;

  constructor(options: LifeOptions) {
    this.#options = options;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isFrozen(): boolean {
    return this.#thaw !== undefined;
  }

  /** Ends the process like `kill -9`: nothing it waits for comes back. */
  kill(): void {
    this.#isAlive = false;
    this.#options.onKill();
  }

  /** The process has stopped by itself. */
  end(): void {
    this.#isAlive = false;
  }

  /** Freezes it for a while, like SIGSTOP and SIGCONT. */
  freeze(milliseconds: number): void {
    if (this.#thaw) return;
    const thaw = Promise.withResolvers<void>();
    this.#thaw = thaw;
    this.frozenAt = this.#options.time.now;
    this.#options.time.after(milliseconds, () => {
      this.#thaw = undefined;
      thaw.resolve();
    });
  }

  /** Passes a result on once the process runs again, which may be never. */
  async deliver<T>(result: T): Promise<T> {
    while (this.#thaw) await this.#thaw.promise;
    return this.#isAlive ? result : never;
  }

  async whenRunning(callback: () => void): Promise<void> {
    await this.deliver(undefined);
    callback();
  }

  /** Returns `engine` with failures. The process notices commits by querying, as on PostgreSQL. */
  wrap(engine: Engine): Engine {
    const wrapped: Record<string, unknown> = {};
    for (const [name, call] of Object.entries(engine))
      wrapped[name] = typeof call === "function" ? (...args: unknown[]) => this.#call(call as Call, args) : call;
    wrapped.checkUnchanged = undefined;
    return wrapped as unknown as Engine;
  }

  async #call(call: Call, args: readonly unknown[]): Promise<unknown> {
    const { time, random, meanwhile } = this.#options;
    const { kill, fail, slow } = this.failureRates;
    if (!this.#isAlive) return never;
    await time.sleep(random.between(0, 8));
    await time.during(meanwhile);
    if (random.chance(slow)) await this.#sleep();
    await this.deliver(undefined);
    if (random.chance(kill / 2)) this.kill();
    if (!this.#isAlive) return never;
    if (random.chance(fail / 2)) throw this.#failure("the database is not there");
    const result = await time.during(() => call(...args));
    if (random.chance(slow)) await this.#sleep();
    if (random.chance(kill / 2)) this.kill();
    // The caller doesn't know the outcome.
    if (random.chance(fail / 2)) throw this.#failure("the result did not arrive");
    return this.deliver(result);
  }

  async #sleep(): Promise<void> {
    const { time, random } = this.#options;
    this.failedAt = time.now;
    await time.sleep(random.between(1, random.chance(0.1) ? 20_000 : 500));
  }

  #failure(text: string): RetryableError {
    this.failedAt = this.#options.time.now;
    return new RetryableError(text);
  }
}
