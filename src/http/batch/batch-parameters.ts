// The query parameters of a batch request, and the header fields that it cannot have (contract section 14).

import { findNearest, findNearestPath, formatHint } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import { parseSingle } from "../common/parameters.ts";

export interface BatchParameters {
  /** The dotted path of the text field by which an update without an ID finds its record; undefined for none. */
  readonly match: string | undefined;
  /** Whether to report what would be stored, and to store nothing. */
  readonly isDry: boolean;
  /** Whether nothing is stored if an operation has a fault. Otherwise each operation is stored or rejected by itself. */
  readonly isAtomic: boolean;
}

/**
 * Parses the parameters of a batch request. Unlike in a list, every unknown one is rejected: a misspelt `dryRun` would store.
 * @param written the resources that can be written
 * @throws ProblemError `bad-request` for an unknown or repeated parameter, or a bad value
 */
export function parseBatchParameters(written: readonly Resource[], query: string): BatchParameters {
  const parameters = parseKnown(query, ["match", "dryRun", "atomic"], "a batch");
  return {
    match: parseMatch(written, parseSingle(parameters, "match")),
    isDry: parseSwitch(parameters, "dryRun", false),
    isAtomic: parseSwitch(parameters, "atomic", true),
  };
}

/** Parses the parameters of an undo, in the same way. @throws ProblemError `bad-request` as `parseBatchParameters` does */
export function parseUndoParameters(query: string): Pick<BatchParameters, "isDry"> {
  return { isDry: parseSwitch(parseKnown(query, ["dryRun"], "an undo"), "dryRun", false) };
}

/**
 * Rejects the header fields `If-Match` and `If-None-Match`: a batch has many records, and to ignore a condition would be unsafe.
 * @param what the request, with its article
 * @throws ProblemError `bad-request`
 */
export function rejectConditions(headers: HeaderFields, what: "a batch" | "an undo"): void {
  const advice = what === "a batch" ? "; send `IfMatch` in each operation" : "";
  for (const name of ["If-Match", "If-None-Match"])
    if (headers.has(name.toLowerCase())) throw new ProblemError("bad-request", `${what} has no ${name}${advice}`);
}

/** Parses a query that has only parameters with these names. @param what the request, with its article */
function parseKnown(query: string, names: readonly string[], what: string): URLSearchParams {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) if (!names.includes(name)) throw unknownParameterError(name, names, what);
  return parameters;
}

function unknownParameterError(name: string, names: readonly string[], what: string): ProblemError {
  const all = names.map((one) => `\`${one}\``).join(", ");
  const hint = formatHint(findNearest(name, names), `there is ${all}`);
  return new ProblemError("bad-request", `${what} has no parameter \`${name.slice(0, 100)}\`; ${hint}`);
}

function parseSwitch(parameters: URLSearchParams, name: string, byDefault: boolean): boolean {
  const value = parseSingle(parameters, name);
  if (value === undefined) return byDefault;
  if (value === "0" || value === "1") return value === "1";
  throw new ProblemError("bad-request", `\`${name}\` must be 0 or 1, not \`${value.slice(0, 40)}\``);
}

/** Checks `match`. @param written the resources that can be written @throws ProblemError `bad-request` if none of them has this text field */
export function parseMatch(written: readonly Resource[], path: string | undefined): string | undefined {
  const paths = matchablePaths(written);
  if (path === undefined || paths.includes(path)) return path;
  const hint = formatHint(findNearestPath(path, paths), `there is ${paths.join(", ")}`);
  throw new ProblemError("bad-request", `\`match\`: there is no text field \`${path.slice(0, 100)}\`; ${hint}`);
}

/** Returns the dotted paths of the fields by which records of any of the resources can be matched, each once. */
export function matchablePaths(resources: readonly Resource[]): readonly string[] {
  return [...new Set(resources.flatMap(({ textFields }) => textFields.map(({ path }) => path)))];
}
