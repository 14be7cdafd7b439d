// Progress of commands on the whole database, on a terminal: rows, and a bar where their number is known.

import type { SingleBar } from "cli-progress";
import type { DumpedRow } from "../model/dump.ts";
import type { Engine } from "../model/engine.ts";

interface Progress {
  /** Shows how many rows of a step are done. @param total of its rows, if that is known */
  show(step: string, rows: number, total?: number): void;
  /** Removes what is shown. */
  stop(): void;
}

/** Rows between two calls of `show`. With fewer, a command shows nothing. */
const interval = 1000;

/** Runs a command that shows its progress on a terminal, and nothing elsewhere. */
export async function whileShowing<T>(work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = process.stderr.isTTY ? await openProgress() : { show() {}, stop() {} };
  try {
    return await work(progress);
  } finally {
    progress.stop();
  }
}

async function openProgress(): Promise<Progress> {
  const { SingleBar } = await import("cli-progress");
  let shown: { readonly step: string; readonly bar: SingleBar } | undefined;
  const stop = () => {
    shown?.bar.stop();
    shown = undefined;
  };
  return {
    show(step, rows, total) {
      if (shown?.step !== step) {
        stop();
        const format = total ? "{step} [{bar}] {percentage}%, {eta_formatted} left" : "{step}: {value} rows";
        const bar = new SingleBar({ format, clearOnComplete: true, stream: process.stderr });
        bar.start(total ?? 0, 0, { step });
        shown = { step, bar };
      }
      shown.bar.update(rows);
    },
    stop,
  };
}

/** The same engine, which shows the rows that it reads, stores and checks. @param total the rows that are stored, if that is known */
export function showingRows(engine: Engine, { show }: Progress, total?: number): Engine {
  return {
    ...engine,
    dump: (site) => countedRows(engine.dump(site), (rows) => show("reading", rows)),
    refill: (rows, save, amend) =>
      engine.refill(
        countedRows(rows, (count) => show("storing", count, total)),
        save && ((replaced) => save(countedRows(replaced, (count) => show("saving the previous content", count)))),
        amend,
      ),
    check: () => engine.check(countRows((count) => show("checking", count))),
  };
}

/** The same rows. Calls `onRows` with their number so far from time to time. */
async function* countedRows(
  rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>,
  onRows: (rows: number) => void,
): AsyncGenerator<DumpedRow> {
  const count = countRows(onRows);
  for await (const row of rows) {
    count();
    yield row;
  }
}

/** A function to call for each row. It calls `onRows` with their number so far from time to time. */
export function countRows(onRows: (rows: number) => void): () => void {
  let rows = 0;
  return () => {
    if (++rows % interval === 0) onRows(rows);
  };
}
