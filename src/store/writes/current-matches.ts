// Brings the matches of upserts and deletes up to date, in the transaction that stores them.
//
// For example, the writer of an upsert found at revision 12 that brand 7 has the account number A-1. The site is now at revision 14:
//
//   13  updates brand 7: its account number is now A-9
//   14  creates brand 9 with the account number A-1
//
// (1) With the site locked, the engine reads entries 13 and 14 (`entriesToRead`) and passes them to `add`.
// (2) `find` returns brand 9, because brand 7 has changed and no longer has the value. The row of brand 9 is read too (`recordsToRead`).
// (3) The transaction itself changes brand 9 (`track`). If that gives it another account number, a later upsert of A-1 is rejected as `match-moved`,
// because the sender of both can't have meant that. But a delete of a record that the transaction has already deleted is rejected as `not-found`, as it is by ID.
//
// Like the decisions (batch.ts), this code doesn't read the database.

import {
  type FoundRecords,
  type Intent,
  type Match,
  maxFoundIds,
  type RecordChange,
  type RejectedOutcome,
} from "../../model/change.ts";
import { textAt } from "../../model/record.ts";
import type { BatchRow, BatchRows } from "./batch-rows.ts";
import { parseRecord } from "./parsed-record.ts";
import { onlyRecord } from "./record-match.ts";

/** Maximum journal entries of a site read for this in one transaction, which takes about 50 ms. */
const maxEntries = 10_000;

/** The entries after `revision` or, if there are more, the last `limit` of them. */
interface EntriesToRead {
  readonly site: number;
  readonly revision: number;
  readonly limit: number;
}

/** What has changed in a field of a resource. */
interface FieldChanges {
  readonly site: number;
  readonly resource: string;
  readonly keys: Match["keys"];
  /** Changes by others are known after this revision. */
  readonly knownAfter: number;
  /** Records changed by others, with the values they have now. */
  readonly others: ChangedValues;
  /** Records changed by this transaction. */
  readonly own: ChangedValues;
}

/** What has changed since the writers of a transaction's upserts looked up their records. */
export class CurrentMatches {
  /** Usually one. A batch has at most 512 upserts by different fields. */
  readonly #fields: FieldChanges[] = [];
  readonly #transaction: "batch" | "run" | "large";
  /** All changes of a run, because its later batches can have upserts by other fields. */
  readonly #own: RecordChange[] = [];

  /**
   * @param transaction a single batch, a run, or any number of batches. Keeping the last kind's own changes would take too much memory, so its
   * upserts must have distinct values
   */
  constructor(transaction: "batch" | "run" | "large") {
    this.#transaction = transaction;
  }

  /** Returns the entries to read and pass to `add` before `intents` are decided. */
  entriesToRead(intents: readonly Intent[]): EntriesToRead[] {
    const revisions = new Map<number, number>();
    for (const { site, resource, match } of intents) {
      if (!match || this.#fieldOf(site, resource, match)) continue;
      revisions.set(site, Math.min(match.revision, revisions.get(site) ?? match.revision));
    }
    return Array.from(revisions, ([site, revision]) => ({ site, revision, limit: maxEntries }));
  }

  /**
   * Adds the entries read from a site for `intents`. Older ones may be missing (over `limit`, or pruned).
   * @param entries latest first
   * @param last the site's last revision
   */
  add(intents: readonly Intent[], { site }: EntriesToRead, entries: readonly RecordChange[], last: number): void {
    const knownAfter = last - entries.length;
    const firstOwn = this.#own[0]?.revision ?? Number.POSITIVE_INFINITY;
    const inOrder = entries.toReversed().filter(({ revision }) => revision < firstOwn);
    for (const { site: intentSite, resource, match } of intents) {
      if (!match || intentSite !== site || this.#fieldOf(site, resource, match)) continue;
      const { keys } = match;
      const [others, own] = [new ChangedValues(keys), new ChangedValues(keys)];
      for (const entry of inOrder) if (entry.resource === resource) others.apply(entry);
      for (const change of this.#own) if (change.resource === resource) own.apply(change);
      this.#fields.push({ site, resource, keys, knownAfter, others, own });
    }
  }

  track(site: number, change: RecordChange): void {
    if (this.#transaction === "run") this.#own.push(change);
    if (this.#transaction === "large") return;
    for (const field of this.#fields)
      if (field.site === site && field.resource === change.resource) field.own.apply(change);
  }

  /** Returns the records that have only now become the single match of an upsert, so `keysOfBatch` didn't list them. Leaves out those in `rows`. */
  recordsToRead(intents: readonly Intent[], rows: BatchRows): Pick<BatchRow, "site_id" | "resource" | "id">[] {
    return intents.flatMap((intent) => {
      const { site, resource, match } = intent;
      const found = match && this.find(intent, match);
      const id = found && "ids" in found ? onlyRecord(found) : undefined;
      if (id === undefined || rows.find(site, resource, id)) return [];
      if (match && id === onlyRecord(match.found)) return [];
      return [{ site_id: site, resource, id }];
    });
  }

  /** Returns the records that now have an intent's value, or why it's rejected. */
  find({ site, resource, operation }: Intent, match: Match): FoundRecords | RejectedOutcome {
    const { value, revision, found } = match;
    const field = this.#fieldOf(site, resource, match);
    if (!field || field.knownAfter > revision) return outdated;
    const { others, own } = field;
    const ids = found.ids.filter((id) => !others.has(id));
    for (const id of others.idsWith(value)) ids.push(id);
    const unknown = found.count - found.ids.length;
    // It would depend on the records whose IDs we don't have.
    if (unknown > 0 && ids.length < 2) return outdated;
    if (ids.length > 1) return { ids: ids.sort((a, b) => a - b).slice(0, maxFoundIds), count: ids.length + unknown };
    const moved = ids.find((id) => own.has(id) && !own.idsWith(value).has(id));
    const given = own
      .idsWith(value)
      .values()
      .find((id) => !ids.includes(id));
    if (operation === "delete" && given === undefined && moved !== undefined && own.isDeleted(moved))
      return { ids: [], count: 0 };
    const id = moved ?? given;
    if (id === undefined) return { ids, count: ids.length };
    return { kind: "rejected", rejectionReason: "match-moved", found: { ids: [id], count: 1 } };
  }

  #fieldOf(site: number, resource: string, { keys }: Match): FieldChanges | undefined {
    return this.#fields.find(
      (field) =>
        field.site === site &&
        field.resource === resource &&
        field.keys.length === keys.length &&
        field.keys.every((key, index) => key === keys[index]),
    );
  }
}

const outdated: RejectedOutcome = { kind: "rejected", rejectionReason: "match-outdated" };

/** The values that changed records now have in a field. */
class ChangedValues {
  readonly #keys: Match["keys"];
  /** Undefined for a deleted record. */
  readonly #valueById = new Map<number, string | undefined>();
  readonly #idsByValue = new Map<string, Set<number>>();

  constructor(keys: Match["keys"]) {
    this.#keys = keys;
  }

  apply({ id, operation, body }: RecordChange): void {
    const value = operation === "delete" ? undefined : textAt(parseRecord(body), this.#keys);
    this.#idsByValue.get(this.#valueById.get(id) ?? "")?.delete(id);
    this.#valueById.set(id, value);
    if (value) this.#idsByValue.set(value, (this.#idsByValue.get(value) ?? new Set()).add(id));
  }

  has(id: number): boolean {
    return this.#valueById.has(id);
  }

  isDeleted(id: number): boolean {
    return this.has(id) && this.#valueById.get(id) === undefined;
  }

  idsWith(value: string): ReadonlySet<number> {
    return this.#idsByValue.get(value) ?? none;
  }
}

const none: ReadonlySet<number> = new Set();
