// Tells other processes which sites have changed, through NOTIFY (https://www.postgresql.org/docs/current/sql-notify.html).
//
// A notification is sent after the change is committed, not in its transaction, because PostgreSQL commits transactions with notifications one at a
// time across the whole database. So notifications can be lost, and subscribers must also check for changes from time to time (`mayMissCommits`).

import { sleep } from "../../lib/background.ts";
import type { OnCommit } from "../../model/engine.ts";
import { isUnsupported } from "./errors.ts";
import type { Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { commitWithoutWait } from "./transaction.ts";

/** Minimum time between two notifications. */
const intervalMs = 10;
const pauseAfterFailureMs = 1000;
/** How long to pause if the database doesn't support notifications. */
const pauseWithoutNotifyMs = 60_000;
/** Maximum sites in a notification, which PostgreSQL limits to less than 8000 bytes. */
const maxSites = 400;
/** How long `close` waits for the last notification. It takes subscribers about as long to find the change by checking. */
const closeTimeoutMs = 250;

export class CommitNotifier {
  readonly #pool: Pool;
  readonly #subscribers = new Set<OnCommit>();
  /** Sites changed since the last notification; undefined if it could be any. */
  #changed: Set<number> | undefined = new Set();
  #sending: Promise<void> | undefined;
  readonly #closed = Promise.withResolvers<void>();

  /** @param pool a pool of one connection, for this alone */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Calls `onCommit` after each commit of this process, without a message through the database. Returns a function to unsubscribe. */
  subscribe(onCommit: OnCommit): () => void {
    this.#subscribers.add(onCommit);
    return () => void this.#subscribers.delete(onCommit);
  }

  /** Call this after each commit. @param sites those it changed; undefined if it could be any */
  queueSites(sites: readonly number[] | undefined): void {
    for (const onCommit of this.#subscribers) onCommit(sites);
    if (!sites) this.#changed = undefined;
    for (const site of sites ?? []) this.#changed?.add(site);
    if (this.#changed && this.#changed.size > maxSites) this.#changed = undefined;
    this.#sending ??= this.#sendAll();
  }

  /** Waits for `work`, then notifies that any site may have changed. */
  async notifyAfter<T>(work: Promise<T>): Promise<T> {
    const result = await work;
    this.queueSites(undefined);
    return result;
  }

  /** Gives the last notification a moment to be sent, then closes the connection. */
  async close(): Promise<void> {
    this.#closed.resolve();
    if (this.#sending) await sleep(closeTimeoutMs, this.#sending);
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

  /** Returns how long to pause, in milliseconds. If sending fails, subscribers find the changes when they next check. */
  async #send(sites: readonly number[]): Promise<number> {
    try {
      // Doesn't wait for the disk or a standby.
      await this.#pool.use((connection) => commitWithoutWait(connection, `begin; ${sql.notify(sites)}`));
      return intervalMs;
    } catch (error) {
      return isUnsupported(error) ? pauseWithoutNotifyMs : pauseAfterFailureMs;
    }
  }
}
