// Work that takes longer the larger the database is: each on a separate connection, with a long time limit.

import type { DumpedRow } from "../../model/engine.ts";
import { type TableName, tablesWith } from "../database/tables.ts";
import { createTimeLimit, type PostgresConnection, type ResultRow } from "./connection.ts";
import { fromPostgres, isDatabaseError, unknownOutcome } from "./errors.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";
import { commitTransaction } from "./transaction-end.ts";

const pageSize = 1000;

/** Milliseconds for one step of such work. */
const timeout = 15 * 60_000;

interface DumpOptions {
  /** The name of the table that has the rows, if it is another one. */
  readonly nameOf?: (table: TableName) => string;
  /** The tables that there are, if some may be missing. */
  readonly present?: readonly TableName[];
  /** Only the rows of this site. */
  readonly site?: number | undefined;
}

/** Every row of every table as of one moment, read on a separate connection. */
export async function* dumpRows(
  primary: Primary,
  { nameOf = (table) => table, present, site }: DumpOptions = {},
): AsyncGenerator<DumpedRow> {
  const connection = await openConnection(primary);
  try {
    await step(connection, connection.script(sql.beginRead));
    for (const table of tablesWith(site)) {
      if (present && !present.includes(table)) continue;
      const pages = connection.pages(sql.dump(table, nameOf(table), site), pageSize);
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

/** Opens a connection outside the pools. @throws Refusal `unavailable` */
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

/**
 * Commits, as one step. The connection is closed when the outcome is unknown: nothing else may follow then.
 * @param last as for `commitTransaction`
 */
export async function commitStep(connection: PostgresConnection, last?: string): Promise<ResultRow[][]> {
  try {
    return await step(connection, commitTransaction(connection, { committing() {} }, last));
  } catch (error) {
    if (isDatabaseError(error)) throw error;
    void connection.close();
    throw unknownOutcome(error);
  }
}
