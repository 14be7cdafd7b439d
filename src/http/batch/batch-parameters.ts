// The query parameters of a batch request, and the header fields that it cannot have (contract section 14).

import { findNearestPath, formatHint } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import { parseSingle, parseSwitch } from "../common/parameters.ts";

export interface BatchParameters {
  /** The dotted path of the text field by which an update without an ID finds its record; undefined for none. */
  readonly match: string | undefined;
  /** Whether to report what would be stored, and to store nothing. */
  readonly isDry: boolean;
  /** Whether nothing is stored if an operation has a fault. Otherwise each operation is stored or rejected by itself. */
  readonly isAtomic: boolean;
}

/**
 * Parses the parameters of a batch request.
 * @param written the resources that can be written
 * @throws ProblemError `bad-request` for a repeated parameter, or a bad value
 */
export function parseBatchParameters(written: readonly Resource[], parameters: URLSearchParams): BatchParameters {
  return {
    match: parseMatch(written, parseSingle(parameters, "match")),
    isDry: parseSwitch(parameters, "dryRun", false),
    isAtomic: parseSwitch(parameters, "atomic", true),
  };
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
