// Writes to stdout and stderr, synchronously so that nothing is lost when the process exits. Results go to stdout, and everything for people to stderr.

import { errorMessage, systemErrorCode } from "../../lib/errors-for-log.ts";
import { escapeControls } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { writeAll } from "../../operator/files/standard-streams.ts";
import type { CommonOptions } from "./options.ts";

/** Prints `value` as JSON with `--json`, otherwise `lines`. @returns false if stdout was closed */
export function printResult(options: CommonOptions, value: unknown, lines: readonly string[]): boolean {
  const shown = options.json ? [JSON.stringify(value, null, 2)] : lines;
  return shown.length === 0 || printText(`${escapeControls(shown.join("\n"))}\n`);
}

export function printMessage(line: string): void {
  printError(`${escapeControls(line)}\n`);
}

/** `1 site`, `2 sites` */
export function formatCount(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

/** Aligns the columns. */
export function toTable(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const shown = rows.map((row) => row.map((cell) => escapeControls(cell).replaceAll(/[\t\n]/g, " ")));
  const widths = header.map((name, i) => Math.max(name.length, ...shown.map((row) => Bun.stringWidth(row[i] ?? ""))));
  const toLine = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell + " ".repeat(Math.max(0, (widths[i] ?? 0) - Bun.stringWidth(cell))))
      .join("  ")
      .trimEnd();
  return [toLine(header), ...shown.map(toLine)];
}

/** Shortens an ISO 8601 time to `2026-01-31 12:00`. */
export function toMinute(instant: string): string {
  return instant.slice(0, 16).replace("T", " ");
}

/**
 * @returns false if the reader of stdout has closed it, as `head` does
 * @throws ProblemError `unavailable` if it can't be written, for example because the disk is full
 */
export function printText(text: string | Uint8Array): boolean {
  try {
    writeAll(1, typeof text === "string" ? Buffer.from(text) : text);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EPIPE") return false;
    throw new ProblemError("unavailable", `can't write to standard output: ${errorMessage(error)}`, { cause: error });
  }
}

/** Stops without an error if the reader of stdout closes it. */
export async function printAll(texts: AsyncIterable<string | Uint8Array>): Promise<void> {
  for await (const text of texts) if (!printText(text)) return;
}

/** Ignores errors, because there's nowhere else to report them. */
export function printError(text: string): void {
  try {
    writeAll(2, Buffer.from(text));
  } catch {
    // See above.
  }
}
