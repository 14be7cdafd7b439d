// Tells the other processes which sites have changed, by NOTIFY (https://www.postgresql.org/docs/current/sql-notify.html).
//
// Never in the transaction of the change: PostgreSQL commits transactions with notifications one at a time, in the whole database.

import { sleep } from "../../lib/background.ts";
import type { OnCommit } from "../../model/watched-engine.ts";
import { isUnsupported } from "./errors.ts";
import type { Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { commitWithoutWait } from "./transaction-end.ts";

/** Milliseconds between two notifications at least. */
const interval = 10;
/** Milliseconds without notifications after one that failed, and after one that the database does not support. */
const pauseAfterFailure = 1000;
const pauseWithoutNotify = 60_000;
/** Sites that one notification names. PostgreSQL allows less than 8000 bytes. */
const maxSites = 400;
/** Milliseconds that `close` waits for the last notification. Listeners look by themselves as often as that. */
const closeTime = 250;

export class CommitNotices {
  readonly #pool: Pool;
  readonly #followers = new Set<OnCommit>();
  /** The sites that have changed since the last notification; undefined for any. */
  #changed: Set<number> | undefined = new Set();
  #sending: Promise<void> | undefined;
  readonly #closed = Promise.withResolvers<void>();

  /** @param pool of one connection, for nothing else */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Calls `onCommit` after each commit of this process, without the database. Returns a function that ends this. */
  follow(onCommit: OnCommit): () => void {
    this.#followers.add(onCommit);
    return () => void this.#followers.delete(onCommit);
  }

  /** To be called after each commit. @param sites that it changed; undefined for any */
  note(sites: readonly number[] | undefined): void {
    for (const follower of this.#followers) follower(sites);
    if (!sites) this.#changed = undefined;
    for (const site of sites ?? []) this.#changed?.add(site);
    if (this.#changed && this.#changed.size > maxSites) this.#changed = undefined;
    this.#sending ??= this.#sendAll();
  }

  /** Waits for `work`, which may change any site, and notes that. */
  async noting<T>(work: Promise<T>): Promise<T> {
    const result = await work;
    this.note(undefined);
    return result;
  }

  /** Sends what is left, if that does not take long, and closes the connection. */
  async close(): Promise<void> {
    this.#closed.resolve();
    if (this.#sending) await sleep(closeTime, this.#sending);
    await this.#pool.close();
  }

  async #sendAll(): Promise<void> {
    while (this.#changed === undefined || this.#changed.size > 0) {
      const sites = [...(this.#changed ?? [])];
      this.#changed = new Set();
      await sleep(await this.#send(sites), this.#closed.promise);
    }
    this.#sending = undefined;
  }

  /** Returns how long to pause. What is lost is noticed when the listeners look by themselves. */
  async #send(sites: readonly number[]): Promise<number> {
    try {
      // Its commit waits for neither the disk nor a standby.
      await this.#pool.use((connection) => commitWithoutWait(connection, `begin; ${sql.notify(sites)}`));
      return interval;
    } catch (error) {
      return isUnsupported(error) ? pauseWithoutNotify : pauseAfterFailure;
    }
  }
}

/** The sites that a notification names; undefined for any. Other programs may send anything. */
export function sitesIn(payload: string): readonly number[] | undefined {
  return /^[0-9]{1,15}(, [0-9]{1,15}){0,399}$/.test(payload) ? payload.split(", ").map(Number) : undefined;
}
