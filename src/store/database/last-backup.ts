// When the last backup was made. It is in a table beside the others, which the first backup creates: it is not part of what is backed up,
// restored or copied, and programs that do not know it leave it alone.

import { after } from "../../lib/maybe-promise.ts";
import type { Engine } from "../../model/engine.ts";

/** The table, the same in every engine. It has at most one row. */
export const lastBackupTable = "last_backup";
export const createLastBackup = `create table if not exists ${lastBackupTable} (id bigint primary key, at bigint not null)`;
export const selectLastBackup = `select at from ${lastBackupTable} where id = 1`;

/**
 * A backup that ends later than another one may be as of an earlier time. But a time in the future was stored under a wrong clock, and any other replaces
 * it: otherwise it would hide for as long as the clock was ahead that no backup is made.
 * @param at milliseconds since 1970
 */
export function putLastBackup(at: number, now = Date.now()): string {
  const put = `insert into ${lastBackupTable} (id, at) values (1, ${Math.floor(at)}) on conflict (id) do update set at = excluded.at`;
  return `${put} where excluded.at > ${lastBackupTable}.at or ${lastBackupTable}.at > ${now}`;
}

/** Milliseconds after which the store is asked again. */
const interval = 10_000;

/** When the last backup of a database was made. */
export interface BackupTime {
  /** The name by which the database knows itself. */
  readonly database: string;
  /** Milliseconds since 1970; 0 when there is no backup. */
  readonly at: number;
}

/** When the last backup was made, as of some seconds ago: no one waits for the store. */
export class LastBackup {
  readonly #engine: Pick<Engine, "lastBackup" | "databaseIdentity">;
  #latest: BackupTime | undefined;
  #due = 0;

  constructor(engine: Pick<Engine, "lastBackup" | "databaseIdentity">) {
    this.#engine = engine;
  }

  /** Undefined when the store has not told yet. */
  get latest(): BackupTime | undefined {
    if (performance.now() >= this.#due) this.#ask();
    return this.#latest;
  }

  /** What the store told before stays while it cannot be asked. */
  #ask(): void {
    this.#due = performance.now() + interval;
    try {
      const asked = after(this.#engine.lastBackup(), (at = 0) =>
        after(this.#engine.databaseIdentity(), (database) => {
          this.#latest = { database, at };
        }),
      );
      if (asked instanceof Promise) asked.catch(() => {});
    } catch {
      // Asked again later.
    }
  }
}
