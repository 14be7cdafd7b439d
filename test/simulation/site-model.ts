// The simulation's own copy of a site: its journal, and the journals that a restore or lost commits replaced.

import type { RecordChange } from "../../src/model/change.ts";
import { toDeclaredJson } from "../../src/model/record.ts";
import { allResources } from "../../src/resources/all.ts";

export type ModelChange = RecordChange & { readonly at: number };

/** How long a request from a replaced journal may still arrive, because it was read within a lease. */
const lateMs = 30_000;

const resources = new Map(allResources.map((resource) => [resource.name, resource]));

/** What the simulation expects of the site. */
export class SiteModel {
  name = "";
  epoch = "";
  changes: ModelChange[] = [];
  /** How often something happened that may make changes go missing: pruning, a new epoch, a restore or lost commits. */
  losses = 0;
  /** How often the database went back to an earlier state, and when it last did. */
  rollbacks = 0;
  rolledBackAt = Number.NEGATIVE_INFINITY;
  /** When the site was suspended; undefined if it isn't. */
  suspendedAt: number | undefined;
  readonly #replaced: { readonly changes: readonly ModelChange[]; readonly at: number }[] = [];

  /** Replaces the journal after a rollback to the state with `changes`. */
  goBack(changes: readonly ModelChange[], now: number): void {
    this.#replaced.push({ changes: this.changes, at: now });
    this.changes = [...changes];
    // Two processes may have sent the lost changes, one of them after a rewind that was lost too.
    this.losses += 2;
    this.rollbacks++;
    this.rolledBackAt = now;
  }

  /** Returns the replaced journals from which a page may still arrive. */
  replaced(now: number): (readonly ModelChange[])[] {
    return this.#replaced.filter(({ at }) => now - at < lateMs).map(({ changes }) => changes);
  }

  /**
   * Returns these resources' records, as JSON by path and ID. A client that reads the lists later may have later changes. If the database then loses those,
   * webhooks don't report it.
   * @param through the last revision to apply
   */
  records(names: ReadonlySet<string>, through = Number.POSITIVE_INFINITY): Map<string, string> {
    const found = new Map<string, string>();
    for (const change of this.changes)
      if (names.has(change.resource) && change.revision <= through) applyTo(found, toShown(change));
    return found;
  }
}

/** A change as in an event, but without the cursor. */
export interface ShownChange {
  readonly Operation: string;
  readonly Resource: string;
  readonly ID: number;
  readonly Record: unknown;
}

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
