// What a simulation's database contained at every moment, according to its commits. The checker compares responses with it.

import type { Intent, Outcome, RecordChange } from "../../../src/model/change.ts";
import { toDeclaredJson } from "../../../src/model/record.ts";
import { systemSite } from "../../../src/model/system-site.ts";
import { allResources } from "../../../src/resources/all.ts";

const resources = new Map(allResources.map((resource) => [resource.name, resource]));

/** A change to the site. It stays the same object through a rollback that keeps it, so that histories can be compared by identity. */
export interface Entry {
  readonly change: RecordChange;
  /** Its record's path and ID, such as `brands 3`. */
  readonly record: string;
  /** The record as clients see it; undefined after a delete. */
  readonly shown: string | undefined;
  /** Commit time, in milliseconds since 1970. */
  readonly at: number;
}

/** The database between two commits. */
export interface Moment {
  /** The history's number; each of the site's epochs has its own. */
  readonly history: number;
  /** All the site's changes are the first `revision` of `lineage`. */
  readonly lineage: readonly Entry[];
  readonly revision: number;
  /** Each existing record's last entry, by path and ID. */
  readonly records: ReadonlyMap<string, Entry>;
  /** Valid keys' prefixes. */
  readonly keys: ReadonlySet<string>;
  readonly at: number;
}

export class Truth {
  readonly moments: Moment[] = [];
  readonly faults: string[] = [];
  /** The highest revision up to which the journal was ever pruned. */
  prunedThrough = 0;
  readonly #now: () => number;
  #site = -1;
  /** The number of each of the site's epochs. */
  readonly #histories = new Map<string, number>();
  /** Changes to sites that aren't published yet, by site. */
  readonly #unpublished = new Map<number, Entry[]>();
  /** Sandboxes that a reset has replaced. */
  readonly #replaced = new Set<number>();

  /** @param now milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
    this.moments.push({ history: -1, lineage: [], revision: 0, records: new Map(), keys: new Set(), at: now() });
  }

  get latest(): Moment {
    return this.moments.at(-1) as Moment;
  }

  /** Index of the latest moment. */
  get index(): number {
    return this.moments.length - 1;
  }

  /** Returns the moments since the index `from`. */
  since(from: number): readonly Moment[] {
    return this.moments.slice(from);
  }

  /** From now on, clients use another site: the first one, or a sandbox that replaces another. */
  onPublished(site: number, epoch: string): void {
    const lineage = this.#unpublished.get(site) ?? [];
    const records = new Map(lineage.map((entry) => [entry.record, entry]));
    if (this.#site >= 0) this.#replaced.add(this.#site);
    this.#unpublished.clear();
    this.#site = site;
    this.#add({ ...this.latest, history: this.#historyOf(epoch), lineage, revision: lineage.length, records });
  }

  /** Records what a commit did. */
  onCommit(intents: readonly Intent[], outcomes: readonly Outcome[]): void {
    outcomes.forEach((outcome, index) => {
      const intent = intents[index] as Intent;
      if (outcome.kind !== "done") return;
      if (intent.site === this.#site) this.#onChange(intent, outcome.change);
      else if (intent.site !== systemSite) this.#onOther(intent.site, outcome.change);
      if (intent.site === systemSite && intent.resource === "key") this.#onKey(outcome.change);
    });
  }

  /** Records what a transaction of several batches did, which nobody may see in part. */
  onCommitTogether(intents: readonly Intent[], outcomes: readonly Outcome[]): void {
    const before = this.moments.length;
    this.onCommit(intents, outcomes);
    const added = this.moments.splice(before);
    this.moments.push(...added.slice(-1));
  }

  /** The database went back to an earlier moment; says which site and epoch clients use after that. */
  onRollback({ lineage, revision, records, keys }: Moment, site: number, epoch: string): void {
    this.#site = site;
    this.#replaced.clear();
    this.#add({ history: this.#historyOf(epoch), lineage: lineage.slice(0, revision), revision, records, keys });
  }

  /** Records the site's current epoch. */
  onEpoch(epoch: string): void {
    const history = this.#historyOf(epoch);
    if (history !== this.latest.history) this.#add({ ...this.latest, history });
  }

  #historyOf(epoch: string): number {
    const history = this.#histories.get(epoch) ?? this.#histories.size;
    this.#histories.set(epoch, history);
    return history;
  }

  #onChange({ actor }: Intent, change: RecordChange): void {
    const { latest } = this;
    const { operation, revision, body } = change;
    const entry = this.#toEntry(change);
    const { record, shown } = entry;
    if (revision !== latest.revision + 1) this.faults.push(`revision ${revision} follows ${latest.revision}`);
    if (actor.startsWith("sfk_") && !latest.keys.has(actor))
      this.faults.push(`the change ${revision} was made with the revoked key ${actor}`);
    const token = tokenIn(body);
    const isRepeated = latest.lineage.some(({ change: other }) => isSameWrite(other, change, token));
    if (isRepeated) this.faults.push(`the write ${token} (${operation} ${record}) was made twice`);
    const records = new Map(latest.records);
    if (shown === undefined) records.delete(record);
    else records.set(record, entry);
    // A moment reads only its own part of the lineage, so all moments of a lineage can share it.
    (latest.lineage as Entry[]).push(entry);
    this.#add({ ...latest, revision, records });
  }

  /** A change to the live site, or to a sandbox that's being made. */
  #onOther(site: number, change: RecordChange): void {
    if (this.#replaced.has(site)) this.faults.push(`the replaced sandbox ${site} was changed`);
    this.#unpublished.set(site, [...(this.#unpublished.get(site) ?? []), this.#toEntry(change)]);
  }

  #toEntry(change: RecordChange): Entry {
    const { resource, id, operation, body } = change;
    const declared = resources.get(resource) as NonNullable<ReturnType<typeof resources.get>>;
    const shown = operation === "delete" ? undefined : JSON.stringify(JSON.parse(toDeclaredJson(declared, body)));
    return { change, record: `${declared.path} ${id}`, shown, at: this.#now() };
  }

  #onKey({ body, operation }: RecordChange): void {
    const { Prefix, Revoked } = JSON.parse(body);
    const keys = new Set(this.latest.keys);
    if (Revoked || operation === "delete") keys.delete(Prefix);
    else keys.add(Prefix);
    this.#add({ ...this.latest, keys });
  }

  #add(moment: Omit<Moment, "at">): void {
    this.moments.push({ ...moment, at: this.#now() });
  }
}

function isSameWrite(one: RecordChange, other: RecordChange, token: string | undefined): boolean {
  return one.operation === other.operation && token !== undefined && tokenIn(one.body) === token;
}

/** Returns the unique text that a client puts into each write. */
export function tokenIn(body: string): string | undefined {
  return /"Name":"(w\d+)"/.exec(body)?.[1];
}
