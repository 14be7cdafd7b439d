// API requests to a site: the latest ones, and each key's count for the last day.

import {
  type ActivityAnswer,
  countedHours,
  hourMs,
  joinKeyTraffic,
  joinRequests,
  type LoggedRequest,
  type RequestFilter,
} from "../../http/common/activity.ts";
import { parseNumber, parseSingle } from "../../http/common/parameters.ts";
import { type ErrorCode, ProblemError, problemTitles } from "../../model/errors.ts";
import { type ListedKey, listKeyLabels, listKeys } from "../../operator/sites/keys.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import { timeIn } from "./parameters.ts";
import type { KeyTrafficInfo, KeyTrafficResponse, LoggedRequestInfo, RequestsResponse } from "./types.ts";

export const requestActions: readonly Action[] = [
  ["GET", "/operator/sites/{site}/key-traffic", "read", showKeyTraffic],
  ["GET", "/operator/sites/{site}/requests", "read", showRequests],
];

/** Maximum keys per response. */
const maxKeys = 100;

async function showKeyTraffic(call: ActionContext): Promise<KeyTrafficResponse> {
  const { keys, answers } = await listUsedKeys(call);
  const { since, hour, keys: counted } = joinKeyTraffic(knownAnswers(answers, "key-traffic"));
  const byId = new Map(keys.map((key) => [key.ID, key]));
  const infos = counted.flatMap(({ id, requests, errors }): KeyTrafficInfo[] => {
    const { Prefix: prefix, Label: label, lastUsed } = byId.get(id) as ListedKey;
    const byHour = { requestsByHour: requests, errorsByHour: errors };
    const used = lastUsed?.toISOString() ?? null;
    return [{ id, prefix, label, lastUsed: used, requests: sumOf(requests), errors: sumOf(errors), ...byHour }];
  });
  return {
    since: toTime(since),
    hours: Array.from({ length: countedHours }, (_, index) => toTime((hour - countedHours + 1 + index) * hourMs)),
    keys: infos.sort((one, other) => other.requests - one.requests).slice(0, maxKeys),
  };
}

/**
 * Lists a site's keys with their last use, and what this server's processes answer about them. It can take half a minute until a use is saved, so we ask them
 * for the latest ones. Otherwise the page of keys wouldn't know about a request that the page of requests already shows.
 */
export async function listUsedKeys(call: ActionContext) {
  const listed = await listKeys(call.engine, await call.site());
  const answers = await call.askActivity({ kind: "key-traffic", keys: listed.map(({ ID }) => ID) });
  const uses = new Map<number, number>(listed.map(({ ID, lastUsed }) => [ID, Number(lastUsed ?? 0)]));
  for (const answer of answers)
    for (const [id, at] of (answer?.kind === "key-traffic" && answer.uses) || [])
      uses.set(id, Math.max(at, uses.get(id) ?? 0));
  const lastUseOf = (id: number) => (uses.get(id) ? new Date(uses.get(id) as number) : undefined);
  return { keys: listed.map((key): ListedKey => ({ ...key, lastUsed: lastUseOf(key.ID) })), answers };
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

const noLabels: ReadonlyMap<string, string> = new Map();

async function showRequests(call: ActionContext): Promise<RequestsResponse> {
  const site = await call.site();
  const filter = filterIn(call);
  const answers = await call.askActivity({ kind: "requests", site: site.ID, ...filter });
  const known = knownAnswers(answers, "requests");
  const { requests } = joinRequests(known);
  // An open page polls and usually finds nothing new, so there are no keys to label.
  const labels = requests.some(({ key }) => key) ? await listKeyLabels(call.engine, site.ID) : noLabels;
  return {
    requests: requests.map((request) => toInfo(request, labels)),
    isComplete: known.length === answers.length,
  };
}

function filterIn({ query }: ActionContext): RequestFilter {
  return {
    after: timeIn(query, "after"),
    statusClass: parseNumber(query, "status", { min: 1, max: 5, byDefault: undefined }),
    key: parseSingle(query, "key"),
    problem: parseSingle(query, "problem"),
  };
}

function toInfo(
  { at, key, problem, leftOut = 0, ...logged }: LoggedRequest,
  labels: ReadonlyMap<string, string>,
): LoggedRequestInfo {
  return {
    ...logged,
    at: toTime(at),
    key: key === undefined ? null : { prefix: key, label: labels.get(key) ?? null },
    problem: problem === undefined ? null : { ...problem, title: problemTitles[problem.code as ErrorCode] ?? "" },
    leftOut,
  };
}

type AnswerOf<Kind> = Extract<ActivityAnswer, { readonly kind: Kind }>;

function knownAnswers<Kind extends NonNullable<ActivityAnswer>["kind"]>(
  answers: readonly ActivityAnswer[],
  kind: Kind,
): readonly AnswerOf<Kind>[] {
  const known = answers.filter((answer): answer is AnswerOf<Kind> => answer?.kind === kind);
  if (known.length > 0) return known;
  const detail = "none of the server's API processes answered; try again";
  throw new ProblemError("unavailable", detail, { retryAfterSeconds: 1 });
}

function toTime(at: number): string {
  return new Date(at).toISOString();
}
