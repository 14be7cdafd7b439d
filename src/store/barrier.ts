import type { Engine, Head } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";

/** One question to the store, and everyone who waits for its answer. */
interface Question {
  readonly sites: Set<number>;
  readonly answer: PromiseWithResolvers<BarrierResult>;
}

/** Where the sites stood at a moment after everyone had asked, and a place to share what follows from it. */
export interface BarrierResult {
  readonly heads: ReadonlyMap<number, Head>;
  readonly shared: Map<number, Promise<unknown>>;
}

/**
 * Asks a store that is far away where sites stand: one question at a time, which serves all requests that arrived before
 * it was sent. Those that arrive while it is under way share the next one.
 */
export class Barrier {
  readonly #engine: Engine;
  #next: Question | undefined;
  #asking = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Where `sites` and others stand, as of now or later. @throws Refusal `unavailable` */
  ask(sites: readonly number[]): Promise<BarrierResult> {
    this.#next ??= { sites: new Set(), answer: Promise.withResolvers() };
    for (const site of sites) this.#next.sites.add(site);
    const { promise } = this.#next.answer;
    if (!this.#asking) void this.#askAll();
    return promise;
  }

  async #askAll(): Promise<void> {
    this.#asking = true;
    for (let question = this.#take(); question; question = this.#take()) {
      try {
        const sites = [...question.sites];
        const heads = await this.#engine.heads(sites);
        question.answer.resolve({
          heads: new Map(sites.map((site, i) => [site, heads[i] as Head])),
          shared: new Map(),
        });
      } catch (error) {
        question.answer.reject(error);
        // Those who wait for the next question have waited as long as a store may take already.
        if (error instanceof Refusal) this.#take()?.answer.reject(error);
      }
    }
    this.#asking = false;
  }

  #take(): Question | undefined {
    const taken = this.#next;
    this.#next = undefined;
    return taken;
  }
}
