// Checks that the matches of intents have not changed (`ifStillMatched`): a writer has found a record by a value of a field, and still no other record
// has this value.
//
// A writer knows the records as of some revision. The transaction that stores the write reads the later changes from the journal, and passes them
// to `ChangesSinceMatch`. The check is the same for every engine, because it does not read from the database.

import type { Intent, MatchCondition, RecordChange } from "../../model/change.ts";
import { textAt } from "../../model/record.ts";
import { parseRecord } from "./parsed-record.ts";
import { ValueIndex } from "./value-index.ts";

/** Maximum journal entries of a site that one transaction reads for this. Reading them takes about 50 ms. */
const maxEntries = 10_000;

/** The values of a field of a resource, in the records that changed after a revision. */
interface FieldChanges {
  readonly keys: MatchCondition["keys"];
  /** All changes after this revision are known. */
  readonly knownAfter: number;
  /** The present values of the records that changed after `knownAfter`. */
  readonly values: FieldValues;
}

/** The values of records in a field, by their IDs. */
type FieldValues = Pick<ValueIndex, "set" | "delete" | "has" | "count" | "close">;

/** The journal entries that have to be read of a site: the entries after `revision`; if there are more than `limit`, only the last `limit`. */
interface EntriesToRead {
  readonly site: number;
  readonly revision: number;
  readonly limit: number;
}

/** The changes since the writers of one transaction found their records: the changes of others, which the writers may not know, and their own. */
export class ChangesSinceMatch {
  /** By site and resource, and there by field. */
  readonly #resources = new Map<string, Map<string, FieldChanges>>();
  readonly #newValues: () => FieldValues;

  /** @param isLarge whether the transaction may change any number of records. Then their values are in a temporary file */
  constructor(isLarge = false) {
    this.#newValues = () => (isLarge ? new ValueIndex() : new ValuesInMemory());
  }

  [Symbol.dispose](): void {
    for (const fields of this.#resources.values()) for (const { values } of fields.values()) values.close();
    this.#resources.clear();
  }

  /** Returns the entries to read and to pass to `add` before `intents` are decided. */
  entriesToRead(intents: readonly Intent[]): EntriesToRead[] {
    const revisions = new Map<number, number>();
    for (const { site, resource, ifStillMatched } of intents) {
      if (!ifStillMatched || this.#fieldsOf(site, resource)?.has(nameOf(ifStillMatched))) continue;
      revisions.set(site, Math.min(ifStillMatched.revision, revisions.get(site) ?? ifStillMatched.revision));
    }
    return Array.from(revisions, ([site, revision]) => ({ site, revision, limit: maxEntries }));
  }

  /**
   * Adds the entries that were read of a site for `intents`. Older entries may be missing (over `limit`, or pruned). An intent that needs a missing
   * entry fails its condition.
   * @param entries the latest first
   * @param last the last revision of the site
   */
  add(intents: readonly Intent[], { site }: EntriesToRead, entries: readonly RecordChange[], last: number): void {
    const knownAfter = last - entries.length;
    const inOrder = entries.toReversed();
    for (const { site: intentSite, resource, ifStillMatched } of intents) {
      if (!ifStillMatched || intentSite !== site) continue;
      const fields = this.#fieldsOf(site, resource) ?? new Map<string, FieldChanges>();
      if (fields.has(nameOf(ifStillMatched))) continue;
      const field = { keys: ifStillMatched.keys, knownAfter, values: this.#newValues() };
      for (const entry of inOrder) if (entry.resource === resource) applyChange(field, entry);
      this.#resources.set(keyOf(site, resource), fields.set(nameOf(ifStillMatched), field));
    }
  }

  /** Tracks a change of this transaction. */
  track(site: number, change: RecordChange): void {
    if (this.#resources.size === 0) return;
    for (const field of this.#fieldsOf(site, change.resource)?.values() ?? []) applyChange(field, change);
  }

  /**
   * Whether the condition of an intent holds: for a create, no record has the value; otherwise only the record that the intent names has it.
   * Records that have not changed since are not checked, because the writer knows them. Returns false if not all later changes are known.
   * @param body the JSON of the record that the intent names; null or undefined if the record does not exist
   */
  isConditionMet(
    { site, resource, operation, id }: Intent,
    condition: MatchCondition,
    body: string | null | undefined,
  ): boolean {
    const field = this.#fieldsOf(site, resource)?.get(nameOf(condition));
    if (!field || field.knownAfter > condition.revision) return false;
    const isFound = operation !== "create";
    if (isFound && (body == null || textAt(parseRecord(body), condition.keys) !== condition.value)) return false;
    return field.values.count(condition.value) === (isFound && field.values.has(id as number, condition.value) ? 1 : 0);
  }

  #fieldsOf(site: number, resource: string): Map<string, FieldChanges> | undefined {
    return this.#resources.get(keyOf(site, resource));
  }
}

class ValuesInMemory implements FieldValues {
  readonly #valueById = new Map<number, string>();
  readonly #idsByValue = new Map<string, Set<number>>();

  set(id: number, value: string): void {
    this.delete(id);
    this.#idsByValue.set(value, (this.#idsByValue.get(value) ?? new Set()).add(id));
    this.#valueById.set(id, value);
  }

  delete(id: number): void {
    const value = this.#valueById.get(id);
    if (value !== undefined) this.#idsByValue.get(value)?.delete(id);
    this.#valueById.delete(id);
  }

  has(id: number, value: string): boolean {
    return this.#valueById.get(id) === value;
  }

  count(value: string): number {
    return this.#idsByValue.get(value)?.size ?? 0;
  }

  close(): void {}
}

function applyChange({ keys, values }: FieldChanges, { id, operation, body }: RecordChange): void {
  if (operation === "delete") values.delete(id);
  else values.set(id, textAt(parseRecord(body), keys));
}

function keyOf(site: number, resource: string): string {
  return `${site}/${resource}`;
}

function nameOf({ keys }: MatchCondition): string {
  return keys.join(".");
}
