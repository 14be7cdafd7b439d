// A file with the rows that an import refused, see refused-rows.ts.

import { once } from "node:events";
import { PassThrough } from "node:stream";
import type { Fault } from "../model/errors.ts";
import { requireFolder, writeFile } from "./output.ts";
import { frameOf, toRefusedRow } from "./refused-rows.ts";
import type { NumberedRow } from "./rows.ts";

interface Rejects {
  /** @throws Refusal `unavailable` when the file cannot be written */
  add(row: NumberedRow, faults: readonly Fault[]): Promise<void>;
  /** Completes the file, which is empty if no row was added. @throws Refusal `unavailable` */
  close(): Promise<void>;
  /** Completes the file after an import that failed, as far as possible. If no row was added, the file is left as it was. */
  abandon(): Promise<void>;
}

/**
 * Opens the file for refused rows. Its previous content is replaced when it is closed.
 * @throws Refusal `unavailable` when no file can be created there
 */
export function openRejects(file: string): Rejects {
  requireFolder(file);
  let output: Output | undefined;
  let frame = { start: "", separator: "", end: "" };
  /** The last row whose quoting has a fault: the quote may never be closed, so that no row can follow. */
  let held = "";
  const close = async () => {
    output ??= openOutput(file);
    await output.write(held + frame.end);
    await output.end();
  };
  return {
    async add(row, faults) {
      const isFirst = !output;
      if (isFirst) frame = frameOf(row.source);
      output ??= openOutput(file);
      let text = toRefusedRow(row, faults);
      if (row.source.format === "csv" && row.source.text !== undefined) [text, held] = [held, text];
      await output.write((isFirst ? frame.start : frame.separator) + text);
    },
    close,
    abandon: async () => (output ? close().catch(() => {}) : undefined),
  };
}

interface Output {
  write(text: string): Promise<void>;
  end(): Promise<void>;
}

/** A file that is written as its text arrives, at the pace of the disk. */
function openOutput(file: string): Output {
  const lines = new PassThrough({ objectMode: true });
  const written = writeFile(file, lines);
  // An error ends both, and is thrown by the next call.
  written.catch((error) => lines.destroy(error));
  lines.on("error", () => {});
  return {
    async write(text) {
      if (lines.destroyed) await written;
      else if (text !== "" && !lines.write(text)) await once(lines, "drain").catch(() => written);
    },
    end() {
      lines.end();
      return written;
    },
  };
}
