// What the commands share: their options, the database, and what goes to stdout.

import type { Command } from "commander";
import { environment, readConfig, type Settings } from "../config.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { nearest } from "../model/nearest.ts";
import type { Resource } from "../model/resource.ts";
import { allResources } from "../resources/all.ts";
import { openEngine } from "../store/open.ts";

export interface CommonOptions {
  readonly database?: string;
  readonly json?: true;
}

/** Adds the options that every command has. */
export function withCommonOptions(command: Command): Command {
  return command
    .option("--database <url>", "where the data is (STOREFRONT_DATABASE; default sqlite:./data/storefront.db)")
    .option("--json", "print JSON");
}

/** Opens the database for as long as `work` lasts. */
export async function withEngine<T>(options: CommonOptions, work: (engine: Engine) => Promise<T>): Promise<T> {
  const settings: Settings = { ...environment(), ...(options.database ? { DATABASE: options.database } : {}) };
  const engine = openEngine(readConfig(settings).database, allResources);
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

/** Prints what a script would read: JSON where it was asked for, otherwise `lines`. */
export function print(options: CommonOptions, value: unknown, lines: readonly string[]): void {
  if (options.json) console.log(JSON.stringify(value, null, 2));
  else for (const line of lines) console.log(line);
}

/** Tells a person something that no script would read. */
export function tell(line: string): void {
  console.error(line);
}

/** Rows as aligned columns under `header`. */
export function toTable(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = header.map((name, i) => Math.max(name.length, ...rows.map((row) => Bun.stringWidth(row[i] ?? ""))));
  const toLine = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell + " ".repeat(Math.max(0, (widths[i] ?? 0) - Bun.stringWidth(cell))))
      .join("  ")
      .trimEnd();
  return [toLine(header), ...rows.map(toLine)];
}

/** The served resource of this name, as paths have it. @throws Refusal `not-found` */
export function findResource(name: string): Resource {
  const served = allResources.filter((resource) => resource.access !== "system");
  const found = served.find((resource) => resource.path === name || resource.name === name);
  if (found) return found;
  const names = served.map((resource) => resource.path);
  const meant = nearest(name, names);
  throw new Refusal(
    "not-found",
    `there is no resource "${name}"; ${meant ? `did you mean ${meant}?` : `there is ${names.join(", ")}`}`,
  );
}

const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds in a duration such as `90d`, `24h` or `30m`. @throws Refusal `bad-request` */
export function readDuration(text: string): number {
  const parts = /^([0-9]{1,6})([smhdw])$/.exec(text);
  if (!parts) throw new Refusal("bad-request", `"${text}" is no duration; write 90d, 24h, 30m or 10s`);
  return Number(parts[1]) * (units[parts[2] as string] as number);
}
