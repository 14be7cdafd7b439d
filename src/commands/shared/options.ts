// Options and arguments that several commands have, and parsing their values.

import { Argument, type Command, InvalidArgumentError } from "commander";
import { findNearest } from "../../lib/text.ts";
import { toId } from "../../model/record.ts";
import { publicResources, type Resource } from "../../model/resource.ts";
import { allResources } from "../../resources/all.ts";
import { UsageError } from "./usage-error.ts";

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

/** Maximum duration: 100 years. */
const maxDurationMs = 36_525 * 86_400_000;
const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Parses a duration such as `90d`, `24h` or `30m`, from 1 second to 100 years. Returns milliseconds. @throws UsageError */
export function parseDuration(text: string): number {
  const [, count, unit = ""] = /^([0-9]{1,10})([smhdw])$/.exec(text) ?? [];
  const duration = Number(count) * (units[unit] ?? 0);
  if (duration > 0 && duration <= maxDurationMs) return duration;
  throw new UsageError(`invalid duration \`${text}\`: write 10s, 30m, 24h, 90d or 4w, at most 100 years`);
}
