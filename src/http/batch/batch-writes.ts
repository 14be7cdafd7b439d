// The writes of a batch request: makes an intent of each operation, and finds records by match values (`match`).
//
// An example, with `match=AccountNumber`: operation 4 is PUT brands {"AccountNumber":"A-1","Address":{"Town":"Oslo"}}.
//
// (1) `prepare` finds the records of all match values of the request in one pass over the snapshot (`SnapshotFinder`). Brand 7 has A-1. The operation
//     is validated as changes of a record. It becomes an update of brand 7, with the condition that its match has not changed (`ifStillMatched`).
// (2) If the transaction rejects this condition, matched-writes.ts calls `catchUp`, and then `rematch` of the write. If no brand has A-1 by now,
//     the operation is validated as a new record. It lacks the required `Name`, so it has a fault and no intent.
// (3) `faults` has the problem of each operation without an intent. A fault that depends on records also has a short form (`MatchFault`).
//     It is stored with the idempotency key, because a repeated request must get the same fault, and by then the site can have other records.
// (4) After a dry run that was confirmed, `conditionOn` allows only the records, revisions and IDs of the dry run.

import { chunksOf, createYielder } from "../../lib/yielding.ts";
import { type Intent, versionOf } from "../../model/change.ts";
import { invalidRecordError, ProblemError } from "../../model/errors.ts";
import { toKeyText } from "../../model/record-key.ts";
import type { Resource, TextFieldPath } from "../../model/resource.ts";
import type { SiteView, SiteViews } from "../../store/reads/site-views.ts";
import type { PendingWrite } from "../../store/writes/matched-writes.ts";
import { type Match, matchByValue, toMatchedChange } from "../../store/writes/record-match.ts";
import { SnapshotFinder } from "../../store/writes/snapshot-finder.ts";
import type { AuthorizedIntent } from "../authorization/authorized-intent.ts";
import { noMatchProblem } from "./batch-faults.ts";
import { type CheckedOperation, type CheckedWrite, type MatchedWrite, matchError } from "./check-operations.ts";
import { type MatchFault, noMatchFault } from "./match-faults.ts";
import type { Faults } from "./request-problem.ts";

/** The write of an operation. */
export interface OperationWrite extends PendingWrite {
  /** The index of the operation in its request. */
  readonly index: number;
  readonly checked: CheckedWrite;
}

/** A record that a dry run would change, and its revision. A record that the dry run would create has its future ID, and revision 0. */
export interface TouchedRecord {
  readonly resource: string;
  readonly id: number;
  readonly revision: number;
}

/** A part of a request that belongs to all of its intents. */
type IntentBase = AuthorizedIntent & Pick<Intent, "isOptional">;

interface FinderOptions {
  readonly siteViews: Pick<SiteViews, "getUpToDate">;
  readonly siteView: SiteView;
  /** Whether the client still waits. */
  readonly isWanted: () => boolean;
}

/** Maximum writes in a batch of the transaction. */
const writesPerBatch = 500;

export class BatchWrites {
  readonly #checked: readonly CheckedOperation[];
  readonly #base: IntentBase;
  readonly #finder: SnapshotFinder | undefined;
  #writes: readonly OperationWrite[] = [];
  /** The problems of the operations whose check has failed, by their index. */
  readonly #checkFaults = new Map<number, ProblemError>();
  /** The faults that depend on the records of the site, as of the last search for matches, by the index of the operation. */
  readonly #matchFaults = new Map<number, { readonly fault: MatchFault; readonly problem: ProblemError }>();
  /** The index of the operation of each intent that was matched. */
  readonly #indexes = new WeakMap<Intent, number>();
  /** Whether each write may only touch what a dry run has shown. */
  #isConditional = false;

  private constructor(checked: readonly CheckedOperation[], base: IntentBase, finder: SnapshotFinder | undefined) {
    this.#checked = checked;
    this.#base = base;
    this.#finder = finder;
    for (const [index, one] of checked.entries()) if (one.kind === "faulty") this.#checkFaults.set(index, one.problem);
  }

  /**
   * Makes the intents of operations, and finds their matches. Yields to the event loop in between.
   * @throws OutdatedError if the site has another epoch than its view; AbandonedWorkError if the client does not wait any more
   */
  static async prepare(
    checked: readonly CheckedOperation[],
    base: IntentBase,
    options: FinderOptions,
  ): Promise<BatchWrites> {
    const finder = await openFinder(checked, options);
    const writes = new BatchWrites(checked, base, finder);
    await writes.#makeAll();
    return writes;
  }

  /** The problems of the operations without a write, and of operations that could not be matched at the last search. */
  get faults(): Faults {
    if (this.#matchFaults.size === 0) return this.#checkFaults;
    const faults = new Map(this.#checkFaults);
    for (const [index, { problem }] of this.#matchFaults) faults.set(index, problem);
    return faults;
  }

  /** The writes of the operations without a fault. */
  get all(): readonly OperationWrite[] {
    return this.#writes;
  }

  /** Returns the problem of an operation that could not be matched at the last search; undefined if it was matched. */
  matchProblemOf(index: number): ProblemError | undefined {
    return this.#matchFaults.get(index)?.problem;
  }

  /** Returns the writes in batches for a transaction. */
  batches(): Iterable<readonly OperationWrite[]> {
    return chunksOf(this.#writes, writesPerBatch);
  }

  /** Catches up to the present records of the site, so that the writes can be matched again. */
  async catchUp(): Promise<void> {
    await this.#finder?.catchUp();
  }

  /** Matches all operations again, after `catchUp`. */
  async makeAgain(): Promise<void> {
    await this.catchUp();
    await this.#makeAll();
  }

  /** Returns the faults of the operations to match that have no intent in a transaction. @param batches the intents of the transaction */
  matchFaultsOutside(batches: readonly (readonly Intent[])[]): readonly MatchFault[] {
    if (!this.#finder) return [];
    const matched = new Set(batches.flatMap((batch) => batch.map((intent) => this.#indexes.get(intent))));
    const faults: MatchFault[] = [];
    for (const [index, { kind }] of this.#checked.entries()) {
      if (kind !== "matched" || matched.has(index)) continue;
      faults.push(this.#matchFaults.get(index)?.fault ?? [index, "moved"]);
    }
    return faults;
  }

  /**
   * Adds conditions, so that only the result of a dry run can be stored: a create gets the ID of the dry run, and each other record must have the
   * revision of the dry run.
   * @param touched one of each write, in order
   */
  conditionOn(touched: readonly TouchedRecord[], epoch: string): void {
    const seen = new Set<string>();
    this.#isConditional = true;
    this.#writes = this.#writes.map((write, index) => {
      const { resource, id, revision } = touched[index] as TouchedRecord;
      const name = toKeyText({ resource, id });
      const isFirst = !seen.has(name);
      seen.add(name);
      const condition = isFirst && revision > 0 ? { ifVersion: [versionOf(epoch, revision)] } : {};
      return this.#toWrite(write.index, write.checked, { ...write.intent, id, ...condition });
    });
  }

  async #makeAll(): Promise<void> {
    const writes: OperationWrite[] = [];
    const yieldIfDue = createYielder();
    this.#matchFaults.clear();
    this.#isConditional = false;
    for (const [index, checked] of this.#checked.entries()) {
      await yieldIfDue();
      const intent = checked.kind === "faulty" ? undefined : this.#makeIntent(index, checked);
      if (intent) writes.push(this.#toWrite(index, checked as CheckedWrite, intent));
    }
    this.#writes = writes;
  }

  #toWrite(index: number, checked: CheckedWrite, intent: Intent): OperationWrite {
    if (checked.kind === "named") return { index, checked, intent };
    this.#indexes.set(intent, index);
    const rematch = (before: Intent) => {
      const again = this.#makeMatched(index, checked, before);
      this.#indexes.set(again, index);
      return again;
    };
    return { index, checked, intent, rematch };
  }

  /** Returns undefined if the operation cannot be matched; then its fault is known. */
  #makeIntent(index: number, checked: CheckedWrite): Intent | undefined {
    if (checked.kind === "named") {
      const { resource, operation, id, valuesJson, ifVersion } = checked;
      return { ...this.#base, resource: resource.name, operation, id, valuesJson, ifVersion };
    }
    try {
      return this.#makeMatched(index, checked);
    } catch (error) {
      if (this.#matchFaults.has(index)) return undefined;
      throw error;
    }
  }

  /** @param before the intent for the match before, if there was one @throws ProblemError `invalid-record` after the fault was added */
  #makeMatched(index: number, checked: MatchedWrite, before?: Intent): Intent {
    this.#matchFaults.delete(index);
    const match = this.#orFault(
      index,
      (error) => noMatchFault(index, error),
      () => this.#match(checked, before),
    );
    const { kind, id, ifStillMatched } = match;
    if (before && kind === before.operation && (id === before.id || this.#isConditional))
      return { ...before, ifStillMatched };
    const change = this.#orFault(
      index,
      () => [index, kind],
      () => toChange(checked, match),
    );
    return { ...this.#base, ...change, ifVersion: checked.ifVersion };
  }

  #orFault<T>(index: number, toFault: (error: ProblemError) => MatchFault, work: () => T): T {
    try {
      return work();
    } catch (problem) {
      if (!(problem instanceof ProblemError)) throw problem;
      this.#matchFaults.set(index, { fault: toFault(problem), problem });
      // The caller leaves out a write with this error; the problem of the operation can have another code.
      throw problem.code === "invalid-record" ? problem : invalidRecordError(problem.fieldErrors);
    }
  }

  /** @throws ProblemError if the write may not have the match that is found */
  #match(checked: MatchedWrite, before: Intent | undefined): Match {
    const { resource, field, value, ifMatch, movedBy } = checked;
    const match = matchByValue(this.#finder as SnapshotFinder, resource.name, { keys: field.keys, value });
    if (match.kind === "create" && ifMatch !== undefined) throw noMatchProblem(checked);
    const move = match.kind === "update" ? movedBy(match.id) : undefined;
    if (move !== undefined)
      throw matchError(field, `operation ${move} deletes the record with this value, or changes the value`);
    const isOther = match.kind !== before?.operation || (match.kind === "update" && match.id !== before.id);
    if (this.#isConditional && isOther)
      throw new ProblemError("precondition-failed", "another record has this value now");
    return match;
  }
}

function toChange(checked: MatchedWrite, match: Match) {
  const { resource, fields, fieldErrors, canonical } = checked;
  if (match.kind === "create" || !canonical) return toMatchedChange(resource, match, fields, fieldErrors);
  const { id, ifStillMatched } = match;
  return { resource: resource.name, operation: match.kind, id, valuesJson: canonical.valuesJson, ifStillMatched };
}

/** Returns undefined if no operation has to be matched. */
async function openFinder(
  checked: readonly CheckedOperation[],
  { siteViews, siteView, isWanted }: FinderOptions,
): Promise<SnapshotFinder | undefined> {
  const wanted = new Map<Resource, { resource: Resource; textField: TextFieldPath; texts: Set<string> }>();
  for (const one of checked) {
    if (one.kind !== "matched") continue;
    const { resource, field: textField, value } = one;
    const ofResource = wanted.get(resource) ?? { resource, textField, texts: new Set<string>() };
    ofResource.texts.add(value);
    wanted.set(resource, ofResource);
  }
  if (wanted.size === 0) return undefined;
  return SnapshotFinder.open(siteView, { siteViews, wanted: [...wanted.values()], isWanted });
}
