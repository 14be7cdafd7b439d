// The life of a simulated process: it can be killed, frozen and stopped, and its calls to the database may be the last thing that it does, come back
// late, or fail.

import type { Engine } from "../../src/model/engine.ts";
import { RetryableError } from "../../src/model/errors.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./time.ts";

/** Probabilities of each failure, at each call to the database. */
export interface FailureRates {
  readonly kill: number;
  readonly fail: number;
  readonly slow: number;
}

export const noFailures: FailureRates = { kill: 0, fail: 0, slow: 0 };

interface LifeOptions {
  readonly time: SimulatedTime;
  readonly random: Random;
  /** The actions of others while the process waits for the database. */
  readonly meanwhile: () => Promise<unknown>;
  readonly onKill: () => void;
}

const never = new Promise<never>(() => {});

type Call = (...args: readonly unknown[]) => unknown;

export class ProcessLife {
  failureRates: FailureRates = noFailures;
  /** When it was frozen last; undefined if it never was. */
  frozenAt: number | undefined;
  /** When a call to the database failed or took long last. */
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

  /** Ends the process as `kill -9` does: nothing that it waits for comes back. */
  kill(): void {
    this.#isAlive = false;
    this.#options.onKill();
  }

  /** Marks the end of a process that has stopped by itself. */
  end(): void {
    this.#isAlive = false;
  }

  /** Stops it for some time, as SIGSTOP and SIGCONT do. */
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

  /** Passes a result on when the process runs; never if it does not any more. */
  async deliver<T>(result: T): Promise<T> {
    while (this.#thaw) await this.#thaw.promise;
    return this.#isAlive ? result : never;
  }

  async whenRunning(callback: () => void): Promise<void> {
    await this.deliver(undefined);
    callback();
  }

  /** Returns `engine` with failures. The process notices commits by queries, as on PostgreSQL. */
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
    // The outcome is unknown to the caller.
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
