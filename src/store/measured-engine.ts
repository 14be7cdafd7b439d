import { durationBounds, Histogram } from "../lib/metrics.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";

/** The methods that requests wait for. Their names become labels in metrics. */
const measuredCalls = [
  "readHeads",
  "readChangesSince",
  "readJournalPage",
  "readRecord",
  "readPage",
  "readRows",
  "readSite",
  "commit",
  "commitAtomically",
  "probeWrite",
] as const satisfies (keyof Engine)[];

interface EngineCalls {
  /** In milliseconds. */
  readonly durations: Histogram;
  /** Calls that failed because of the database. */
  errors: number;
}

/** By method name. */
export type MeasuredCalls = ReadonlyMap<string, EngineCalls>;

/** Wraps `engine` to measure its calls, including the time they wait for a connection or thread. */
export function measureEngine(engine: Engine): { engine: Engine; calls: MeasuredCalls } {
  const calls = new Map<string, EngineCalls>();
  const measured = { ...engine };
  for (const method of measuredCalls) {
    const figures = { durations: new Histogram(durationBounds), errors: 0 };
    calls.set(method, figures);
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

/** A ProblemError other than `unavailable` only rejects the request. */
function isFailure(error: unknown): boolean {
  return !(error instanceof ProblemError) || error.code === "unavailable";
}
