import type { RecordChange } from "../../src/model/change.ts";
import { toDeclaredJson } from "../../src/model/record.ts";
import { allResources } from "../../src/resources/all.ts";

export type ModelChange = RecordChange & { readonly at: number };

/** Milliseconds in which a request of an earlier history may still arrive: it was read within a lease. */
const lateTime = 30_000;

const resources = new Map(allResources.map((resource) => [resource.name, resource]));

/** The site as the simulation knows it: its journal, and those that a restore or lost commits have replaced. */
export class SiteModel {
  name = "";
  epoch = "";
  changes: ModelChange[] = [];
  /** How often something happened after which changes may be gone: a prune, a new history, a restore, or lost commits. */
  losses = 0;
  /** How often the database went back, and when last. */
  returns = 0;
  returnedAt = Number.NEGATIVE_INFINITY;
  /** Since when it is suspended. */
  suspendedAt: number | undefined;
  readonly #replaced: { readonly changes: readonly ModelChange[]; readonly at: number }[] = [];

  /** The database has gone back to the state that had these changes. */
  goBack(changes: readonly ModelChange[], now: number): void {
    this.#replaced.push({ changes: this.changes, at: now });
    this.changes = [...changes];
    // Two processes may have sent what is lost, of which one was after a rewind that is lost too.
    this.losses += 2;
    this.returns++;
    this.returnedAt = now;
  }

  /** The journals that were replaced, of which a page may still arrive now. */
  replaced(now: number): (readonly ModelChange[])[] {
    return this.#replaced.filter(({ at }) => now - at < lateTime).map(({ changes }) => changes);
  }

  /**
   * The records of these resources, as the lists have them: JSON by path and ID. A client that reads them later has more, but what it has
   * from there and the database then loses is no matter of webhooks.
   * @param through the last revision that they have
   */
  records(names: ReadonlySet<string>, through = Number.POSITIVE_INFINITY): Map<string, string> {
    const found = new Map<string, string>();
    for (const change of this.changes)
      if (names.has(change.resource) && change.revision <= through) applyTo(found, toShown(change));
    return found;
  }
}

/** A change as an event has it, but for its cursor. */
export interface ShownChange {
  readonly Operation: string;
  readonly Resource: string;
  readonly ID: number;
  readonly Record: unknown;
}

/** Stores a change in a copy of the records. */
export function applyTo(copy: Map<string, string>, { Operation, Resource, ID, Record }: ShownChange): void {
  const key = `${Resource} ${ID}`;
  if (Operation === "delete") copy.delete(key);
  else copy.set(key, JSON.stringify(Record));
}

export function toShown({ revision, at, operation, resource, id, body }: ModelChange) {
  const declared = resources.get(resource) as NonNullable<ReturnType<typeof resources.get>>;
  const Record = operation === "delete" ? null : JSON.parse(toDeclaredJson(declared, body));
  const Time = new Date(at).toISOString();
  return { revision, Time, Operation: operation, Resource: declared.path, ID: id, Record };
}
