// Takes changes back: what was created is deleted, what was updated or deleted gets its earlier contents.

import { paced } from "../lib/event-loop.ts";
import { type Intent, type JournalEntry, type Outcome, operatorActor, versionOf } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { journal, otherHistory, type RevisionRange, revisionsOf } from "./history.ts";
import { type UndoneRecord, UndoneRecords, type UndoRange } from "./undone-records.ts";

export interface UndoOptions {
  /** Take back the changes to records that others have changed later, too: later changes are lost. */
  readonly force?: boolean | undefined;
  /** Report what would happen, and change nothing. */
  readonly dryRun?: boolean | undefined;
  /** Stops it before the next transaction. */
  readonly signal?: AbortSignal | undefined;
  /** Called before something is stored, with the revision after which all journal entries of this undo are. */
  readonly onStore?: ((revision: number) => void) | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A record that was left as it is, and why. */
interface LeftRecord {
  readonly resource: string;
  readonly id: number;
  /** The change by another that would have been lost; undefined if it or the earlier contents were pruned. */
  readonly changed: { readonly revision: number; readonly actor: string } | undefined;
}

export interface UndoSummary {
  /** Records that the range had created and that are deleted now. */
  deleted: number;
  /** Records that have their earlier contents again. */
  restored: number;
  /** Records that already are as they were. */
  unchanged: number;
  /** Records that were left as they are; the first of them are in `left`. */
  leftCount: number;
  readonly left: LeftRecord[];
  /** Records with changes in the range, of which the numbers above are less only if this was stopped. */
  records: number;
  /** Whether it was stopped. The same undo again does the rest. */
  interrupted: boolean;
  /** The journal entries of this undo; undefined if it changed nothing. */
  revisions: RevisionRange | undefined;
}

/** Records of one batch. */
const batchSize = 500;

/** Records that are changed in one transaction, all or none. Other writers wait about a second. */
const maxTogether = 50_000;

/** Records of each transaction where there are more than that. */
const portionSize = 5000;

/** Records left alone that are listed. */
const maxListed = 50_000;

/** Journal entries that are read at once. */
const pageSize = 1000;

/**
 * Takes back the changes in `range`, journaled like any other: of up to 50,000 records in one transaction, of more in portions. A record that
 * others change while this runs counts as changed later.
 * @throws Refusal `not-found` when there are no such changes or some were pruned, `conflict` when the site was restored or removed
 */
export async function undo(engine: Engine, site: number, range: UndoRange, options: UndoOptions): Promise<UndoSummary> {
  const [head] = (await engine.heads([site])) as [Head];
  const records = new UndoneRecords(range);
  try {
    await findRecords(engine, site, head, range, records, options.signal);
    return await new Undo(engine, site, head, options).takeBack(records);
  } finally {
    records.close();
  }
}

/** @throws Refusal `not-found` when there are none or some entries were pruned, `conflict` when the site has another history than `head` */
async function findRecords(
  engine: Engine,
  site: number,
  { epoch }: Head,
  range: UndoRange,
  records: UndoneRecords,
  signal: AbortSignal | undefined,
): Promise<void> {
  for await (const entry of journal(engine, site, range.since, epoch)) {
    if (signal?.aborted) return;
    records.add(entry);
  }
  if (records.size === 0) throw nothingToUndo(range);
  // Older programs wrote entries without the state before. The entries before have it.
  const end = records.lastUnknown;
  if (end === undefined) return;
  for await (const entry of journal(engine, site, undefined, epoch)) {
    if (entry.revision >= end || signal?.aborted) return;
    records.addEarlier(entry);
  }
}

/** One undo, portion by portion. */
class Undo {
  readonly #engine: Engine;
  readonly #site: number;
  readonly #head: Head;
  readonly #options: UndoOptions;
  readonly #summary: UndoSummary = {
    deleted: 0,
    restored: 0,
    unchanged: 0,
    leftCount: 0,
    left: [],
    records: 0,
    interrupted: false,
    revisions: undefined,
  };
  /** The records that others have changed since `#head`. */
  readonly #refused = new Map<string, Pick<LeftRecord, "resource" | "id">>();

  constructor(engine: Engine, site: number, head: Head, options: UndoOptions) {
    this.#engine = engine;
    this.#site = site;
    this.#head = head;
    this.#options = options;
  }

  async takeBack(records: UndoneRecords): Promise<UndoSummary> {
    this.#summary.records = records.size;
    const most = records.size > maxTogether ? portionSize : maxTogether;
    let intents: Intent[] = [];
    for await (const record of paced(records.records())) {
      if (this.#isStopped()) break;
      const intent = this.#toIntent(record);
      if (intent) intents.push(intent);
      if (intents.length < most) continue;
      await this.#store(intents);
      intents = [];
    }
    if (!this.#isStopped()) await this.#store(intents);
    if (this.#refused.size > 0) this.#leave(await this.#findChanged());
    return this.#summary;
  }

  #isStopped(): boolean {
    this.#summary.interrupted ||= this.#options.signal?.aborted ?? false;
    return this.#summary.interrupted;
  }

  /** What is to be done to a record; undefined, counted, if that is nothing. */
  #toIntent({ resource, id, before, isSame, last, other }: UndoneRecord): Intent | undefined {
    const { force, at } = this.#options;
    if (isSame) this.#summary.unchanged++;
    else if (before === undefined) this.#leave([{ resource, id, changed: undefined }]);
    else if (other && !force) this.#leave([{ resource, id, changed: other }]);
    else {
      const { epoch } = this.#head;
      const common = { site: this.#site, resource, id, actor: operatorActor, at, ifEpoch: epoch, isOptional: true };
      const ifVersion = force ? undefined : [versionOf(epoch, last)];
      return { ...common, ifVersion, operation: before === null ? "delete" : "restore", text: before ?? "{}" };
    }
    return undefined;
  }

  #leave(records: readonly LeftRecord[]): void {
    const { left } = this.#summary;
    for (const record of records.slice(0, maxListed - left.length)) left.push(record);
    this.#summary.leftCount += records.length;
  }

  /** Stores a portion in one transaction. */
  async #store(intents: readonly Intent[]): Promise<void> {
    if (intents.length === 0) return;
    const outcomes = this.#options.dryRun ? [] : await this.#commit(intents);
    if (outcomes.some(isOtherHistory)) throw otherHistory();
    const summary = this.#summary;
    intents.forEach((intent, index) => {
      const kind = outcomes[index]?.kind ?? "done";
      if (kind === "done" && intent.operation === "delete") summary.deleted++;
      else if (kind === "done") summary.restored++;
      // With `force`, only the delete of a record that others have just deleted is refused.
      else if (kind === "unchanged" || this.#options.force) summary.unchanged++;
      else this.#refuse(intent);
    });
    summary.revisions = revisionsOf(outcomes, summary.revisions);
  }

  #refuse({ resource, id }: Intent): void {
    if (this.#refused.size < maxListed) this.#refused.set(keyOf({ resource, id }), { resource, id: id as number });
    else this.#summary.leftCount++;
  }

  /** The outcomes, or with another history those up to its refusal. */
  async #commit(intents: readonly Intent[]): Promise<Outcome[]> {
    const batches = function* () {
      for (let from = 0; from < intents.length; from += batchSize) yield intents.slice(from, from + batchSize);
    };
    const all: Outcome[] = [];
    this.#options.onStore?.(this.#head.revision);
    try {
      await this.#engine.commitTogether(batches(), (outcomes) => void all.push(...outcomes));
    } catch (error) {
      throw withTakenBack(error, this.#summary);
    }
    return all;
  }

  /** The records that others changed after the head, with the last of these changes. */
  async #findChanged(): Promise<LeftRecord[]> {
    const changed = new Map<string, LeftRecord["changed"]>();
    for (let from: number | undefined = this.#head.revision; from !== undefined; ) {
      // Also those of another history: the undo is stored, so its summary must be complete.
      const { entries }: { entries: readonly JournalEntry[] } = await this.#engine.journal(this.#site, from, pageSize);
      for (const entry of entries) {
        const { revision, actor } = entry;
        if (this.#refused.has(keyOf(entry))) changed.set(keyOf(entry), { revision, actor });
      }
      from = entries.at(-1)?.revision;
    }
    return Array.from(this.#refused, ([key, record]) => ({ ...record, changed: changed.get(key) }));
  }
}

function keyOf({ resource, id }: { readonly resource: string; readonly id?: number | undefined }): string {
  return `${resource}/${id}`;
}

/** The error of an undo that failed, with what was stored before. */
function withTakenBack(error: unknown, { deleted, restored, records }: UndoSummary): unknown {
  if (!(error instanceof Refusal) || deleted + restored === 0) return error;
  const stored = `${deleted} of ${records} records were deleted and ${restored} restored before; the same undo again does the rest`;
  return new Refusal(error.code, `${error.message}; ${stored}`, { cause: error });
}

function nothingToUndo({ since, until, run }: UndoRange): Refusal {
  const end = until === undefined ? "" : ` up to ${until}`;
  return new Refusal(
    "not-found",
    `there are no changes after revision ${since}${end}${run ? ` of the run ${run}` : ""}`,
  );
}

function isOtherHistory(outcome: Outcome): boolean {
  return outcome.kind === "refused" && outcome.why === "other-history";
}
