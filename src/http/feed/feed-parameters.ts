// The parameters of the feed (contract section 10).

import { findNearest, formatHint, normalizeName } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { defaultFeedLimit, maxFeedWaitSeconds, maxPageSize } from "../../model/limits.ts";
import type { Resource } from "../../model/resource.ts";
import { firstCursor } from "../../store/database/cursor.ts";
import { parseNumber, parseSingle, splitValues } from "../common/parameters.ts";
import { suggestParameter } from "../parameter-advice.ts";

export interface FeedParameters {
  /** The cursor after which the page begins, not checked yet; or `now`, for an empty page with the cursor of this moment. */
  readonly since: string;
  /** Maximum number of changes in the page, before `collapse`. */
  readonly limit: number;
  /** Milliseconds to wait for a change if the page is empty. */
  readonly waitMs: number;
  /** The resources of the changes to return. */
  readonly resources: readonly Resource[];
  /** Whether to return only the last change to each record in the page. */
  readonly isCollapsed: boolean;
}

/** The names that clients may write for each parameter, normalized to letters and digits. The first of them is the right one. */
const names: readonly (readonly [parameter: string, aliases: string])[] = [
  [
    "since",
    "since sincecursor cursor after startafter startingafter updatedsince modifiedsince from next token deltatoken",
  ],
  ["limit", "limit take top max maxresults size count perpage pagesize"],
  ["wait", "wait timeout poll longpoll"],
  ["resource", "resource resources resourcetype type types"],
  ["collapse", "collapse collapsed compact"],
];

const parameterOf = new Map(names.flatMap(([name, aliases]) => aliases.split(" ").map((one) => [one, name])));

const known: ReadonlySet<string> = new Set(names.map(([name]) => name));

/**
 * Parses the parameters of the feed.
 * @param served all public resources
 * @throws ProblemError `bad-request` for a bad value, or a parameter that looks like a mistake
 */
export function parseFeedParameters(served: readonly Resource[], query: string): FeedParameters {
  const parameters = new URLSearchParams(query);
  rejectUnknownParameters(served, parameters);
  const wanted = splitValues(parameters, "resource");
  return {
    since: parseSingle(parameters, "since") ?? firstCursor,
    limit: parseNumber(parameters, "limit", { min: 1, max: maxPageSize, byDefault: defaultFeedLimit }),
    waitMs: 1000 * parseNumber(parameters, "wait", { min: 0, max: maxFeedWaitSeconds, byDefault: 0 }),
    resources: wanted === undefined ? served : parseResources(served, wanted),
    isCollapsed: isOne("collapse", parseSingle(parameters, "collapse")),
  };
}

function isOne(name: string, value: string | undefined): boolean {
  if (value === undefined || value === "1") return value === "1";
  throw new ProblemError("bad-request", `\`${name}\` must be 1, not \`${value.slice(0, 40)}\`; or leave it out`);
}

function parseResources(served: readonly Resource[], wanted: readonly string[]): readonly Resource[] {
  const paths = served.map(({ path }) => path);
  const unknown = wanted.find((path) => !paths.includes(path));
  if (unknown === undefined) return served.filter(({ path }) => wanted.includes(path));
  const hint = formatHint(findNearest(unknown, paths), `there is ${paths.map((path) => `\`${path}\``).join(", ")}`);
  throw new ProblemError("bad-request", `\`resource\`: there is no resource \`${unknown.slice(0, 100)}\`; ${hint}`);
}

/** Rejects unknown parameters if the client probably expects an effect of them. Others are ignored. @throws ProblemError `bad-request` */
function rejectUnknownParameters(served: readonly Resource[], parameters: URLSearchParams): void {
  for (const [name, value] of parameters) {
    if (known.has(name)) continue;
    const short = name.slice(0, 200);
    const meant = parameterOf.get(normalizeName(short));
    const isOfLists = served.some((resource) => isListParameter(resource, short, value.slice(0, 40)));
    if (meant === undefined && !isOfLists) continue;
    const instead =
      meant === undefined ? `there is ${[...known].map((one) => `\`${one}\``).join(", ")}` : `write \`${meant}\``;
    throw new ProblemError("bad-request", `the feed has no parameter \`${name.slice(0, 100)}\`; ${instead}`);
  }
}

function isListParameter(resource: Resource, name: string, value: string): boolean {
  return suggestParameter(resource, name, value) !== undefined;
}
