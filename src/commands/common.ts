// What the commands share: their options, the database, and what goes to stdout.

import { Argument, type Command, InvalidArgumentError } from "commander";
import { type Config, type ConfigSources, environment, readConfig } from "../config.ts";
import { nearest } from "../lib/nearest.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { type Resource, servedOf } from "../model/resource.ts";
import { finishRemovals } from "../operator/sites.ts";
import { allResources } from "../resources/all.ts";
import { databaseExists, type OpenOptions, openEngine } from "../store/open.ts";
import { printError, printText } from "./stdout.ts";

export interface CommonOptions {
  readonly database?: string;
  readonly json?: true;
}

/** Adds the options that every command has. */
export function withCommonOptions(command: Command): Command {
  return command
    .option(
      "--database <url>",
      "sqlite:<file> or postgres://user@host/database (STOREFRONT_DATABASE; default sqlite:./data/storefront.db)",
    )
    .option("--json", "print the result as JSON");
}

/** How long a command waits for the database, in milliseconds: nobody is kept waiting by it, and to give up costs a person more. */
const timeout = 60_000;

/** A command that was called wrongly: an option or argument that makes no sense. */
export class UsageError extends Error {}

/** Opens the database, which must be there, for as long as `work` lasts. @throws Refusal `not-found` */
export async function withEngine<T>(options: CommonOptions, work: (engine: Engine) => Promise<T>): Promise<T> {
  const { database } = configOf(options);
  if (!databaseExists(database)) {
    throw new Refusal("not-found", `there is no database ${database}; \`site add\` or \`serve\` makes one`);
  }
  return withOpened(options, { orReadOnly: true }, work);
}

/** Opens the database, or makes it, for as long as `work` lasts. */
export function withNewEngine<T>(options: CommonOptions, work: (engine: Engine) => Promise<T>): Promise<T> {
  return withOpened(options, {}, work);
}

async function withOpened<T>(
  options: CommonOptions,
  how: OpenOptions,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = await openEngine(configOf(options).database, allResources, { ...how, timeout }).catch((error) => {
    throw toUsageError(error);
  });
  try {
    for (const site of await finishRemovals(engine))
      printMessage(`removed what was left of site ${site}, which was removed before`);
    return await work(engine);
  } finally {
    await engine.close();
  }
}

/** The configuration that `settings` make. @throws UsageError that names the first bad setting */
export function toConfig(settings: ConfigSources): Config {
  return asUsageError(() => readConfig(settings));
}

function configOf({ database }: CommonOptions): Config {
  return toConfig({ ...environment(), ...(database === undefined ? {} : { DATABASE: database }) });
}

/** What is malformed in an option is a wrong call. */
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

/** Prints what a script would read: JSON where it was asked for, otherwise `lines`. */
export function printResult(options: CommonOptions, value: unknown, lines: readonly string[]): void {
  const shown = options.json ? [JSON.stringify(value, null, 2)] : lines;
  if (shown.length > 0) printText(`${escapeControls(shown.join("\n"))}\n`);
}

/** Tells a person something that no script would read. */
export function printMessage(line: string): void {
  printError(`${escapeControls(line)}\n`);
}

/**
 * Names and labels may hold characters that would command a terminal (C0 and C1 controls) or turn the order of what it
 * shows (Unicode Standard Annex 9); they are shown as `\\u009b`. JSON text means the same afterwards.
 */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** The argument of a command that names a file. @throws InvalidArgumentError when it is empty, as an unset variable makes it */
export function readFileName(text: string): string {
  if (text === "") throw new InvalidArgumentError("The name is empty.");
  return text;
}

/** Rows as aligned columns under `header`. */
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

/** The argument that names a resource. */
export function resourceArgument(): Argument {
  return new Argument("<resource>", `one of ${servedPaths().join(", ")}`);
}

function servedPaths(): string[] {
  return servedOf(allResources).map((resource) => resource.path);
}

/** The served resource of this name, as paths have it. @throws UsageError that names the one that was probably meant */
export function findResource(name: string): Resource {
  const found = servedOf(allResources).find((resource) => resource.path === name || resource.name === name);
  if (found) return found;
  const names = servedPaths();
  const meant = nearest(name, names);
  throw new UsageError(
    `there is no resource "${name}"; ${meant ? `did you mean ${meant}?` : `there is ${names.join(", ")}`}`,
  );
}

const maxDuration = 36_525 * 86_400_000;
const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds in a duration such as `90d`, `24h` or `30m`, of at least a second and at most 100 years. @throws UsageError */
export function readDuration(text: string): number {
  const parts = /^([0-9]{1,10})([smhdw])$/.exec(text);
  const duration = parts ? Number(parts[1]) * (units[parts[2] as string] as number) : 0;
  if (duration > 0 && duration <= maxDuration) return duration;
  throw new UsageError(`"${text}" is no duration up to 100 years; write 90d, 24h, 30m or 10s`);
}
