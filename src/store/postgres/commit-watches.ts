// Hears of the commits of other processes by LISTEN (https://www.postgresql.org/docs/current/sql-listen.html).

import { randomized, sleep, startBackground } from "../../lib/background.ts";
import type { CommitWatch, OnCommit } from "../../model/watched-engine.ts";
import { type CommitNotices, sitesIn } from "./commit-notices.ts";
import { isUnsupported } from "./errors.ts";
import { Pool } from "./pool.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";

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
