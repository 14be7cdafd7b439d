// Brings the matches of upserts up to date, in the transaction that stores them.
//
// An example: the writer of an upsert has found that brand 7 has the account number A-1, as of revision 12. By now, the site has revision 14.
//
//   13  updates brand 7: its account number is A-9 now
//   14  creates brand 9, with the account number A-1
//
// (1) The engine has locked the site. It reads entries 13 and 14 (`entriesToRead`), and passes them to `add`.
// (2) `find` returns brand 9: brand 7 is among the changed records, and has another value now. The row of brand 9 is read too (`recordsToRead`).
// (3) The transaction changes brand 9 itself (`track`). If it gives the brand another account number, a later upsert of A-1 is rejected as
//     `match-moved`: whoever sends both can't have meant that.
//
// Like the decisions (batch.ts), this code reads nothing from the database.

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

/** Maximum journal entries of a site that one transaction reads for this. Reading them takes about 50 ms. */
const maxEntries = 10_000;

/** The journal entries to read of a site: the entries after `revision`; if there are more than `limit`, only the last `limit`. */
interface EntriesToRead {
  readonly site: number;
  readonly revision: number;
  readonly limit: number;
}

/** What has changed in a field of a resource. */
interface FieldChanges {
  readonly keys: Match["keys"];
  /** All changes of others after this revision are known. */
  readonly knownAfter: number;
  /** The values of the records that others have changed, as they left them. */
  readonly others: ChangedValues;
  /** The values of the records that this transaction has changed. */
  readonly own: ChangedValues;
}

/** The upserts of one transaction, and what has changed since their writers looked up the records. */
export class PresentMatches {
  /** By site and resource, and there by field. */
  readonly #resources = new Map<string, Map<string, FieldChanges>>();
  readonly #transaction: "batch" | "run" | "large";
  /** All changes of a run, whose later batches can have upserts by other fields. */
  readonly #own: RecordChange[] = [];

  /**
   * @param transaction of one batch, of a run, or of any number of batches. The own changes of the last would take too much memory, so its upserts must
   *   all have different values
   */
  constructor(transaction: "batch" | "run" | "large") {
    this.#transaction = transaction;
  }

  /** Returns the entries to read and to pass to `add` before `intents` are decided. */
  entriesToRead(intents: readonly Intent[]): EntriesToRead[] {
    const revisions = new Map<number, number>();
    for (const { site, resource, match } of intents) {
      if (!match || this.#fieldsOf(site, resource)?.has(nameOf(match))) continue;
      revisions.set(site, Math.min(match.revision, revisions.get(site) ?? match.revision));
    }
    return Array.from(revisions, ([site, revision]) => ({ site, revision, limit: maxEntries }));
  }

  /**
   * Adds the entries that were read of a site for `intents`. Older entries may be missing (over `limit`, or pruned).
   * @param entries the latest first
   * @param last the last revision of the site
   */
  add(intents: readonly Intent[], { site }: EntriesToRead, entries: readonly RecordChange[], last: number): void {
    const knownAfter = last - entries.length;
    const firstOwn = this.#own[0]?.revision ?? Number.POSITIVE_INFINITY;
    const inOrder = entries.toReversed().filter(({ revision }) => revision < firstOwn);
    for (const { site: intentSite, resource, match } of intents) {
      if (!match || intentSite !== site) continue;
      const fields = this.#fieldsOf(site, resource) ?? new Map<string, FieldChanges>();
      if (fields.has(nameOf(match))) continue;
      const { keys } = match;
      const field = { keys, knownAfter, others: new ChangedValues(keys), own: new ChangedValues(keys) };
      for (const entry of inOrder) if (entry.resource === resource) field.others.apply(entry);
      for (const change of this.#own) if (change.resource === resource) field.own.apply(change);
      this.#resources.set(keyOf(site, resource), fields.set(nameOf(match), field));
    }
  }

  /** Tracks a change of this transaction. */
  track(site: number, change: RecordChange): void {
    if (this.#transaction === "run") this.#own.push(change);
    if (this.#transaction === "large" || this.#resources.size === 0) return;
    for (const { own } of this.#fieldsOf(site, change.resource)?.values() ?? []) own.apply(change);
  }

  /** Returns the records to update that `keysOfBatch` doesn't name, because only now they are the only ones with their values, except those in `rows`. */
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

  /** Returns the records that have the value of an upsert now, or the reason to reject it. */
  find({ site, resource }: Intent, { keys, value, revision, found }: Match): FoundRecords | RejectedOutcome {
    const field = this.#fieldsOf(site, resource)?.get(nameOf({ keys }));
    if (!field || field.knownAfter > revision) return outdated;
    const { others, own } = field;
    const ids = found.ids.filter((id) => !others.has(id));
    for (const id of others.idsWith(value)) ids.push(id);
    const unknown = found.count - found.ids.length;
    // With fewer, it depends on the records whose IDs aren't known.
    if (unknown > 0 && ids.length < 2) return outdated;
    if (ids.length > 1) return { ids: ids.sort((a, b) => a - b).slice(0, maxFoundIds), count: ids.length + unknown };
    const moved = ids.find((id) => own.has(id) && !own.idsWith(value).has(id));
    const given = own
      .idsWith(value)
      .values()
      .find((id) => !ids.includes(id));
    const id = moved ?? given;
    if (id === undefined) return { ids, count: ids.length };
    return { kind: "rejected", rejectionReason: "match-moved", found: { ids: [id], count: 1 } };
  }

  #fieldsOf(site: number, resource: string): Map<string, FieldChanges> | undefined {
    return this.#resources.get(keyOf(site, resource));
  }
}

const outdated: RejectedOutcome = { kind: "rejected", rejectionReason: "match-outdated" };

/** The present values of a field in changed records. */
class ChangedValues {
  readonly #keys: Match["keys"];
  /** Empty for a deleted record. */
  readonly #valueById = new Map<number, string>();
  readonly #idsByValue = new Map<string, Set<number>>();

  constructor(keys: Match["keys"]) {
    this.#keys = keys;
  }

  apply({ id, operation, body }: RecordChange): void {
    const value = operation === "delete" ? "" : textAt(parseRecord(body), this.#keys);
    this.#idsByValue.get(this.#valueById.get(id) ?? "")?.delete(id);
    this.#valueById.set(id, value);
    if (value !== "") this.#idsByValue.set(value, (this.#idsByValue.get(value) ?? new Set()).add(id));
  }

  has(id: number): boolean {
    return this.#valueById.has(id);
  }

  idsWith(value: string): ReadonlySet<number> {
    return this.#idsByValue.get(value) ?? none;
  }
}

const none: ReadonlySet<number> = new Set();

function keyOf(site: number, resource: string): string {
  return `${site}/${resource}`;
}

function nameOf({ keys }: Pick<Match, "keys">): string {
  return keys.join(".");
}
