import type { Engine } from "../model/engine.ts";

/** Milliseconds after which the time is read again. */
const refreshIntervalMs = 10_000;

/** The time of the last backup of a database. */
interface BackupTime {
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
    // If it fails, the next refresh tries again.
    this.#read().catch(() => {});
  }

  async #read(): Promise<void> {
    const at = (await this.#engine.readLastBackupTime()) ?? 0;
    this.#latest = { database: await this.#engine.readDatabaseId(), at };
  }
}
