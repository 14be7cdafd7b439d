// The parameters of the feed (contract section 10).

import { lettersOf, nearest } from "../lib/nearest.ts";
import { Refusal } from "../model/errors.ts";
import { defaultFeedLimit, maxFeedWait, maxPageSize } from "../model/list-bounds.ts";
import type { Resource } from "../model/resource.ts";
import { firstCursor } from "../store/feed-cursor.ts";
import { meantBy } from "./mistakes.ts";
import { joined, readNumber, single } from "./parameters.ts";

export interface ChangesQuery {
  /** A cursor, not checked yet; `now` for that of this moment. */
  readonly since: string;
  readonly limit: number;
  /** Milliseconds to wait for a change when there is nothing to return. */
  readonly wait: number;
  /** The resources whose changes are wanted. */
  readonly resources: readonly Resource[];
  readonly isCollapsed: boolean;
}

/** What clients write for each parameter, by letters. */
const names: readonly (readonly [parameter: string, likenesses: string])[] = [
  [
    "since",
    "since sincecursor cursor after startafter startingafter updatedsince modifiedsince from next token deltatoken",
  ],
  ["limit", "limit take top max maxresults size count perpage pagesize"],
  ["wait", "wait timeout poll longpoll"],
  ["resource", "resource resources resourcetype type types"],
  ["collapse", "collapse collapsed compact"],
];

const parameterOf = new Map(names.flatMap(([name, likenesses]) => likenesses.split(" ").map((one) => [one, name])));
const known: ReadonlySet<string> = new Set(names.map(([name]) => name));

/** @param served all resources that clients can use. @throws Refusal `bad-request` for a bad value, or a parameter that looks like a mistake */
export function readChangesQuery(served: readonly Resource[], query: string): ChangesQuery {
  const parameters = new URLSearchParams(query);
  refuseOthers(served, parameters);
  const limit = single(parameters, "limit");
  const wait = single(parameters, "wait");
  const wanted = joined(parameters, "resource");
  return {
    since: single(parameters, "since") ?? firstCursor,
    limit: limit === undefined ? defaultFeedLimit : readNumber("limit", limit, 1, maxPageSize),
    wait: wait === undefined ? 0 : 1000 * readNumber("wait", wait, 0, maxFeedWait),
    resources: wanted === undefined ? served : readResources(served, wanted),
    isCollapsed: isOne("collapse", single(parameters, "collapse")),
  };
}

function isOne(name: string, value: string | undefined): boolean {
  if (value === undefined || value === "1") return value === "1";
  throw new Refusal("bad-request", `\`${name}\` must be 1, not \`${value.slice(0, 40)}\`; or leave it out`);
}

function readResources(served: readonly Resource[], wanted: readonly string[]): readonly Resource[] {
  const paths = served.map(({ path }) => path);
  const unknown = wanted.find((path) => !paths.includes(path));
  if (unknown === undefined) return served.filter(({ path }) => wanted.includes(path));
  const meant = nearest(unknown, paths);
  const hint =
    meant === undefined ? `there is ${paths.map((path) => `\`${path}\``).join(", ")}` : `did you mean \`${meant}\`?`;
  throw new Refusal("bad-request", `\`resource\`: there is no resource \`${unknown.slice(0, 100)}\`; ${hint}`);
}

/** Refuses parameters that would be expected to have an effect. Others are ignored. */
function refuseOthers(served: readonly Resource[], parameters: URLSearchParams): void {
  for (const [name, value] of parameters) {
    if (known.has(name)) continue;
    const short = name.slice(0, 200);
    const meant = parameterOf.get(lettersOf(short));
    const isOfLists = served.some((resource) => isListParameter(resource, short, value.slice(0, 40)));
    if (meant === undefined && !isOfLists) continue;
    const instead =
      meant === undefined ? `there is ${[...known].map((one) => `\`${one}\``).join(", ")}` : `write \`${meant}\``;
    throw new Refusal("bad-request", `the feed has no parameter \`${name.slice(0, 100)}\`; ${instead}`);
  }
}

function isListParameter(resource: Resource, name: string, value: string): boolean {
  return meantBy(resource, name, value) !== undefined;
}
