// Asks a remote database for the heads of sites, with one query at a time for all requests that wait.
//
// A linearizable read must know the head as of its arrival. One query per request would cost a round trip each. So requests that arrive
// while a query is in flight share the next query. That query starts a tick after the result of the first, or with the first request that arrives
// 1 ms after it: when thousands of clients disconnect, a tick takes 100 ms.
//
// Invariant: a request gets only results of queries that were sent after it arrived. If a query fails, the requests that wait for the next
// one fail too, because they have already waited as long as a query may take.

import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";

/** One query for the heads of sites, shared by all requests that wait for its result. */
interface Query {
  readonly sites: Set<number>;
  readonly result: PromiseWithResolvers<HeadQueryResult>;
}

/** The result of one head query, and the catch-up that its requests share, by site. */
export interface HeadQueryResult {
  readonly heads: ReadonlyMap<number, Head>;
  /** The revisions of the snapshots in memory when the query was sent, by site; 0 for a site that was not in memory. */
  readonly knownRevisions: ReadonlyMap<number, number>;
  /** The commit generation of `SiteViews` when the query was sent. */
  readonly commitGeneration: number;
  readonly catchUpsBySite: Map<number, Promise<unknown>>;
}

/** Maximum milliseconds for which a request waits because those of the last query are being answered. */
const maxYieldMs = 1;

/** Reads the heads of sites at the moment of the call. */
type ReadHeads = (sites: readonly number[]) => Promise<HeadQueryResult>;

export class HeadQueries {
  readonly #readHeads: ReadHeads;
  #next: Query | undefined;
  #isReading = false;
  /** Whether the requests of the last query have their result in this tick. */
  #isYielding = false;
  /** When the last result arrived, in milliseconds as of `performance.now()`. */
  #answeredAt = 0;

  constructor(readHeads: ReadHeads) {
    this.#readHeads = readHeads;
  }

  /** Returns the heads of `sites`, and perhaps of other sites, as of this call or later. @throws ProblemError `unavailable` */
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
      // Reject the next query too, because its requests have already waited as long as a query may take.
      if (error instanceof ProblemError) this.#takeNextQuery()?.result.reject(error);
    }
    this.#isReading = false;
    this.#yield();
  }

  /** Yields, so that requests that arrive while these are answered can join the next query. Otherwise they would need another query. */
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
