import type { Engine } from "../../model/engine.ts";
import { createLastBackup, lastBackupTable, putLastBackup, selectLastBackup } from "../last-backup.ts";
import { codeOf } from "./errors.ts";
import { madeByAnother } from "./migrate.ts";
import type { Pool } from "./pool.ts";
import type { PostgresConnection } from "./postgres-connection.ts";

/** The calls of an engine about its backups. */
export function createBackupTimes(pool: Pool): Pick<Engine, "noteBackup" | "lastBackup"> {
  return {
    noteBackup: (at) => pool.use((connection) => writeLastBackup(connection, at)),
    lastBackup: () => pool.read(readLastBackup),
  };
}

async function readLastBackup(connection: PostgresConnection): Promise<number | undefined> {
  if (!(await hasTable(connection))) return undefined;
  const [rows = []] = await connection.script(selectLastBackup);
  return rows[0]?.at;
}

async function writeLastBackup(connection: PostgresConnection, at: number): Promise<void> {
  if (!(await hasTable(connection))) await createTable(connection);
  await connection.script(putLastBackup(at));
}

async function hasTable(connection: PostgresConnection): Promise<boolean> {
  const [found] = await connection.script(`select to_regclass('${lastBackupTable}') is not null as is_there`);
  return found?.[0]?.is_there === true;
}

async function createTable(connection: PostgresConnection): Promise<void> {
  try {
    await connection.script(createLastBackup);
  } catch (error) {
    if (!madeByAnother.includes(codeOf(error))) throw error;
  }
}
