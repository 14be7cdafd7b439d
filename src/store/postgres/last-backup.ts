import type { Engine } from "../../model/engine.ts";
import { createLastBackup, lastBackupTable, putLastBackup, selectLastBackup } from "../database/last-backup.ts";
import type { PostgresConnection } from "./connection.ts";
import { codeOf } from "./errors.ts";
import { madeByAnother } from "./migrate.ts";
import type { Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { commitTransaction, commitWithoutWait } from "./transaction-end.ts";

/** Creates the calls that save and read the time of the last backup. @param timeout the time limit of the pool, in milliseconds */
export function createBackupTimes(pool: Pool, timeout: number): Pick<Engine, "saveBackupTime" | "readLastBackupTime"> {
  return {
    saveBackupTime: (at) =>
      pool.commit(async (connection, lease) => {
        if (!(await hasTable(connection))) await createTable(connection);
        await commitTransaction(connection, lease, `${sql.begin(timeout)}; ${putLastBackup(at)}`);
      }),
    readLastBackupTime: () => pool.read(readLastBackup),
  };
}

async function readLastBackup(connection: PostgresConnection): Promise<number | undefined> {
  if (!(await hasTable(connection))) return undefined;
  const [rows = []] = await connection.script(selectLastBackup);
  return rows[0]?.at;
}

async function hasTable(connection: PostgresConnection): Promise<boolean> {
  const [found] = await connection.script(`select to_regclass('${lastBackupTable}') is not null as is_there`);
  return found?.[0]?.is_there === true;
}

async function createTable(connection: PostgresConnection): Promise<void> {
  try {
    // This commit need not wait: the time is committed after it, and that commit makes the table durable too.
    await commitWithoutWait(connection, `begin; ${createLastBackup}`);
  } catch (error) {
    if (!madeByAnother.includes(codeOf(error))) throw error;
    await connection.script("rollback");
  }
}
