// Tells the other processes which sites have changed, by NOTIFY (https://www.postgresql.org/docs/current/sql-notify.html), and listens to them.
//
// A notification is sent after the commit of the change, not in its transaction, because PostgreSQL commits transactions with notifications one at a
// time, in the whole database. So a notification can be lost. Subscribers must also check for changes from time to time (`mayMissCommits`).

import { sleep, startBackground, withJitter } from "../../lib/background.ts";
import type { CommitSubscription, OnCommit } from "../../model/engine.ts";
import { isUnsupported } from "./errors.ts";
import { Pool } from "./pool.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";
import { commitWithoutWait } from "./transaction.ts";

/** Minimum milliseconds between two notifications. */
const interval = 10;
/** Pause in milliseconds after a notification has failed; the second one if the database does not support notifications. */
const pauseAfterFailure = 1000;
const pauseWithoutNotify = 60_000;
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
      return interval;
    } catch (error) {
      return isUnsupported(error) ? pauseWithoutNotify : pauseAfterFailure;
    }
  }
}

/** Returns the sites that a notification names; undefined for any other text, because other programs can send notifications too. */
function sitesIn(payload: string): readonly number[] | undefined {
  return /^[0-9]{1,15}(, [0-9]{1,15}){0,399}$/.test(payload) ? payload.split(", ").map(Number) : undefined;
}

// Listens to the commits of other processes by LISTEN (https://www.postgresql.org/docs/current/sql-listen.html).

/** Pause in milliseconds before the next attempt to listen: after the connection was lost, and if the database does not support LISTEN. */
const pauseAfterLoss = 500;
const pauseWithoutListen = 60_000;

/** Implements `Engine.subscribeToCommits`. */
export class CommitListener {
  readonly #primary: Primary;
  readonly #notices: CommitNotifier;
  readonly #subscriptions = new Set<CommitSubscription>();

  constructor(primary: Primary, notices: CommitNotifier) {
    this.#primary = primary;
    this.#notices = notices;
  }

  start(onCommit: OnCommit): CommitSubscription {
    const unsubscribe = this.#notices.subscribe(onCommit);
    const unlisten = this.#listen(onCommit);
    const subscription = {
      mayMissCommits: true,
      stop: () => {
        unsubscribe();
        unlisten();
        this.#subscriptions.delete(subscription);
      },
    };
    this.#subscriptions.add(subscription);
    return subscription;
  }

  close(): void {
    for (const subscription of this.#subscriptions) subscription.stop();
  }

  /** Starts to listen in the background. Returns a function that stops this. */
  #listen(onCommit: OnCommit): () => void {
    // LISTEN does not work through a pooler that gives each transaction another connection: any client could get the notifications.
    if (!this.#primary.address.prepare) return () => {};
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const listening = startBackground(
      async (isStopped) => {
        try {
          await listenUntil(stopped, isStopped, this.#primary, onCommit);
          return 0;
        } catch (error) {
          return withJitter(isUnsupported(error) ? pauseWithoutListen : pauseAfterLoss);
        }
      },
      { firstPauseMs: 0, onError: () => {} },
    );
    return () => {
      void listening.stop();
      stop();
    };
  }
}

/** Listens on a separate connection until `stopped` resolves. @throws if the connection is lost */
async function listenUntil(
  stopped: Promise<void>,
  isStopped: () => boolean,
  primary: Primary,
  onCommit: OnCommit,
): Promise<void> {
  const pool = new Pool(primary, 1);
  try {
    await pool.use(async (connection, progress) => {
      connection.onNotify((payload) => onCommit(sitesIn(payload)));
      await connection.script(sql.listen);
      // Earlier commits may have been missed.
      onCommit(undefined);
      while (!isStopped()) {
        progress.restartTimeLimit();
        await sleep(primary.address.timeout / 2, stopped);
        // This detects that the host has disappeared without closing the connection.
        await connection.script(sql.nothing);
      }
    });
  } finally {
    await pool.close();
  }
}
