// Counts the messages that a call sends to PostgreSQL, in the log of the server.

import type { TestPostgres } from "../../test/support/postgres/server.ts";

/** Milliseconds that PostgreSQL has to write its log, and background work to be counted twice at most. */
const pauseMs = 300;
const attempts = 5;

/**
 * Returns the number of messages with statements that a call sends. Background work may send some too, so this is the smallest of several counts.
 * Notifications of commits are not counted.
 */
export async function messagesOf(postgres: TestPostgres, call: () => Promise<unknown>): Promise<number> {
  await logStatements(postgres, "all");
  try {
    const counts: number[] = [];
    for (let i = 0; i < attempts; i++) {
      const start = postgres.log().length;
      await call();
      await Bun.sleep(pauseMs);
      const lines =
        postgres
          .log()
          .slice(start)
          .match(/LOG: {2}(statement|execute).*/g) ?? [];
      counts.push(lines.filter((line) => !line.includes("pg_notify")).length);
    }
    return Math.min(...counts);
  } finally {
    await logStatements(postgres, "none");
  }
}

async function logStatements(postgres: TestPostgres, which: "all" | "none"): Promise<void> {
  await postgres.run(`alter system set log_statement = '${which}'`);
  await postgres.run("select pg_reload_conf()");
  await Bun.sleep(pauseMs);
}
