// Work that takes longer the larger the database is, such as a dump. It uses a separate connection, and has a long time limit for each step.

import type { DumpedRow } from "../../model/engine.ts";
import { type TableName, tablesWith } from "../database/tables.ts";
import { createTimeLimit, type PostgresConnection, type ResultRow } from "./connection.ts";
import { fromPostgres, isDatabaseError, unknownOutcomeError } from "./errors.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";
import { commitTransaction } from "./transaction.ts";

/** Rows that one step of a dump reads. */
const pageSize = 1000;

/** Time limit of one step, in milliseconds. */
const timeout = 15 * 60_000;

interface DumpOptions {
  /** Returns the name under which the database has a table; by default, the name of the table itself. */
  readonly nameOf?: (table: TableName) => string;
  /** The tables that exist; by default, all of them. */
  readonly present?: readonly TableName[];
  /** The site to read; by default, all sites. */
  readonly site?: number | undefined;
}

/** Reads every row of every table as of one moment, on a separate connection. */
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

/** Opens a connection outside the pools. @throws ProblemError `unavailable` */
export async function openConnection(primary: Primary): Promise<PostgresConnection> {
  try {
    return await primary.connect();
  } catch (error) {
    throw fromPostgres(error);
  }
}

/** Waits for `work`, which is one step. @throws ProblemError `unavailable` if the connection is lost or the time limit passes */
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
 * Commits, as one step. If the outcome is unknown, closes the connection, because nothing may be sent after that.
 * @param last as for `commitTransaction`
 */
export async function commitStep(connection: PostgresConnection, last?: string): Promise<ResultRow[][]> {
  try {
    return await step(connection, commitTransaction(connection, { markCommitting() {} }, last));
  } catch (error) {
    if (isDatabaseError(error)) throw error;
    void connection.close();
    throw unknownOutcomeError(error);
  }
}
