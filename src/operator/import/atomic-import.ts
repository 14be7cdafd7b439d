// Stores all rows of an import in one transaction (`--atomic`), after all of them were read and are valid.
//
// The rows were matched while the file was read, which may have taken long. So each attempt catches up and matches them again. If others then move the
// match value of a row before the transaction, the engine rejects that intent, nothing is stored, and the next attempt begins.

import type { Intent, Outcome } from "../../model/change.ts";
import type { NumberedRow } from "./file-rows.ts";
import { type ImportContext, isMatchChanged, maxMatches } from "./import-context.ts";
import type { PendingRow, SpooledRows } from "./spooled-rows.ts";

/** Commits the spooled rows, all or none. If one is rejected, the summary counts it, and nothing is stored. */
export async function commitSpooledRows(context: ImportContext, spooled: SpooledRows): Promise<void> {
  const { matcher, options, counter } = context;
  for (let attempts = 1; ; attempts++) {
    if (!options.dryRun) await matcher.catchUp();
    const attempt = new AtomicAttempt(context, spooled, attempts < maxMatches);
    if (await attempt.commit()) return;
    counter.resetStored();
  }
}

/** One transaction with all rows. */
class AtomicAttempt {
  readonly #context: ImportContext;
  readonly #spooled: SpooledRows;
  readonly #mayRepeat: boolean;
  /** The batches that the engine has requested, and whose outcomes it has not reported yet, in their order. */
  readonly #undecided: (readonly PendingRow[])[] = [];
  #hasMovedMatch = false;
  /** The row that could not be matched again, and why. It ends the transaction. */
  #unmatched: { readonly row: NumberedRow; readonly error: unknown } | undefined;

  /** @param mayRepeat whether another attempt follows if others have moved the match value of a row; otherwise, the row is rejected */
  constructor(context: ImportContext, spooled: SpooledRows, mayRepeat: boolean) {
    this.#context = context;
    this.#spooled = spooled;
    this.#mayRepeat = mayRepeat;
  }

  /** Returns false if nothing was stored and another attempt must follow. */
  async commit(): Promise<boolean> {
    const { engine } = this.#context;
    await this.#context.requireSameMachine();
    try {
      await engine.commitAtomically(this.#batches(), (outcomes) => this.#count(outcomes));
    } catch (error) {
      // The engine reports the error of `#batches` in its own way.
      if (!this.#unmatched) throw error;
      await this.#context.rejectOrThrow(this.#unmatched.row, this.#unmatched.error);
      return true;
    }
    return !this.#hasMovedMatch;
  }

  *#batches(): Generator<readonly Intent[]> {
    for (const batch of this.#spooled.batches()) {
      this.#context.options.signal?.throwIfAborted();
      const matched = batch.map((pending) => this.#matchAgain(pending));
      this.#undecided.push(matched);
      yield this.#context.intentsOf(matched);
    }
  }

  #matchAgain(pending: PendingRow): PendingRow {
    try {
      return this.#context.matchAgain(pending);
    } catch (error) {
      this.#unmatched = { row: pending.row(), error };
      throw error;
    }
  }

  async #count(outcomes: readonly Outcome[]): Promise<void> {
    this.#hasMovedMatch = this.#mayRepeat && outcomes.some(isMatchChanged);
    await this.#context.handleOutcomes(this.#undecided.shift() ?? [], outcomes, this.#mayRepeat);
    const { rows, created, updated, unchanged } = this.#context.counter.summary;
    // All rows are valid now. Before this point, an error leaves nothing stored.
    if (created + updated + unchanged === rows) this.#context.notifyBeforeCommit();
  }
}
