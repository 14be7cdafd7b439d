// Decides intents as the database would, without storing anything.
//
// It reads only the records that the intents need, when they're decided, so the cost doesn't depend on the size of the site. Changed records go to a
// temporary table, where later intents see them. Others can write meanwhile: a record that the dry run hasn't changed is as of when it's read.

import { openScratch } from "../../lib/scratch-database.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { Intent, Outcome, RecordChange } from "../../model/change.ts";
import type {
  AtomicCommitResult,
  CommitOptions,
  Engine,
  EngineCommits,
  RecordRow,
  SiteRows,
} from "../../model/engine.ts";
import { OutdatedError, withTemporaryFileErrors } from "../../model/errors.ts";
import { type RecordKey, toKeyText } from "../../model/record-key.ts";
import { isUsableEpoch, newSiteState, type SiteState } from "../database/site-state.ts";
import { decideBatch, emptyBatchState, keysOfBatch } from "./batch.ts";
import type { BatchRow, BatchRows } from "./batch-rows.ts";
import { BatchTransaction } from "./batch-transaction.ts";
import type { CurrentMatches } from "./current-matches.ts";

const withScratchErrors = withTemporaryFileErrors("can't keep the dry run's records in a temporary file");

/** Maximum keys per read. */
const maxKeys = 500;

export type DryRunReads = Pick<Engine, "readRows" | "readJournalPage">;

/** Decides intents for one site. Close it after use. All methods can throw ProblemError `unavailable` if the temporary file can't be written. */
export class DryRunEngine implements EngineCommits {
  readonly #engine: DryRunReads;
  readonly #site: number;
  /** Opened for the first change. */
  #changed: ScratchRecords | undefined;
  readonly #yieldIfDue = createYielder();
  /** Shared by all single batches, so changes by others are as of the first of them. */
  readonly #single = new BatchTransaction({});
  #changes = 0;
  /** The last ID of each resource, after these changes. */
  #lastIds: Record<string, number> = {};
  /** Undefined as long as the site has no changes. */
  #epoch: string | undefined;
  /** For a site without changes. Its random epoch is used if the site has none yet. */
  readonly #newSite = newSiteState();

  constructor(engine: DryRunReads, site: number) {
    this.#engine = engine;
    this.#site = site;
  }

  /** @throws OutdatedError if the site's epoch changes during the dry run */
  async commit(intents: readonly Intent[], options?: CommitOptions): Promise<readonly Outcome[]> {
    return this.#decide(intents, this.#single, options?.atomic);
  }

  /** The result has no run, because nothing is stored. @throws OutdatedError like `commit` */
  async commitAtomically(
    ...[batches, onOutcomes, { run } = {}]: Parameters<Engine["commitAtomically"]>
  ): Promise<AtomicCommitResult> {
    const transaction = new BatchTransaction({ run });
    for (const intents of batches) {
      await onOutcomes(await this.#decide(intents, transaction, true));
      if (transaction.isAborted) return { kind: "aborted" };
    }
    return { kind: "committed", run: null };
  }

  /** Returns the revision in the database of a record changed by this dry run; 0 if the dry run created it, undefined if it didn't touch it. */
  revisionBefore(resource: string, id: number): number | undefined {
    return withScratchErrors(() => this.#changed?.find({ resource, id })?.before);
  }

  close(): void {
    this.#changed?.close();
  }

  async #decide(
    intents: readonly Intent[],
    transaction: BatchTransaction,
    atomic?: boolean,
  ): Promise<readonly Outcome[]> {
    await this.#yieldIfDue();
    const { currentMatches } = transaction;
    const state = emptyBatchState("", transaction);
    await this.#readChanges(intents, currentMatches);
    const keys = [...keysOfBatch(intents).records, ...currentMatches.recordsToRead(intents, state.rows)];
    const unchanged = withScratchErrors(() => this.#addChanged(keys, state.rows));
    const read = await this.#read(unchanged);
    const revisions = new Map<BatchRow, number>();
    for (const row of read.rows) {
      const added = { site_id: this.#site, ...row };
      state.rows.add(added);
      revisions.set(added, row.revision);
    }
    // The read may have been synchronous, without yielding.
    await this.#yieldIfDue();
    const site = this.#toState(read, intents);
    state.sites.set(this.#site, site);
    const { outcomes, entries, rows } = decideBatch(intents.map(withoutConditions), state, atomic);
    withScratchErrors(() => {
      for (const row of rows) {
        this.#changed ??= new ScratchRecords();
        this.#changed.put(row, revisions.get(row) ?? 0);
      }
    });
    this.#changes += entries.length;
    if (entries.length > 0) this.#lastIds = site.lastIds;
    return outcomes;
  }

  /** Reads what has changed since the writers of upserts looked up their records. */
  async #readChanges(intents: readonly Intent[], currentMatches: CurrentMatches): Promise<void> {
    for (const part of currentMatches.entriesToRead(intents)) {
      const entries: RecordChange[] = [];
      let last: number;
      do {
        await this.#yieldIfDue();
        const page = await this.#engine.readJournalPage(this.#site, part.revision + entries.length, maxKeys);
        last = page.head.revision;
        if (page.floor > part.revision || entries.length > part.limit) entries.length = 0;
        else entries.push(...page.entries);
      } while (entries.length > 0 && part.revision + entries.length < last);
      currentMatches.add(intents, part, entries.toReversed(), last);
    }
  }

  /** Adds the records that this dry run has already changed. Returns the keys of the others, without duplicates. */
  #addChanged(keys: readonly RecordKey[], rows: BatchRows): RecordKey[] {
    const others = new Map<string, RecordKey>();
    for (const { resource, id } of keys) {
      if (rows.find(this.#site, resource, id)) continue;
      const changed = this.#changed?.find({ resource, id });
      if (changed) rows.add({ site_id: this.#site, resource, id, revision: changed.revision, body: changed.body });
      else others.set(toKeyText({ resource, id }), { resource, id });
    }
    return [...others.values()];
  }

  async #read(keys: readonly RecordKey[]): Promise<SiteRows> {
    let read = await this.#engine.readRows(this.#site, keys.slice(0, maxKeys));
    const rows = [...read.rows];
    for (let from = maxKeys; from < keys.length; from += maxKeys) {
      await this.#yieldIfDue();
      read = await this.#engine.readRows(this.#site, keys.slice(from, from + maxKeys));
      rows.push(...read.rows);
    }
    return { ...read, rows };
  }

  /** Returns the site's state after the changes of this dry run. @throws OutdatedError if the epoch has changed */
  #toState({ head, lastIds: stored }: SiteRows, intents: readonly Intent[]): SiteState {
    if (head.revision > 0) this.#epoch ??= head.epoch;
    if (this.#epoch !== undefined && head.epoch !== this.#epoch) throw new OutdatedError("epoch");
    const { epoch } = isUsableEpoch(head.epoch) ? head : this.#newSite;
    const lastIds = { ...this.#lastIds };
    for (const [resource, id] of Object.entries(stored)) lastIds[resource] = Math.max(id, lastIds[resource] ?? 0);
    // Nobody reads a dry run's counts. They just have to be high enough for deletes not to make them negative.
    const counts = Object.fromEntries(
      intents.map(({ resource }) => [resource, { count: intents.length, revision: 0 }]),
    );
    return { ...this.#newSite, epoch, revision: head.revision + this.#changes, lastIds, counts };
  }
}

/** Removes the preconditions that only the real transaction can check, and the idempotency key, since no response is stored. */
function withoutConditions(intent: Intent): Intent {
  const none = { ifSystemEpoch: undefined, authorizedBy: undefined, idempotency: undefined };
  return { ...intent, ...none };
}

interface ChangedRow extends RecordRow {
  /** The revision before the dry run; 0 if the record didn't exist. */
  readonly before: number;
}

class ScratchRecords {
  readonly #database = openScratch(
    "create table scratch.rows (resource text, id integer, revision integer, body text, before integer, primary key (resource, id)) strict, without rowid",
  );
  readonly #put = this.#database.query<never, [string, number, number, string | null, number]>(
    "insert into scratch.rows (resource, id, revision, body, before) values (?, ?, ?, ?, ?) on conflict do update set revision = excluded.revision, body = excluded.body",
  );
  readonly #find = this.#database.query<ChangedRow, [string, number]>(
    "select resource, id, revision, body, before from scratch.rows where resource = ? and id = ?",
  );

  /** @param before ignored if the record was already changed */
  put({ resource, id, revision, body }: RecordRow, before: number): void {
    this.#put.run(resource, id, revision, body, before);
  }

  find({ resource, id }: RecordKey): ChangedRow | undefined {
    return this.#find.get(resource, id) ?? undefined;
  }

  close(): void {
    this.#database.close();
  }
}
