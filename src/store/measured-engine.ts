import { durationBounds, Histogram } from "../lib/metrics.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";

/** The methods of the engine that are measured, because requests wait for them. The names are labels of metrics. */
const measuredCalls = {
  readHeads: "heads",
  readChangesSince: "since",
  readJournalPage: "journal",
  readRecord: "readRecord",
  readPage: "readPage",
  readSite: "readSite",
  commit: "commit",
  probeWrite: "tryWrite",
} as const satisfies Partial<Record<keyof Engine, string>>;

/** The measurements of one method. */
interface EngineCalls {
  /** In milliseconds. */
  readonly durations: Histogram;
  /** Number of calls that failed because of the database. */
  errors: number;
}

/** By the name of the method. */
export type MeasuredCalls = ReadonlyMap<string, EngineCalls>;

/** Wraps `engine` to measure its calls. The durations include waiting for a connection or thread. */
export function measureEngine(engine: Engine): { engine: Engine; calls: MeasuredCalls } {
  const calls = new Map<string, EngineCalls>();
  const measured = { ...engine };
  for (const [method, label] of Object.entries(measuredCalls) as [keyof typeof measuredCalls, string][]) {
    const figures = { durations: new Histogram(durationBounds), errors: 0 };
    calls.set(label, figures);
    Object.assign(measured, { [method]: measuredCall(engine[method] as Call, figures) });
  }
  return { engine: measured, calls };
}

type Call = (...args: unknown[]) => Promise<unknown>;

function measuredCall(call: Call, figures: EngineCalls): Call {
  return async (...args) => {
    const started = performance.now();
    try {
      return await call(...args);
    } catch (error) {
      if (isFailure(error)) figures.errors++;
      throw error;
    } finally {
      figures.durations.add(performance.now() - started);
    }
  };
}

/** Whether `error` is a failure of the database. A ProblemError with another code than `unavailable` only rejects the request. */
function isFailure(error: unknown): boolean {
  return !(error instanceof ProblemError) || error.code === "unavailable";
}

// The time of the last backup.

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
    // If it fails, the next refresh tries again.
    this.#read().catch(() => {});
  }

  async #read(): Promise<void> {
    const at = (await this.#engine.readLastBackupTime()) ?? 0;
    this.#latest = { database: await this.#engine.readDatabaseId(), at };
  }
}
