// Options and arguments that several commands share.

import { Argument, type Command, InvalidArgumentError } from "commander";
import { findNearest, toDuration } from "../../lib/text.ts";
import { toId } from "../../model/record.ts";
import { publicResources, type Resource } from "../../model/resource.ts";
import { allResources } from "../../resources/all.ts";
import { UsageError } from "./usage-error.ts";

export interface CommonOptions {
  readonly database?: string;
  readonly json?: true;
  readonly as?: string;
}

export function withCommonOptions(command: Command): Command {
  return command
    .option(
      "--database <url>",
      "sqlite:<file> or postgres://user@host/database (default: STOREFRONT_DATABASE, else sqlite:./data/storefront.db)",
    )
    .option(
      "--as <name>",
      "who you are; the history shows operator:<name> (default: $SUDO_USER, else $USER, else your login name)",
    )
    .option("--json", "print the result as JSON");
}

export interface SiteOptions extends CommonOptions {
  readonly site: string;
}

export function withSiteOption(command: Command): Command {
  return withCommonOptions(command).requiredOption("--site <name>", "name of the site, see `site list`");
}

/** For options that can be repeated. */
export function collectValue(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** A file argument that rejects an empty name, which usually comes from an unset shell variable. */
export function fileArgument(name: string, description: string): Argument {
  return new Argument(name, description).argParser((text) => {
    if (text === "") throw new InvalidArgumentError("The file name is empty; is a shell variable unset?");
    return text;
  });
}

/** The action gets a Resource for the path, such as `brands`. */
export function resourceArgument(): Argument {
  const names = publicResources(allResources).map(({ path }) => path);
  return new Argument("<resource>", `one of ${names.join(", ")}`).argParser(getResource);
}

/** @param name a path or name @throws UsageError that suggests the most similar path */
export function getResource(name: string): Resource {
  const served = publicResources(allResources);
  const found = served.find((resource) => resource.path === name || resource.name === name);
  if (found) return found;
  const names = served.map(({ path }) => path);
  const meant = findNearest(name, names);
  throw new UsageError(
    `unknown resource \`${name}\`: ${meant ? `did you mean \`${meant}\`?` : `use one of ${names.join(", ")}`}`,
  );
}

/** @throws UsageError */
export function parseId(text: string): number {
  const id = toId(text);
  if (id !== undefined) return id;
  throw new UsageError(`invalid ID \`${text}\`: IDs are whole numbers, starting at 1`);
}

/** @param name the option, for the error. @throws UsageError */
export function parseRevision(name: string, text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`invalid ${name} \`${text}\`: revisions are whole numbers, starting at 0`);
}

/** `90d`, `24h` or `30m`, up to 100 years, in milliseconds. @throws UsageError */
export function parseDuration(text: string): number {
  const duration = toDuration(text);
  if (duration !== undefined) return duration;
  throw new UsageError(`invalid duration \`${text}\`: use one such as 10s, 30m, 24h, 90d or 4w, up to 100 years`);
}
