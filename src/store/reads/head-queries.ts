import { eventLoopTurn } from "../../lib/event-loop.ts";
import type { Engine, Head } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";

/** One query for the heads of sites, shared by all requests that wait for it. */
interface Query {
  readonly sites: Set<number>;
  readonly result: PromiseWithResolvers<QueriedHeads>;
}

/** The heads of the sites at a moment after all these requests arrived, and the work that they share because of it. */
export interface QueriedHeads {
  readonly heads: ReadonlyMap<number, Head>;
  readonly shared: Map<number, Promise<unknown>>;
}

/**
 * Queries the store for the heads of sites, one query at a time. A query serves all requests that arrived before it was
 * sent. Those that arrive while it runs share the next one, which is sent a turn of the event loop after its result came.
 */
export class SharedHeads {
  readonly #engine: Engine;
  #next: Query | undefined;
  #isRunning = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The heads of `sites` and others, as of this call or later. @throws Refusal `unavailable` */
  headsOf(sites: readonly number[]): Promise<QueriedHeads> {
    this.#next ??= { sites: new Set(), result: Promise.withResolvers() };
    for (const site of sites) this.#next.sites.add(site);
    const { promise } = this.#next.result;
    if (!this.#isRunning) void this.#queryAll();
    return promise;
  }

  async #queryAll(): Promise<void> {
    this.#isRunning = true;
    for (let query = this.#take(); query; query = this.#take()) {
      try {
        const sites = [...query.sites];
        const heads = await this.#engine.heads(sites);
        query.result.resolve({
          heads: new Map(sites.map((site, i) => [site, heads[i] as Head])),
          shared: new Map(),
        });
      } catch (error) {
        query.result.reject(error);
        // The requests that wait for the next query have already waited as long as a query may take.
        if (error instanceof Refusal) this.#take()?.result.reject(error);
      }
      // All that arrived while these requests were answered shares the next query, and does not wait for one more.
      await eventLoopTurn();
    }
    this.#isRunning = false;
  }

  #take(): Query | undefined {
    const taken = this.#next;
    this.#next = undefined;
    return taken;
  }
}
