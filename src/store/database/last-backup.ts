// The time of the last backup, in a separate table. The first backup creates the table. Backup, restore and copy leave the table out, and older
// program versions do not touch it.

import { whenResolved } from "../../lib/maybe-promise.ts";
import type { Engine } from "../../model/engine.ts";

/** The name of the table in every engine. The table has at most one row. */
export const lastBackupTable = "last_backup";
export const createLastBackup = `create table if not exists ${lastBackupTable} (id bigint primary key, at bigint not null)`;
export const selectLastBackup = `select at from ${lastBackupTable} where id = 1`;

/**
 * Returns the statement that stores the time of a backup. An earlier time does not replace a later time, because two backups may end in another
 * order than they began. A stored time in the future comes from a wrong clock, and is always replaced. Otherwise it would hide missing backups.
 * @param at the time that the backup shows, in milliseconds since 1970
 */
export function putLastBackup(at: number, now = Date.now()): string {
  const put = `insert into ${lastBackupTable} (id, at) values (1, ${Math.floor(at)}) on conflict (id) do update set at = excluded.at`;
  return `${put} where excluded.at > ${lastBackupTable}.at or ${lastBackupTable}.at > ${now}`;
}

/** Milliseconds after which the time is read again. */
const refreshIntervalMs = 10_000;

/** The time of the last backup of a database. */
export interface BackupTime {
  /** The random ID of the database (`readDatabaseId`). */
  readonly database: string;
  /** Milliseconds since 1970; 0 if no backup exists. */
  readonly at: number;
}

/** Caches the time of the last backup for some seconds, so that no caller waits for the database. */
export class LastBackup {
  readonly #engine: Pick<Engine, "readLastBackupTime" | "readDatabaseId">;
  #latest: BackupTime | undefined;
  #due = 0;

  constructor(engine: Pick<Engine, "readLastBackupTime" | "readDatabaseId">) {
    this.#engine = engine;
  }

  /** The time that was read last; undefined before the first read. Starts another read if that was too long ago. */
  get latest(): BackupTime | undefined {
    if (performance.now() >= this.#due) this.#refresh();
    return this.#latest;
  }

  /** Reads the time in the background. If that fails, the earlier time stays. */
  #refresh(): void {
    this.#due = performance.now() + refreshIntervalMs;
    try {
      const asked = whenResolved(this.#engine.readLastBackupTime(), (at = 0) =>
        whenResolved(this.#engine.readDatabaseId(), (database) => {
          this.#latest = { database, at };
        }),
      );
      if (asked instanceof Promise) asked.catch(() => {});
    } catch {
      // The next refresh tries again.
    }
  }
}
