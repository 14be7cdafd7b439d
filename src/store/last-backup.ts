import type { Engine } from "../model/engine.ts";

/** How long before it's read again. */
const refreshIntervalMs = 10_000;

interface BackupTime {
  /** The database's random ID (`readDatabaseId`). */
  readonly database: string;
  /** Milliseconds since 1970; 0 if there's no backup. */
  readonly at: number;
}

/** Caches when the database was last backed up, so that no caller waits for the database. */
export class LastBackup {
  readonly #engine: Pick<Engine, "readLastBackupTime" | "readDatabaseId">;
  #latest: BackupTime | undefined;
  #due = 0;

  constructor(engine: Pick<Engine, "readLastBackupTime" | "readDatabaseId">) {
    this.#engine = engine;
  }

  /** What was read last; undefined before the first read. Starts another read if it's getting old. */
  get latest(): BackupTime | undefined {
    if (performance.now() >= this.#due) this.#refresh();
    return this.#latest;
  }

  /** Runs in the background. If it fails, the earlier time stays and the next refresh tries again. */
  #refresh(): void {
    this.#due = performance.now() + refreshIntervalMs;
    this.#read().catch(() => {});
  }

  async #read(): Promise<void> {
    const at = (await this.#engine.readLastBackupTime()) ?? 0;
    this.#latest = { database: await this.#engine.readDatabaseId(), at };
  }
}
