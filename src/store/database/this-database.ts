// The database operations on what belongs to this database alone, and is in no dump: its random ID, and the time of its last backup.

import { execute, query, type Transaction } from "./transaction.ts";

/** Reads the random ID of this database. Dumps do not contain it. */
export function* readDatabaseId(): Transaction<string> {
  const [row] = yield query("select name from this_database where id = 1");
  return String(row?.name);
}

/**
 * An earlier time does not replace a later time, because two backups may end in another order than they began. A stored time in the future comes from
 * a wrong clock, and is always replaced. Otherwise it would hide missing backups.
 * @param at the time that the backup shows, in milliseconds since 1970
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
