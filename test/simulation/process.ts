// A simulated process: a runner whose calls to the database may be the last thing that it does, come back late, or fail.

import type { Engine } from "../../src/model/engine.ts";
import { RetryableError } from "../../src/model/errors.ts";
import { systemSite } from "../../src/model/system-site.ts";
import { allResources } from "../../src/resources/all.ts";
import { SiteViews } from "../../src/store/reads/site-views.ts";
import { SystemSiteIndex } from "../../src/system/system-site-index.ts";
import { WebhookRunner } from "../../src/webhooks/runner.ts";
import type { Network } from "./network.ts";
import type { PlantedFault } from "./planted-faults.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./time.ts";

export interface ProcessOptions {
  readonly engine: Engine;
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly network: Network;
  readonly plant: PlantedFault;
  /** The actions of others while a process is at work. */
  readonly meanwhile: () => Promise<unknown>;
  /** Called whenever a site may have changed, until stopped. */
  readonly onCommit: (callback: () => void) => () => void;
}

/** Probabilities of each failure, at each call to the database. */
export interface FailureRates {
  readonly kill: number;
  readonly fail: number;
  readonly slow: number;
}

export const noFailures: FailureRates = { kill: 0, fail: 0, slow: 0 };

const never = new Promise<never>(() => {});

export class SimulatedProcess {
  readonly name: string;
  failureRates: FailureRates = noFailures;
  /** When it was frozen last; undefined if it never was. */
  frozenAt: number | undefined;
  #isAlive = true;
  #thaw: PromiseWithResolvers<void> | undefined;
  readonly #options: ProcessOptions;
  readonly #runner: WebhookRunner;
  /** How many milliseconds its clock is ahead. */
  readonly skew: number;
  /** When a call to the database failed or took long last. */
  failedAt = Number.NEGATIVE_INFINITY;

  constructor(name: string, options: ProcessOptions) {
    this.name = name;
    this.#options = options;
    const { random, network } = options;
    this.skew = random.chance(0.3) ? random.whole(-3_600_000, 3_600_000) : 0;
    const engine = this.#wrapped(options.plant.engine(options.engine));
    const index = new SystemSiteIndex(allResources);
    const siteViews = new SiteViews(engine, allResources, 1_000_000);
    siteViews.subscribeToSystemSite(index);
    this.#runner = new WebhookRunner({
      engine,
      index,
      catchUpIndex: async () => siteViews.getUpToDate(systemSite),
      resources: new Map(allResources.map((resource) => [resource.name, resource])),
      send: options.plant.send(options.engine, (delivery, signal) => network.send(this, delivery, signal)),
      holder: name,
      clock: {
        now: () => options.time.now + this.skew,
        monotonicMs: () => options.time.now,
        callAfter: (milliseconds, callback) => options.time.after(milliseconds, () => void this.#whenRunning(callback)),
      },
      random: random.next,
      onAttempt: () => {},
      onPause: () => {},
      subscribeToSite: (_site, _head, onChange) => options.onCommit(() => void this.#whenRunning(onChange)),
      log: { warn: () => {} },
    });
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isFrozen(): boolean {
    return this.#thaw !== undefined;
  }

  /** Ends it as `kill -9` does: nothing that it waits for comes back. */
  kill(): void {
    this.#isAlive = false;
    this.#options.network.onKill(this);
  }

  /** Ends it as SIGTERM does. */
  async stop(): Promise<void> {
    await this.#runner.stop();
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

  async #whenRunning(callback: () => void): Promise<void> {
    await this.deliver(undefined);
    callback();
  }

  /** The engine, with failures. A process notices commits by queries, as on PostgreSQL. */
  #wrapped(engine: Engine): Engine {
    const wrapped: Record<string, unknown> = {};
    for (const [name, call] of Object.entries(engine))
      wrapped[name] = typeof call === "function" ? (...args: unknown[]) => this.#call(call as Call, args) : call;
    wrapped.checkUnchanged = undefined;
    return wrapped as unknown as Engine;
  }

  async #call(call: Call, args: readonly unknown[]): Promise<unknown> {
    const { time, random } = this.#options;
    const { kill, fail, slow } = this.failureRates;
    if (!this.#isAlive) return never;
    await time.sleep(random.between(0, 8));
    await time.during(this.#options.meanwhile);
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

type Call = (...args: readonly unknown[]) => unknown;
