// A site's activity: its keys' request counts for the last day, and its latest requests. Each process that serves the public port has its own share in memory.
// The admin listener asks all of them and joins their answers. During an upgrade, the two sides may be different versions of the program, so you can add
// members to questions and answers, but not change or remove any.

export type ActivityQuestion = KeyTrafficQuestion | RequestsQuestion;

/** Asks for the keys' request counts for the last 24 hours. */
interface KeyTrafficQuestion {
  readonly kind: "key-traffic";
  readonly keys: readonly number[];
}

/** Asks for a site's latest requests. For the next ten minutes, the process also logs its successful ones. */
interface RequestsQuestion extends RequestFilter {
  readonly kind: "requests";
  readonly site: number;
}

export interface RequestFilter {
  /** Only requests at or after this time, in milliseconds since 1970. */
  readonly after?: number | undefined;
  /** Only requests whose status has this first digit. */
  readonly statusClass?: number | undefined;
  /** Only requests with this prefix of a key. */
  readonly key?: string | undefined;
  /** Only requests with a problem of this code. */
  readonly problem?: string | undefined;
}

/** One process's answer; undefined if it runs an earlier version of the program that doesn't know the question. */
export type ActivityAnswer = KeyTrafficAnswer | RequestsAnswer | undefined;

/** Including the current one. */
export const countedHours = 24;
/** Hours are counted from 1970, like milliseconds. */
export const hourMs = 3_600_000;

export interface KeyTrafficAnswer {
  readonly kind: "key-traffic";
  /** When the process started counting, in milliseconds since 1970. */
  readonly since: number;
  /** The current hour, counted from 1970. */
  readonly hour: number;
  readonly keys: readonly CountedKey[];
  /** When keys were used last (milliseconds since 1970), as far as the database may not know yet. */
  readonly uses?: readonly (readonly [key: number, at: number])[];
}

/** A key's requests in each of the last 24 hours, oldest first, and how many of them got a status of 400 or more. */
export interface CountedKey {
  readonly id: number;
  readonly requests: readonly number[];
  readonly errors: readonly number[];
}

export interface RequestsAnswer {
  readonly kind: "requests";
  /** The latest 200 that pass the filter, newest first. */
  readonly requests: readonly LoggedRequest[];
}

/** Per process, and for all answers together. */
export const maxLoggedRequests = 200;

/** A request as operators see it: without its key and body, and only with query values that the interface declares. */
export interface LoggedRequest {
  /** Unique among all processes. */
  readonly id: string;
  /** How many requests before it weren't logged, because there were too many in one second. */
  readonly leftOut?: number | undefined;
  /** When the response was made, in milliseconds since 1970. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly bytes: number;
  readonly request: string;
  /** The key's prefix; undefined if the request had none. */
  readonly key?: string | undefined;
  readonly problem?: LoggedProblem | undefined;
}

interface LoggedProblem {
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly { readonly field: string; readonly detail: string }[];
}

/**
 * Joins what several processes counted, up to the latest hour any of them knows.
 * @param answers at least one
 */
export function joinKeyTraffic(answers: readonly KeyTrafficAnswer[]): KeyTrafficAnswer {
  const hour = Math.max(...answers.map((answer) => answer.hour));
  const joined = new Map<number, { id: number; requests: number[]; errors: number[] }>();
  for (const answer of answers) {
    const late = hour - answer.hour;
    for (const { id, requests, errors } of answer.keys) {
      const key = joined.get(id) ?? { id, requests: noCounts(), errors: noCounts() };
      joined.set(id, key);
      addLate(key.requests, requests, late);
      addLate(key.errors, errors, late);
    }
  }
  return {
    kind: "key-traffic",
    since: Math.max(...answers.map(({ since }) => since)),
    hour,
    keys: [...joined.values()],
  };
}

function noCounts(): number[] {
  return new Array<number>(countedHours).fill(0);
}

/** Adds `counts` to `sums`. @param late by how many hours `counts` end earlier */
function addLate(sums: number[], counts: readonly number[], late: number): void {
  for (let index = 0; index + late < countedHours; index++) {
    sums[index] = (sums[index] as number) + (counts[index + late] ?? 0);
  }
}

export function joinRequests(answers: readonly RequestsAnswer[]): RequestsAnswer {
  const requests = answers.flatMap((answer) => answer.requests).sort((one, other) => other.at - one.at);
  return { kind: "requests", requests: requests.slice(0, maxLoggedRequests) };
}
