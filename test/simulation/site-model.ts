// The simulation's own copy of a site: its journal, and the journals that a restore or lost commits have replaced.

import type { RecordChange } from "../../src/model/change.ts";
import { toDeclaredJson } from "../../src/model/record.ts";
import { allResources } from "../../src/resources/all.ts";

export type ModelChange = RecordChange & { readonly at: number };

/** Maximum milliseconds after which a request of a replaced journal may still arrive, because it was read within a lease. */
const lateMs = 30_000;

const resources = new Map(allResources.map((resource) => [resource.name, resource]));

/** The site as the simulation expects it. */
export class SiteModel {
  name = "";
  epoch = "";
  changes: ModelChange[] = [];
  /** Number of events after which changes may be missing: prunes, new epochs, restores, and lost commits. */
  losses = 0;
  /** Number of rollbacks: the database went back to an earlier state. And the time of the last rollback. */
  rollbacks = 0;
  rolledBackAt = Number.NEGATIVE_INFINITY;
  /** Time of the suspension; undefined while the site is not suspended. */
  suspendedAt: number | undefined;
  readonly #replaced: { readonly changes: readonly ModelChange[]; readonly at: number }[] = [];

  /** Replaces the journal after a rollback of the database to the state with `changes`. */
  goBack(changes: readonly ModelChange[], now: number): void {
    this.#replaced.push({ changes: this.changes, at: now });
    this.changes = [...changes];
    // Two processes may have sent the lost changes, one of them after a rewind that is lost too.
    this.losses += 2;
    this.rollbacks++;
    this.rolledBackAt = now;
  }

  /** Returns the replaced journals of which a page may still arrive. */
  replaced(now: number): (readonly ModelChange[])[] {
    return this.#replaced.filter(({ at }) => now - at < lateMs).map(({ changes }) => changes);
  }

  /**
   * Returns the records of these resources, as JSON by path and ID. A client that reads the lists later may have later changes. If the
   * database then loses these changes, webhooks do not report it.
   * @param through the last revision to apply
   */
  records(names: ReadonlySet<string>, through = Number.POSITIVE_INFINITY): Map<string, string> {
    const found = new Map<string, string>();
    for (const change of this.changes)
      if (names.has(change.resource) && change.revision <= through) applyTo(found, toShown(change));
    return found;
  }
}

/** A change as an event has it, without the cursor. */
export interface ShownChange {
  readonly Operation: string;
  readonly Resource: string;
  readonly ID: number;
  readonly Record: unknown;
}

/** Applies a change to a copy of the records. */
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
