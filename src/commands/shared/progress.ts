// Shows the progress of a long command on a terminal: a count of rows, or a bar if the total is known.

import type { SingleBar } from "cli-progress";
import type { DumpedRow, Engine } from "../../model/engine.ts";

export interface Progress {
  /** @param rows how many are done. @param total how many there are, if known */
  show(step: string, rows: number, total?: number): void;
  /** Removes the progress from the terminal. */
  stop(): void;
}

/** `show` is called once per this many rows, so short commands show nothing. */
const rowsPerCall = 1000;

/** Shows nothing unless stderr is a terminal. */
export async function withProgress<T>(work: (progress: Progress) => Promise<T>): Promise<T> {
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

/** Wraps `engine` to show how many rows it has read, stored and checked. @param total how many rows to store, if known */
export function withRowProgress(engine: Engine, { show }: Progress, total?: number): Engine {
  return {
    ...engine,
    dump: (site) => countedRows(engine.dump(site), (rows) => show("reading", rows)),
    replaceAllData: (rows, save, amend) =>
      engine.replaceAllData(
        countedRows(rows, (count) => show("storing", count, total)),
        save && ((replaced) => save(countedRows(replaced, (count) => show("saving the current content", count)))),
        amend,
      ),
    findInconsistencies: () => engine.findInconsistencies(countRows((count) => show("checking", count))),
  };
}

/** Yields the same rows, counting them as `countRows` does. */
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

/** @returns a function to call for each row; after every 1,000, it calls `onRows` with the count so far */
export function countRows(onRows: (rows: number) => void): () => void {
  let rows = 0;
  return () => {
    if (++rows % rowsPerCall === 0) onRows(rows);
  };
}

/** Smaller files show no progress. */
const minShownBytes = 1_000_000;

/** @param total the size of the file, 0 if unknown @returns a function to call with the size of each part that was read */
export function countBytes(step: string, { show }: Progress, total: number): (bytes: number) => void {
  let read = 0;
  return (bytes) => {
    read += bytes;
    if (total > minShownBytes) show(step, Math.min(read, total), total);
  };
}
