// Hears of other processes' commits (commit-notifier.ts) through LISTEN (https://www.postgresql.org/docs/current/sql-listen.html).

import { sleep, startBackground, withJitter } from "../../lib/background.ts";
import type { CommitSubscription, OnCommit } from "../../model/engine.ts";
import type { CommitNotifier } from "./commit-notifier.ts";
import { isUnsupported } from "./errors.ts";
import { Pool } from "./pool.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";

/** How long to pause after a lost connection. */
const pauseAfterLossMs = 500;
/** How long to pause if the database doesn't support LISTEN. */
const pauseWithoutListenMs = 60_000;

/** Implements `Engine.subscribeToCommits`. */
export class CommitListener {
  readonly #primary: Primary;
  readonly #notifier: CommitNotifier;
  readonly #subscriptions = new Set<CommitSubscription>();

  constructor(primary: Primary, notifier: CommitNotifier) {
    this.#primary = primary;
    this.#notifier = notifier;
  }

  start(onCommit: OnCommit): CommitSubscription {
    const unsubscribe = this.#notifier.subscribe(onCommit);
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

  /** Starts listening in the background. Returns a function to stop. */
  #listen(onCommit: OnCommit): () => void {
    // LISTEN doesn't work through a pooler that uses a different connection for each transaction: any client could get the notifications.
    if (!this.#primary.address.prepare) return () => {};
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const listening = startBackground(
      async (isStopped) => {
        try {
          await listenUntil(stopped, isStopped, this.#primary, onCommit);
          return 0;
        } catch (error) {
          return withJitter(isUnsupported(error) ? pauseWithoutListenMs : pauseAfterLossMs);
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

/** Listens on a connection of its own until `stopped` resolves. @throws if the connection is lost */
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
      // We may have missed earlier commits.
      onCommit(undefined);
      while (!isStopped()) {
        progress.restartTimeLimit();
        await sleep(primary.address.timeoutMs / 2, stopped);
        // Notices if the host has disappeared without closing the connection.
        await connection.script(sql.nothing);
      }
    });
  } finally {
    await pool.close();
  }
}

/** Returns the sites in a notification; undefined for any other text, because other programs can send notifications too. */
function sitesIn(payload: string): readonly number[] | undefined {
  return /^[0-9]{1,15}(, [0-9]{1,15}){0,399}$/.test(payload) ? payload.split(", ").map(Number) : undefined;
}
