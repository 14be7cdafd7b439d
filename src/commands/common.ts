// What the commands share: options and arguments, access to the database, and output.

import type { SingleBar } from "cli-progress";
import { Argument, type Command, InvalidArgumentError } from "commander";
import { type Config, type ConfigSources, environment, operatorName, readConfig } from "../config.ts";
import { messageOf, systemCodeOf } from "../lib/errors-for-log.ts";
import { escapeControls, nearest, randomText } from "../lib/text.ts";
import type { DumpedRow, Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { toId } from "../model/record.ts";
import { type Resource, servedOf } from "../model/resource.ts";
import { writeAll } from "../operator/output.ts";
import { finishRemovals } from "../operator/site-removal.ts";
import { allResources } from "../resources/all.ts";
import { databaseExists, type OpenOptions, openEngine } from "../store/open.ts";
import { actingAs } from "../system/system-changes.ts";

export interface CommonOptions {
  readonly database?: string;
  readonly json?: true;
  readonly as?: string;
}

/** Adds the options that every command has. */
export function withCommonOptions(command: Command): Command {
  return command
    .option(
      "--database <url>",
      "sqlite:<file> or postgres://user@host/database (default: STOREFRONT_DATABASE, else sqlite:./data/storefront.db)",
    )
    .option("--as <name>", "name for the journal, as operator:<name> (default: SUDO_USER, else USER, else the user)")
    .option("--json", "print the result as JSON");
}

/** How long a command waits for the database, in milliseconds: longer than a server does, since no client waits for it. */
const timeout = 60_000;

/** An option or argument that is wrong: the process exits with status 2. */
export class UsageError extends Error {}

/** What a command does with the database. `run` is the ID that all of its changes have in the journal. */
type Work<T> = (engine: Engine, run: string) => Promise<T>;

/** Runs `work` on an existing database. @throws Refusal `not-found` when there is no database */
export async function withEngine<T>(options: CommonOptions, work: Work<T>): Promise<T> {
  const { database } = configOf(options);
  if (!databaseExists(database)) {
    throw new Refusal("not-found", `there is no database ${database}; create it with \`site add\` or \`serve\``);
  }
  return withOpened(options, { orReadOnly: true }, work);
}

/** Runs `work` on the database, which is created if there is none. */
export function withNewEngine<T>(options: CommonOptions, work: Work<T>): Promise<T> {
  return withOpened(options, {}, work);
}

async function withOpened<T>(options: CommonOptions, how: OpenOptions, work: Work<T>): Promise<T> {
  const actor = `operator:${asUsageError(() => operatorName(options.as))}`;
  const engine = await openEngine(configOf(options).database, allResources, { ...how, timeout }).catch((error) => {
    throw toUsageError(error);
  });
  try {
    for (const done of await finishRemovals(engine, Date.now())) printMessage(done);
    const run = randomText(8);
    return await work(actingAs(engine, actor, run), run);
  } finally {
    await engine.close();
  }
}

/** The configuration of the environment, with `given` in front of it. @throws UsageError that names the first bad or unknown setting */
export function toConfig(given: ConfigSources = {}): Config {
  return asUsageError(() => readConfig({ ...environment(), ...given }));
}

function configOf({ database }: CommonOptions): Config {
  return toConfig(database === undefined ? {} : { DATABASE: database });
}

/** Runs `work`; a Refusal `bad-request` from it becomes a UsageError, since the operator's input caused it. */
export function asUsageError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toUsageError(error);
  }
}

function toUsageError(error: unknown): unknown {
  return error instanceof Refusal && error.code === "bad-request" ? new UsageError(error.message) : error;
}

/** Prints a result to stdout: `value` as JSON with `--json`, otherwise `lines`. Returns false when its reader has closed it. */
export function printResult(options: CommonOptions, value: unknown, lines: readonly string[]): boolean {
  const shown = options.json ? [JSON.stringify(value, null, 2)] : lines;
  return shown.length === 0 || printText(`${escapeControls(shown.join("\n"))}\n`);
}

/** Prints a line for a person to stderr, so that stdout holds nothing but the result. */
export function printMessage(line: string): void {
  printError(`${escapeControls(line)}\n`);
}

/** A number with its noun: `1 site`, `2 sites`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

/** The options of a command on one website. */
export interface SiteOptions extends CommonOptions {
  readonly site: string;
}

/** Adds `--site`, which every command on the records or keys of one website requires. */
export function withSiteOption(command: Command): Command {
  return withCommonOptions(command).requiredOption("--site <name>", "name of the website, see `site list`");
}

/** Collects the values of an option that may be given several times. */
export function collected(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** The argument that names a file. An empty name, as an unset shell variable gives, is a usage error. */
export function fileArgument(name: string, description: string): Argument {
  return new Argument(name, description).argParser((text) => {
    if (text === "") throw new InvalidArgumentError("The file name is empty.");
    return text;
  });
}

/** The argument that names a resource by its path, such as `brands`. The action gets the Resource. */
export function resourceArgument(): Argument {
  const names = servedOf(allResources).map(({ path }) => path);
  return new Argument("<resource>", `one of ${names.join(", ")}`).argParser(findResource);
}

/** @throws UsageError that suggests the nearest name */
export function findResource(name: string): Resource {
  const served = servedOf(allResources);
  const found = served.find((resource) => resource.path === name || resource.name === name);
  if (found) return found;
  const names = served.map(({ path }) => path);
  const meant = nearest(name, names);
  throw new UsageError(
    `unknown resource \`${name}\`: ${meant ? `did you mean \`${meant}\`?` : `known resources: ${names.join(", ")}`}`,
  );
}

/** Rows as aligned columns under `header`, one line each. */
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

/** A time such as `2026-01-31 12:00` from its ISO 8601 form; empty from the empty text. */
export function toMinute(instant: string): string {
  return instant.slice(0, 16).replace("T", " ");
}

/** @throws UsageError */
export function readId(text: string): number {
  const id = toId(text);
  if (id !== undefined) return id;
  throw new UsageError(`invalid ID \`${text}\`: an ID is a whole number from 1`);
}

/** @param name of the option. @throws UsageError */
export function readRevision(name: string, text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`invalid ${name} \`${text}\`: a revision is a whole number from 0`);
}

const maxDuration = 36_525 * 86_400_000;
const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds in a duration such as `90d`, `24h` or `30m`: from 1 second to 100 years. @throws UsageError */
export function readDuration(text: string): number {
  const [, count, unit = ""] = /^([0-9]{1,10})([smhdw])$/.exec(text) ?? [];
  const duration = Number(count) * (units[unit] ?? 0);
  if (duration > 0 && duration <= maxDuration) return duration;
  throw new UsageError(`invalid duration \`${text}\`: write 10s, 30m, 24h, 90d or 4w, at most 100 years`);
}

// Output to stdout and stderr, written before the call returns, so that nothing is lost when the process ends.

/**
 * Prints text to stdout. Returns false when its reader has closed it, as `head` does.
 * @throws Refusal `unavailable` when it cannot be written, for example because the disk is full
 */
export function printText(text: string): boolean {
  try {
    writeAll(1, Buffer.from(text));
    return true;
  } catch (error) {
    if (systemCodeOf(error) === "EPIPE") return false;
    throw new Refusal("unavailable", `cannot write to standard output: ${messageOf(error)}`, { cause: error });
  }
}

/** Prints a sequence of texts to stdout, until its reader closes it. */
export async function printAll(texts: AsyncIterable<string>): Promise<void> {
  for await (const text of texts) if (!printText(text)) return;
}

/** Prints text to stderr. Errors are ignored: there is no other place to report them. */
export function printError(text: string): void {
  try {
    writeAll(2, Buffer.from(text));
  } catch {
    // See above.
  }
}

// Progress of commands on the whole database, on a terminal: rows, and a bar where their number is known.

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
