// Tells the other processes which sites have changed, by NOTIFY (https://www.postgresql.org/docs/current/sql-notify.html).
//
// A notification is sent after the commit of the change, not in its transaction, because PostgreSQL commits transactions with notifications one at a
// time, in the whole database. So a notification can be lost. Subscribers must also check for changes from time to time (`mayMissCommits`).

import { sleep } from "../../lib/background.ts";
import type { OnCommit } from "../../model/engine.ts";
import { isUnsupported } from "./errors.ts";
import type { Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { commitWithoutWait } from "./transaction.ts";

/** Minimum milliseconds between two notifications. */
const intervalMs = 10;
/** The pause after a notification has failed. */
const pauseAfterFailureMs = 1000;
/** The pause if the database does not support notifications. */
const pauseWithoutNotifyMs = 60_000;
/** Maximum sites that one notification names. PostgreSQL allows less than 8000 bytes. */
const maxSites = 400;
/** Maximum milliseconds that `close` waits for the last notification. The checks of subscribers find the change after about the same time. */
const closeTimeoutMs = 250;

export class CommitNotifier {
  readonly #pool: Pool;
  readonly #subscribers = new Set<OnCommit>();
  /** The sites that have changed since the last notification; undefined if any site may have changed. */
  #changed: Set<number> | undefined = new Set();
  #sending: Promise<void> | undefined;
  readonly #closed = Promise.withResolvers<void>();

  /** @param pool a pool of one connection, which nothing else uses */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Calls `onCommit` after each commit of this process, without a message through the database. Returns a function that unsubscribes. */
  subscribe(onCommit: OnCommit): () => void {
    this.#subscribers.add(onCommit);
    return () => void this.#subscribers.delete(onCommit);
  }

  /** Call this after each commit. @param sites the sites that the commit has changed; undefined if it may have changed any site */
  queueSites(sites: readonly number[] | undefined): void {
    for (const onCommit of this.#subscribers) onCommit(sites);
    if (!sites) this.#changed = undefined;
    for (const site of sites ?? []) this.#changed?.add(site);
    if (this.#changed && this.#changed.size > maxSites) this.#changed = undefined;
    this.#sending ??= this.#sendAll();
  }

  /** Waits for `work`, and then notifies that any site may have changed. */
  async notifyAfter<T>(work: Promise<T>): Promise<T> {
    const result = await work;
    this.queueSites(undefined);
    return result;
  }

  /** Waits a short time until the last notification is sent, and closes the connection. */
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

  /** Sends a notification. Returns the milliseconds to pause. If sending fails, subscribers find the changes when they check the next time. */
  async #send(sites: readonly number[]): Promise<number> {
    try {
      // Its commit waits for neither the disk nor a standby.
      await this.#pool.use((connection) => commitWithoutWait(connection, `begin; ${sql.notify(sites)}`));
      return intervalMs;
    } catch (error) {
      return isUnsupported(error) ? pauseWithoutNotifyMs : pauseAfterFailureMs;
    }
  }
}
