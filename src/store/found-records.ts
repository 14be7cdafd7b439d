// Whether a record that a writer found by a value of a field is still the one that has this value. Writers know the records as of some revision;
// what has changed since is read from the journal in the transaction that stores. Pure, and the same for every engine.

import type { RecordChange } from "../model/change.ts";
import type { FoundBy, Intent } from "../model/intent.ts";
import { textAt } from "../model/record.ts";

/** Journal entries of a site that one transaction reads at most: about 50 ms. */
const maxEntries = 10_000;

/** What a field of a resource has had since a revision. Records that have not changed since are not in it. */
interface FieldChanges {
  readonly keys: FoundBy["keys"];
  /** The revision after which all changes are known. */
  readonly from: number;
  readonly valueById: Map<number, string>;
  readonly idsByValue: Map<string, Set<number>>;
}

/** What has to be read of a site's journal: the entries after a revision, of more than `limit` the last ones. */
interface EntriesToRead {
  readonly site: number;
  readonly revision: number;
  readonly limit: number;
}

/** The changes of one transaction and those before it that writers may not know of. */
export class FoundRecords {
  /** By site and resource, and there by field. */
  readonly #resources = new Map<string, Map<string, FieldChanges>>();

  /** The entries that `add` needs before `intents` are decided. */
  toRead(intents: readonly Intent[]): EntriesToRead[] {
    const revisions = new Map<number, number>();
    for (const { site, resource, ifFound } of intents) {
      if (!ifFound || this.#fieldsOf(site, resource)?.has(nameOf(ifFound))) continue;
      revisions.set(site, Math.min(ifFound.revision, revisions.get(site) ?? ifFound.revision));
    }
    return Array.from(revisions, ([site, revision]) => ({ site, revision, limit: maxEntries }));
  }

  /**
   * Adds what was read of a site for `intents`. What came before those entries, because there are too many or some were pruned, stays unknown.
   * @param entries the latest first
   * @param last the revision of the site
   */
  add(intents: readonly Intent[], { site }: EntriesToRead, entries: readonly RecordChange[], last: number): void {
    const from = last - entries.length;
    const inOrder = entries.toReversed();
    for (const { site: written, resource, ifFound } of intents) {
      if (!ifFound || written !== site) continue;
      const fields = this.#fieldsOf(site, resource) ?? new Map<string, FieldChanges>();
      if (fields.has(nameOf(ifFound))) continue;
      const field = { keys: ifFound.keys, from, valueById: new Map(), idsByValue: new Map() };
      for (const entry of inOrder) if (entry.resource === resource) apply(field, entry);
      this.#resources.set(keyOf(site, resource), fields.set(nameOf(ifFound), field));
    }
  }

  /** Applies a change of this transaction. */
  apply(site: number, change: RecordChange): void {
    if (this.#resources.size === 0) return;
    for (const field of this.#fieldsOf(site, change.resource)?.values() ?? []) apply(field, change);
  }

  /**
   * Whether the condition of an intent holds: an update has found the only record with the value, a create none.
   * @param body of the record that the intent names
   */
  isStillFound({ site, resource, operation, id }: Intent, found: FoundBy, body: string | null | undefined): boolean {
    const field = this.#fieldsOf(site, resource)?.get(nameOf(found));
    if (!field || field.from > found.revision) return false;
    const isFound = operation !== "create";
    if (isFound && (body == null || textAt(JSON.parse(body), found.keys) !== found.value)) return false;
    const others = field.idsByValue.get(found.value)?.size ?? 0;
    return others === (isFound && field.valueById.get(id as number) === found.value ? 1 : 0);
  }

  #fieldsOf(site: number, resource: string): Map<string, FieldChanges> | undefined {
    return this.#resources.get(keyOf(site, resource));
  }
}

function apply({ keys, valueById, idsByValue }: FieldChanges, { id, operation, body }: RecordChange): void {
  const before = valueById.get(id);
  if (before !== undefined) idsByValue.get(before)?.delete(id);
  valueById.delete(id);
  if (operation === "delete") return;
  const value = textAt(JSON.parse(body), keys);
  const ids = idsByValue.get(value) ?? new Set<number>();
  idsByValue.set(value, ids.add(id));
  valueById.set(id, value);
}

function keyOf(site: number, resource: string): string {
  return `${site}/${resource}`;
}

function nameOf({ keys }: FoundBy): string {
  return keys.join(".");
}
