// Shared by all commands: options and arguments, access to the database, and output.

import { Argument, type Command, InvalidArgumentError } from "commander";
import { type Config, type ConfigSources, environment, operatorName, readConfig } from "../../config.ts";
import { errorMessage, systemErrorCode } from "../../lib/errors-for-log.ts";
import { escapeControls, findNearest, randomText } from "../../lib/text.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { toId } from "../../model/record.ts";
import { publicResources, type Resource } from "../../model/resource.ts";
import { completeRemovals } from "../../operator/sites/site-removal.ts";
import { writeAll } from "../../operator/standard-streams.ts";
import { allResources } from "../../resources/all.ts";
import { databaseExists, type OpenOptions, openEngine } from "../../store/open.ts";
import { withActor } from "../../system/system-changes.ts";

/** The options that every command has. */
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
    .option(
      "--as <name>",
      "name for the journal, as operator:<name> (default: SUDO_USER, else USER, else the login name)",
    )
    .option("--json", "print the result as JSON");
}

/** Milliseconds that a command waits for the database: longer than a server, because no client waits for a command. */
const timeout = 60_000;

/** Thrown for a wrong option or argument. The process then exits with status 2. */
export class UsageError extends Error {}

/** The work of a command on the database. `run` is the run ID: all journal entries of the command have it. */
type Work<T> = (engine: Engine, run: string) => Promise<T>;

/** Runs `work` on an existing database. @throws ProblemError `not-found` if the database does not exist */
export async function withEngine<T>(options: CommonOptions, work: Work<T>): Promise<T> {
  const { database } = configOf(options);
  if (!databaseExists(database)) {
    throw new ProblemError("not-found", `there is no database ${database}; create it with \`site add\` or \`serve\``);
  }
  return withOpened(options, { orReadOnly: true }, work);
}

/** Runs `work` on the database, and creates the database first if it does not exist. */
export function withNewEngine<T>(options: CommonOptions, work: Work<T>): Promise<T> {
  return withOpened(options, {}, work);
}

async function withOpened<T>(options: CommonOptions, how: OpenOptions, work: Work<T>): Promise<T> {
  const actor = `operator:${asUsageError(() => operatorName(options.as))}`;
  const engine = await openEngine(configOf(options).database, allResources, { ...how, timeout }).catch((error) => {
    throw toUsageError(error);
  });
  try {
    for (const done of await completeRemovals(engine, Date.now())) printMessage(done);
    const run = randomText(8);
    return await work(withActor(engine, actor, run), run);
  } finally {
    await engine.close();
  }
}

/** Reads the configuration from the environment; `given` takes precedence. @throws UsageError that names the first bad or unknown setting */
export function toConfig(given: ConfigSources = {}): Config {
  return asUsageError(() => readConfig({ ...environment(), ...given }));
}

function configOf({ database }: CommonOptions): Config {
  return toConfig(database === undefined ? {} : { DATABASE: database });
}

/** Runs `work`. Converts a ProblemError `bad-request` to a UsageError, because the operator's input caused it. */
export function asUsageError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toUsageError(error);
  }
}

function toUsageError(error: unknown): unknown {
  return error instanceof ProblemError && error.code === "bad-request" ? new UsageError(error.message) : error;
}

/** Prints a result to stdout: `value` as JSON with `--json`, otherwise `lines`. Returns false if the reader of stdout has closed it. */
export function printResult(options: CommonOptions, value: unknown, lines: readonly string[]): boolean {
  const shown = options.json ? [JSON.stringify(value, null, 2)] : lines;
  return shown.length === 0 || printText(`${escapeControls(shown.join("\n"))}\n`);
}

/** Prints a line for a person to stderr, so that stdout contains only the result. */
export function printMessage(line: string): void {
  printError(`${escapeControls(line)}\n`);
}

/** Returns a number with its noun: `1 site`, `2 sites`. */
export function formatCount(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

/** The options of a command on one site. */
export interface SiteOptions extends CommonOptions {
  readonly site: string;
}

/** Adds the common options and `--site`, which is required. */
export function withSiteOption(command: Command): Command {
  return withCommonOptions(command).requiredOption("--site <name>", "name of the site, see `site list`");
}

/** Collects the values of an option that may be given several times. */
export function collectValue(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** Creates an argument that names a file. An empty name, for example from an unset shell variable, is a usage error. */
export function fileArgument(name: string, description: string): Argument {
  return new Argument(name, description).argParser((text) => {
    if (text === "") throw new InvalidArgumentError("The file name is empty.");
    return text;
  });
}

/** Creates an argument that names a resource by its path, such as `brands`. The action gets the Resource. */
export function resourceArgument(): Argument {
  const names = publicResources(allResources).map(({ path }) => path);
  return new Argument("<resource>", `one of ${names.join(", ")}`).argParser(getResource);
}

/** Returns the public resource with this path or name. @throws UsageError that suggests the most similar path */
export function getResource(name: string): Resource {
  const served = publicResources(allResources);
  const found = served.find((resource) => resource.path === name || resource.name === name);
  if (found) return found;
  const names = served.map(({ path }) => path);
  const meant = findNearest(name, names);
  throw new UsageError(
    `unknown resource \`${name}\`: ${meant ? `did you mean \`${meant}\`?` : `known resources: ${names.join(", ")}`}`,
  );
}

/** Formats rows as aligned columns under `header`. Returns one line for the header and one for each row. */
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

/** Shortens a time in ISO 8601 to the minute: `2026-01-31 12:00`. The empty text stays empty. */
export function toMinute(instant: string): string {
  return instant.slice(0, 16).replace("T", " ");
}

/** Parses the ID of a record, a whole number from 1. @throws UsageError */
export function parseId(text: string): number {
  const id = toId(text);
  if (id !== undefined) return id;
  throw new UsageError(`invalid ID \`${text}\`: an ID is a whole number from 1`);
}

/** Parses a revision, a whole number from 0. @param name the option, for the error. @throws UsageError */
export function parseRevision(name: string, text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`invalid ${name} \`${text}\`: a revision is a whole number from 0`);
}

/** Maximum duration in milliseconds: 100 years. */
const maxDuration = 36_525 * 86_400_000;
const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Parses a duration such as `90d`, `24h` or `30m`, from 1 second to 100 years. Returns milliseconds. @throws UsageError */
export function parseDuration(text: string): number {
  const [, count, unit = ""] = /^([0-9]{1,10})([smhdw])$/.exec(text) ?? [];
  const duration = Number(count) * (units[unit] ?? 0);
  if (duration > 0 && duration <= maxDuration) return duration;
  throw new UsageError(`invalid duration \`${text}\`: write 10s, 30m, 24h, 90d or 4w, at most 100 years`);
}

// Output to stdout and stderr. It is written before the call returns, so that nothing is lost when the process ends.

/**
 * Prints text to stdout. Returns false if the reader of stdout has closed it, as `head` does.
 * @throws ProblemError `unavailable` if the text cannot be written, for example because the disk is full
 */
export function printText(text: string): boolean {
  try {
    writeAll(1, Buffer.from(text));
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EPIPE") return false;
    throw new ProblemError("unavailable", `cannot write to standard output: ${errorMessage(error)}`, { cause: error });
  }
}

/** Prints a sequence of texts to stdout. Stops without an error if the reader of stdout closes it. */
export async function printAll(texts: AsyncIterable<string>): Promise<void> {
  for await (const text of texts) if (!printText(text)) return;
}

/** Prints text to stderr. Errors are ignored, because they cannot be reported anywhere else. */
export function printError(text: string): void {
  try {
    writeAll(2, Buffer.from(text));
  } catch {
    // Ignored, as described above.
  }
}
