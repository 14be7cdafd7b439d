// Database operations on what belongs to this database only and isn't in dumps: its random ID, and the time of its last backup.

import { execute, query, type Transaction } from "./transaction.ts";

export function* readDatabaseId(): Transaction<string> {
  const [row] = yield query("select name from this_database where id = 1");
  return String(row?.name);
}

/**
 * An earlier time doesn't replace a later one, because backups may not finish in the order they started. But a stored time that's in the future came
 * from a wrong clock. It's always replaced, or it would hide missing backups.
 * @param at the moment captured by the backup, in milliseconds since 1970
 */
export function* saveBackupTime(at: number, now = Date.now()): Transaction<void> {
  yield execute(
    `update this_database set last_backup = :at
where id = 1 and (last_backup is null or last_backup < :at or last_backup > :now)`,
    { at: Math.floor(at), now },
  );
}

export function* readLastBackupTime(): Transaction<number | undefined> {
  const [row] = yield query("select last_backup from this_database where id = 1");
  return (row?.last_backup as number | null) ?? undefined;
}
