// What takes as long as the database is large: each on a connection of its own, and with time.

import type { DumpedRow } from "../../model/engine.ts";
import { type TableName, tableNames } from "../tables.ts";
import { fromPostgres } from "./errors.ts";
import type { PostgresConnection } from "./postgres-connection.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";
import { createTimeLimit } from "./time-limit.ts";

const pageSize = 1000;

/** Milliseconds for one step of something that is as long as the database is large. */
const timeout = 15 * 60_000;

/**
 * Every row of every table as of one moment, read on a connection of its own.
 * @param nameOf where a table's rows are, if not under its own name
 */
export async function* dumpRows(
  primary: Primary,
  nameOf: (table: TableName) => string = (table) => table,
): AsyncGenerator<DumpedRow> {
  const connection = await openConnection(primary);
  try {
    await step(connection, connection.script(sql.beginRead));
    for (const table of tableNames) {
      const pages = connection.pages(sql.dump(table, nameOf(table)), pageSize);
      for (;;) {
        const page = await step(connection, pages.next());
        if (page.done) break;
        for (const row of page.value) yield { table, row };
      }
    }
  } finally {
    await connection.close();
  }
}

/** A connection of its own. */
export async function openConnection(primary: Primary): Promise<PostgresConnection> {
  try {
    return await primary.connect();
  } catch (error) {
    throw fromPostgres(error);
  }
}

/** Waits for one step of `work`, until the connection is lost or the time is over. */
export async function step<T>(connection: PostgresConnection, work: Promise<T>): Promise<T> {
  const limit = createTimeLimit(timeout);
  work.catch(() => {});
  connection.onLost(limit.fail);
  try {
    return await Promise.race([work, limit.passed]);
  } catch (error) {
    throw fromPostgres(error);
  } finally {
    connection.onLost(undefined);
    limit.stop();
  }
}
