// Reads the heads of sites from a remote database, with one query at a time for all waiting requests.
//
// A linearizable read must know the head as of its arrival. A query per request would cost a round trip each, so requests that arrive during a query
// share the next one. That starts a tick after the result, or with the first request that arrives more than 1 ms after it: when thousands of clients
// disconnect, a tick takes 100 ms.
//
// Invariant: a request only gets the result of a query sent after it arrived. If a query fails, so do the requests waiting for the next one, because
// they've already waited as long as a query may take.

import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";

interface Query {
  readonly sites: Set<number>;
  readonly result: PromiseWithResolvers<HeadQueryResult>;
}

/** The result of a query, along with the catch-ups shared by its requests. */
export interface HeadQueryResult {
  readonly heads: ReadonlyMap<number, Head>;
  /** Revisions of the snapshots in memory when the query was sent, by site; 0 if a site wasn't in memory. */
  readonly knownRevisions: ReadonlyMap<number, number>;
  /** The commit generation of `SiteViews` when the query was sent. */
  readonly commitGeneration: number;
  readonly catchUpsBySite: Map<number, Promise<unknown>>;
}

/** How long a request waits while those of the last query are being answered. */
const maxYieldMs = 1;

type ReadHeads = (sites: readonly number[]) => Promise<HeadQueryResult>;

export class HeadQueries {
  readonly #readHeads: ReadHeads;
  #next: Query | undefined;
  #isReading = false;
  /** Whether the last query's requests are being answered in this tick. */
  #isYielding = false;
  /** When the last result arrived, by `performance.now()`. */
  #answeredAt = 0;

  constructor(readHeads: ReadHeads) {
    this.#readHeads = readHeads;
  }

  /** Returns the heads of `sites`, and perhaps of others, as of this call or later. @throws ProblemError `unavailable` */
  queryHeads(sites: readonly number[]): Promise<HeadQueryResult> {
    this.#next ??= { sites: new Set(), result: Promise.withResolvers() };
    for (const site of sites) this.#next.sites.add(site);
    const { promise } = this.#next.result;
    if (!this.#isReading && !this.#mustYield) void this.#runNext();
    return promise;
  }

  get #mustYield(): boolean {
    return this.#isYielding && performance.now() - this.#answeredAt < maxYieldMs;
  }

  async #runNext(): Promise<void> {
    const query = this.#takeNextQuery();
    if (!query) return;
    this.#isReading = true;
    try {
      query.result.resolve(await this.#readHeads([...query.sites]));
    } catch (error) {
      query.result.reject(error);
      // These requests have already waited as long as a query may take.
      if (error instanceof ProblemError) this.#takeNextQuery()?.result.reject(error);
    }
    this.#isReading = false;
    this.#yield();
  }

  /** Lets requests that arrive while these are answered join the next query, instead of needing another. */
  #yield(): void {
    this.#isYielding = true;
    this.#answeredAt = performance.now();
    setImmediate(() => {
      this.#isYielding = false;
      if (!this.#isReading) void this.#runNext();
    });
  }

  #takeNextQuery(): Query | undefined {
    const taken = this.#next;
    this.#next = undefined;
    return taken;
  }
}
