// The activity of a site: the requests of its keys in the last day, and its last requests. Each process that serves the public port knows its own part in
// memory. The admin listener asks all processes, and joins their answers. A question and its answer may pass between two program versions (an upgrade),
// so they may get new members, but no member may change or disappear.

export type ActivityQuestion = KeyTrafficQuestion | RequestsQuestion;

/** Asks for the requests of these keys in the last 24 hours. */
interface KeyTrafficQuestion {
  readonly kind: "key-traffic";
  readonly keys: readonly number[];
}

/** Asks for the last requests of a site. For the next ten minutes, the process then logs its successful requests too. */
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

/** The answer of one process to a question; undefined if it does not know such a question, because it is of an earlier program version. */
export type ActivityAnswer = KeyTrafficAnswer | RequestsAnswer | undefined;

/** The number of hours that processes count, with the present one. */
export const countedHours = 24;
/** Milliseconds of an hour. Hours are counted from 1970 on, as milliseconds are. */
export const hourMs = 3_600_000;

export interface KeyTrafficAnswer {
  readonly kind: "key-traffic";
  /** Since when the process counts, in milliseconds since 1970. */
  readonly since: number;
  /** The present hour: hours since 1970. */
  readonly hour: number;
  readonly keys: readonly CountedKey[];
}

/** The requests of a key in each of the last 24 hours, the oldest hour first, and how many of them got a status of 400 or more. */
export interface CountedKey {
  readonly id: number;
  readonly requests: readonly number[];
  readonly errors: readonly number[];
}

export interface RequestsAnswer {
  readonly kind: "requests";
  /** The last 200 of the requests that pass the filter, the latest first. */
  readonly requests: readonly LoggedRequest[];
}

/** Maximum number of requests in an answer, and to a question. */
export const maxLoggedRequests = 200;

/** A request, as operators see it. It has no key, no body, and only those values of its query that the interface declares. */
export interface LoggedRequest {
  /** Unique among all processes. */
  readonly id: string;
  /** The number of requests before it that were not logged, because there were too many in one second. */
  readonly leftOut?: number | undefined;
  /** When its response was made, in milliseconds since 1970. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly bytes: number;
  readonly request: string;
  /** The prefix of the key; undefined if the request had none. */
  readonly key?: string | undefined;
  readonly problem?: LoggedProblem | undefined;
}

interface LoggedProblem {
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly { readonly field: string; readonly detail: string }[];
}

/**
 * Joins what several processes counted.
 * @param answers at least one
 * @returns counts up to the latest hour that a process knows, and since when all processes count
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

/** Adds `counts` to `sums`. @param late the hours by which `counts` end earlier */
function addLate(sums: number[], counts: readonly number[], late: number): void {
  for (let index = 0; index + late < countedHours; index++) {
    sums[index] = (sums[index] as number) + (counts[index + late] ?? 0);
  }
}

export function joinRequests(answers: readonly RequestsAnswer[]): RequestsAnswer {
  const requests = answers.flatMap((answer) => answer.requests).sort((one, other) => other.at - one.at);
  return { kind: "requests", requests: requests.slice(0, maxLoggedRequests) };
}
