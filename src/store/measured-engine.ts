import { durationBounds, Histogram } from "../lib/metrics.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";

/** The calls on which requests depend. */
const measuredCalls = [
  "heads",
  "since",
  "journal",
  "readRecord",
  "readPage",
  "readSite",
  "commit",
  "tryWrite",
] as const satisfies readonly (keyof Engine)[];

/** What the calls of one kind took, and how many of them failed. */
interface EngineCalls {
  /** In milliseconds. */
  readonly durations: Histogram;
  errors: number;
}

/** By the call's name. */
export type MeasuredCalls = ReadonlyMap<string, EngineCalls>;

/** The same engine, and what its calls took from now on, the time in which they wait for a connection or a thread included. */
export function measureEngine(engine: Engine): { engine: Engine; calls: MeasuredCalls } {
  const calls = new Map<string, EngineCalls>();
  const measured = { ...engine };
  for (const name of measuredCalls) {
    const figures = { durations: new Histogram(durationBounds), errors: 0 };
    calls.set(name, figures);
    Object.assign(measured, { [name]: measuredCall(engine[name] as (...args: unknown[]) => unknown, figures) });
  }
  return { engine: measured, calls };
}

function measuredCall(call: (...args: unknown[]) => unknown, figures: EngineCalls): (...args: unknown[]) => unknown {
  return (...args) => {
    const started = performance.now();
    const end = () => figures.durations.add(performance.now() - started);
    const fail = (error: unknown) => {
      end();
      if (isFailure(error)) figures.errors++;
    };
    let result: unknown;
    try {
      result = call(...args);
    } catch (error) {
      fail(error);
      throw error;
    }
    if (result instanceof Promise) result.then(end, fail);
    else end();
    return result;
  };
}

/** Whether the database failed, rather than refused what was asked. */
function isFailure(error: unknown): boolean {
  return !(error instanceof Refusal) || error.code === "unavailable";
}
