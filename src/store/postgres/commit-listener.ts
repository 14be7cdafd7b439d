// Tells the other processes which sites have changed, by NOTIFY (https://www.postgresql.org/docs/current/sql-notify.html).
//
// Never in the transaction of the change: PostgreSQL commits transactions with notifications one at a time, in the whole database.

import { randomized, sleep, startBackground } from "../../lib/background.ts";
import type { CommitWatch, OnCommit } from "../../model/engine.ts";
import { isUnsupported } from "./errors.ts";
import { Pool } from "./pool.ts";
import type { Primary } from "./primary.ts";
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
function sitesIn(payload: string): readonly number[] | undefined {
  return /^[0-9]{1,15}(, [0-9]{1,15}){0,399}$/.test(payload) ? payload.split(", ").map(Number) : undefined;
}

// Hears of the commits of other processes by LISTEN (https://www.postgresql.org/docs/current/sql-listen.html).

/** Milliseconds before another attempt, when the connection was lost, and when the database has no LISTEN. */
const pauseAfterLoss = 500;
const pauseWithoutListen = 60_000;

/** See `Engine.watchCommits`. */
export class CommitWatches {
  readonly #primary: Primary;
  readonly #notices: CommitNotices;
  readonly #watches = new Set<CommitWatch>();

  constructor(primary: Primary, notices: CommitNotices) {
    this.#primary = primary;
    this.#notices = notices;
  }

  start(onCommit: OnCommit): CommitWatch {
    const unfollow = this.#notices.follow(onCommit);
    const unlisten = this.#listen(onCommit);
    const watch = {
      mayMiss: true,
      stop: () => {
        unfollow();
        unlisten();
        this.#watches.delete(watch);
      },
    };
    this.#watches.add(watch);
    return watch;
  }

  close(): void {
    for (const watch of this.#watches) watch.stop();
  }

  /** Returns a function that ends it. */
  #listen(onCommit: OnCommit): () => void {
    // A pooler that gives each transaction another connection has no LISTEN: the notifications would go to any client, or none.
    if (!this.#primary.address.prepare) return () => {};
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const listening = startBackground(
      async (isStopped) => {
        try {
          await listenUntil(stopped, isStopped, this.#primary, onCommit);
          return 0;
        } catch (error) {
          return randomized(isUnsupported(error) ? pauseWithoutListen : pauseAfterLoss);
        }
      },
      { firstPause: 0, onError: () => {} },
    );
    return () => {
      void listening.stop();
      stop();
    };
  }
}

/** Listens until `stopped`, on a connection of its own. @throws when it is lost */
async function listenUntil(
  stopped: Promise<void>,
  isStopped: () => boolean,
  primary: Primary,
  onCommit: OnCommit,
): Promise<void> {
  const pool = new Pool(primary, 1);
  try {
    await pool.use(async (connection, lease) => {
      connection.onNotify((payload) => onCommit(sitesIn(payload)));
      await connection.script(sql.listen);
      // Notifications were missed until now.
      onCommit(undefined);
      while (!isStopped()) {
        lease.more();
        await sleep(primary.address.timeout / 2, stopped);
        // A host that is gone without a word is noticed.
        await connection.script(sql.nothing);
      }
    });
  } finally {
    await pool.close();
  }
}
