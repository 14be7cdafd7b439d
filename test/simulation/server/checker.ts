// Compares every response from a simulated server with what the database had while the request was in flight.

import { parseRun } from "../../../src/model/run.ts";
import type { BatchOperation } from "./clients.ts";
import type { Received } from "./network.ts";
import type { Entry, Moment, Truth } from "./truth.ts";

/** How soon a long poll must return a change if its process had no failures. */
const wakeUpMs = 3000;
/** How long a process's long polls may be late after a failure. */
const failureEffectMs = 10_000;

/** Where a follower is in the feed: its cursor, and the entry before that. */
export interface Position {
  readonly cursor: string;
  /** The last entry before the cursor; undefined before the first change. */
  readonly entry: Entry | undefined;
  /** The cursor's history; undefined if a new one started while the cursor was read. */
  readonly history: number | undefined;
}

/** A change on a page of the feed. */
interface ShownChange {
  readonly Revision: number;
  readonly Operation: string;
  readonly Resource: string;
  readonly ID: number;
  readonly ETag: string | null;
  readonly Record: unknown;
}

/** The result of an operation in a batch. */
interface BatchResult {
  readonly Changed?: boolean;
  readonly Record?: { readonly ID: number };
}

export interface FeedPage {
  readonly Changes: readonly ShownChange[];
  readonly Next: string;
  readonly More: boolean;
}

export class ServerChecker {
  readonly faults: string[] = [];
  readonly #truth: Truth;
  /** The body each ETag stands for, by path and ETag. */
  readonly #bodies = new Map<string, string>();

  constructor(truth: Truth) {
    this.#truth = truth;
  }

  /**
   * Forgets what ETags for revisions after `revision` stand for, because a failover has lost those changes. If no process had them in memory, other changes get
   * the same ETags (contract section 7).
   */
  onFailover(revision: number): void {
    for (const name of this.#bodies.keys())
      if (Number(/\.(\d+)\.[^.]*$/.exec(name)?.[1]) > revision) this.#bodies.delete(name);
  }

  fault(text: string): void {
    this.faults.push(text);
  }

  /** Returns the moments when the request may have been executed. */
  momentsOf({ sentAt, madeAt }: Received): readonly Moment[] {
    return this.#truth.moments.slice(sentAt, madeAt + 1);
  }

  /** Checks what's true of every response. Returns whether the request was executed. */
  onResponse(received: Received, key: string, what: string): boolean {
    const { status } = received;
    // After its clock has jumped, a process may rate-limit failed authentications for a few seconds.
    if (status === 429) return false;
    const moments = this.momentsOf(received);
    const isValid = moments.some(({ keys }) => keys.has(key));
    const wasValid = moments.every(({ keys }) => keys.has(key));
    if (status === 401 && wasValid) this.fault(`${what}: 401 for a valid key`);
    if (status !== 401 && status < 500 && !isValid) this.fault(`${what}: ${status} for a revoked key`);
    if (status >= 500 && status !== 503) this.fault(`${what}: ${status} ${received.text}`);
    return status !== 401 && status !== 503;
  }

  /** Checks a look-up. @param record path and ID, such as `brands 3` */
  onRecord(received: Received, record: string): void {
    const { status, text } = received;
    const body = status === 404 ? undefined : JSON.stringify(JSON.parse(text));
    const isRight = this.momentsOf(received).some(({ records }) => records.get(record)?.shown === body);
    if (status !== 404 && status !== 200) this.fault(`${record}: ${status} ${text}`);
    else if (!isRight) this.fault(`${record} was read as ${body}, which it was not at any moment of the request`);
    if (status === 200) this.#learn(`record ${record}`, received, JSON.stringify(JSON.parse(text)));
  }

  /**
   * Checks a list.
   * @param known the ETag in `If-None-Match`
   * @param page `limit` and `offset`; undefined for the whole list
   */
  onList(
    received: Received,
    path: string,
    known: string | undefined,
    page: { readonly limit: number; readonly offset: number } | undefined,
  ): void {
    const { status, text } = received;
    const name = `list ${path} ${JSON.stringify(page ?? "")}`;
    if (status !== 200 && status !== 304) {
      this.fault(`${name}: ${status} ${text}`);
      return;
    }
    if (status === 304 && !this.#bodies.has(`${name} ${known}`)) return;
    const body = status === 304 ? this.#bodies.get(`${name} ${known}`) : text;
    const lists = this.momentsOf(received).map((moment) => listOf(moment, path, page));
    const isRight = lists.some((list) => list === normalized(body ?? "null"));
    if (!isRight && status === 304) this.fault(`${name}: 304 although the list has changed`);
    else if (!isRight) this.fault(`${name}: ${text} is not the list of any moment of the request`);
    if (status === 200) this.#learn(name, received, text);
  }

  /**
   * Checks an acknowledged write.
   * @param token in the record of a create or update
   * @param firstSentAt the moment when it was first sent
   */
  onWritten(received: Received, record: string, operation: string, firstSentAt: number, token?: string): void {
    const { moments } = this.#truth;
    const expected = JSON.stringify(JSON.parse(received.text));
    const isThere = moments.slice(firstSentAt, received.madeAt + 1).some((moment) => {
      const entry = moment.lineage[moment.revision - 1];
      if (entry?.record !== record || entry.change.operation !== operation) return false;
      return operation === "delete" || entry.shown === expected;
    });
    if (!isThere) this.fault(`${operation} ${record} ${token ?? ""} was acknowledged, but is not in the database`);
    if (operation !== "delete") this.#learn(`record ${record}`, received, expected);
  }

  /** Checks an acknowledged batch. Its changes must be in the database, one after another, where its run says. */
  onBatch(received: Received, operations: readonly BatchOperation[], firstSentAt: number): void {
    const { Run, Results } = JSON.parse(received.text) as { Run: string | null; Results: readonly BatchResult[] };
    if (Results.length !== operations.length)
      this.fault(`${Results.length} results of a batch of ${operations.length} operations`);
    const changed = Results.flatMap(({ Changed, Record }, index) => {
      const { Method = "", Resource } = operations[index] ?? {};
      return Changed && Record ? [{ Method, record: `${Resource} ${Record.ID}`, shown: JSON.stringify(Record) }] : [];
    });
    const { first } = parseRun(Run ?? "") ?? { first: 0 };
    const isThere = this.#truth.moments.slice(firstSentAt, received.madeAt + 1).some(({ lineage, revision }) => {
      const entries = lineage.slice(0, revision).slice(first - 1, first - 1 + changed.length);
      return changed.every(({ Method, record, shown }, index) => {
        const entry = entries[index];
        return entry?.record === record && (Method === "DELETE" || entry.shown === shown);
      });
    });
    const isRight = Run === null ? changed.length === 0 : first > 0 && isThere;
    if (!isRight) this.fault(`the batch ${Run} was acknowledged, but is not in the database: ${received.text}`);
  }

  /** Checks that an update or delete with `If-Match` was right to succeed. @param tag the ETag */
  onConditionMet(received: Received, record: string, operation: string, tag: string, firstSentAt: number): void {
    const known = this.#bodies.get(`record ${record} ${tag}`);
    // The ETag may belong to a lost change.
    if (known === undefined) return;
    const { moments } = this.#truth;
    const isMet = moments.slice(firstSentAt, received.madeAt + 1).some((moment, index, all) => {
      const entry = moment.lineage[moment.revision - 1];
      const before = all[index - 1] ?? moments[firstSentAt - 1];
      return (
        entry?.record === record && entry.change.operation === operation && before?.records.get(record)?.shown === known
      );
    });
    if (!isMet) this.fault(`${operation} ${record} was made although If-Match had another version`);
  }

  /** Checks that `If-Match` was rejected for a reason. @param history that the ETag was read from */
  onConditionFailed(received: Received, record: string, tag: string, history: number): void {
    const known = this.#bodies.get(`record ${record} ${tag}`);
    if (known === undefined) return;
    const isUnchanged = this.momentsOf(received).every(
      (moment) => moment.history === history && moment.records.get(record)?.shown === known,
    );
    if (isUnchanged) this.fault(`${record} was not changed, and If-Match failed`);
  }

  /** Checks a page of the feed. Returns the position after it; undefined if the follower has to start over. */
  onFeed(received: Received, position: Position, waitMs: number): Position | undefined {
    const { status, text } = received;
    const moments = this.momentsOf(received);
    if (status === 410) {
      const { prunedThrough } = this.#truth;
      const isKept = prunedThrough === 0 || (position.entry?.change.revision ?? 0) > prunedThrough;
      const isKnown = position.entry === undefined || position.history !== undefined;
      const isNeedless = isKept && isKnown && moments.every((moment) => isValidAt(position, moment));
      if (isNeedless) this.fault(`410 for ${position.cursor}, which is a cursor of this history`);
      return undefined;
    }
    if (status !== 200) {
      this.fault(`the feed responds ${status} ${text}`);
      return undefined;
    }
    const page: FeedPage = JSON.parse(text);
    const possible = moments.filter((one) => isValidAt(position, one) && isPageAt(page, position, one));
    if (possible.length === 0) {
      const isGone = !moments.some((one) => isValidAt(position, one));
      this.fault(
        isGone
          ? `a page after ${position.cursor}, which is a cursor of another history`
          : `a page after ${position.cursor} is not that of any moment: ${text}`,
      );
      return undefined;
    }
    this.#requireWakeUp(received, page, position, waitMs);
    const revision = (position.entry?.change.revision ?? 0) + page.Changes.length;
    const entries = new Set(possible.map(({ lineage }) => lineage[revision - 1]));
    // After a rollback, a repeated write may look the same, so the cursor may belong to either.
    if (entries.size > 1) return undefined;
    return { cursor: page.Next, entry: [...entries][0], history: historyOf(moments) };
  }

  /** Returns the position of `since=now`; undefined if the response doesn't say. */
  onFeedStart(received: Received): Position | undefined {
    const { status, text } = received;
    if (status !== 200) {
      this.fault(`since=now responds ${status} ${text}`);
      return undefined;
    }
    const cursor: string = JSON.parse(text).Next;
    const revision = Number(cursor.split(".")[1]);
    const moments = this.momentsOf(received);
    const moment = moments.find((one) => one.revision === revision);
    if (!moment) this.fault(`since=now is at the revision ${revision}, which the site did not have`);
    // A rollback may have given the revision to another change in the meantime.
    if (!moment || new Set(moments.map(({ lineage }) => lineage)).size > 1) return undefined;
    return { cursor, entry: moment.lineage[revision - 1], history: historyOf(moments) };
  }

  /** A long poll without a change mustn't have missed one. */
  #requireWakeUp({ process, times }: Received, page: FeedPage, position: Position, waitMs: number): void {
    if (page.Changes.length > 0 || process.isStopping || waitMs === 0) return;
    const { failedAt, frozenAt = failedAt } = process.life;
    if (Math.max(failedAt, frozenAt) > times.sent - failureEffectMs) return;
    const next = this.#truth.latest.lineage[position.entry?.change.revision ?? 0];
    if (next && next.at < times.made - wakeUpMs)
      this.fault(`a long poll ended empty at ${times.made}, and the change ${next.change.revision} was at ${next.at}`);
  }

  #learn(name: string, { headers, sentAt }: Received, body: string): void {
    // A change that has been lost since may have had its ETag reused.
    if (this.#truth.moments[sentAt]?.lineage !== this.#truth.latest.lineage) return;
    const tag = headers.get("ETag");
    if (tag === undefined) {
      this.fault(`${name} has no ETag`);
      return;
    }
    const known = this.#bodies.get(`${name} ${tag}`);
    if (known !== undefined && known !== body) this.fault(`${name}: the ETag ${tag} is of two contents`);
    this.#bodies.set(`${name} ${tag}`, body);
  }
}

function historyOf(moments: readonly Moment[]): number | undefined {
  const histories = new Set(moments.map(({ history }) => history));
  return histories.size === 1 ? moments[0]?.history : undefined;
}

/** Whether a cursor belongs to a moment's history. If its history isn't known, it may. */
function isValidAt({ entry, history }: Position, moment: Moment): boolean {
  if (entry === undefined) return true;
  const { revision } = entry.change;
  if (revision > moment.revision || moment.lineage[revision - 1] !== entry) return false;
  return history === undefined || history === moment.history;
}

/** Whether a page has the changes after a position, as they were at a moment. */
function isPageAt({ Changes, More }: FeedPage, { entry }: Position, { lineage, revision }: Moment): boolean {
  const from = entry?.change.revision ?? 0;
  const to = from + Changes.length;
  if (to > revision || (!More && to < revision)) return false;
  return Changes.every((change, index) => isShown(change, lineage[from + index] as Entry));
}

function isShown(change: ShownChange, { change: { revision, operation }, record, shown }: Entry): boolean {
  const { Revision, Operation, Resource, ID, Record } = change;
  if (Revision !== revision || Operation !== operation || `${Resource} ${ID}` !== record) return false;
  return operation === "delete" ? Record === null : JSON.stringify(Record) === shown;
}

/** Returns a resource's list at a moment, as normalised JSON. */
export function listOf(
  { records }: Moment,
  path: string,
  page: { readonly limit: number; readonly offset: number } | undefined,
): string {
  const found = [...records].filter(([record]) => record.startsWith(`${path} `));
  const id = (record: string) => Number(record.slice(path.length + 1));
  const sorted = found.sort(([one], [other]) => id(one) - id(other)).map(([, { shown }]) => shown as string);
  const { offset = 0, limit = sorted.length } = page ?? {};
  return `[${sorted.slice(offset, offset + limit).join(",")}]`;
}

const normalized = (text: string) => JSON.stringify(JSON.parse(text));
