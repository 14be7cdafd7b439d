// Stores writes that find their record by a match value (record-match.ts): each for itself, or all in one transaction. If other writers have changed
// the match of a write, its outcome is `match-changed`, and nothing of it is stored. Then it is rematched and committed again, up to five times in all.
//
// An example of all in one transaction (`commitAllMatched`): 1,200 writes in three batches. Write 700 was matched with brand 7, by its account number A-1.
//
// (1) Attempt 1: the outcome of write 700 is `match-changed`, because another client has moved A-1 to brand 9. The transaction ends, and nothing is stored.
// (2) Attempt 2 begins with `catchUp`, and rematches each write when the engine requests its batch. Write 700 becomes an update of brand 9. All are stored.
// (3) If attempt 2 fails for the same write as of the same revision, no other client has changed anything: an earlier write of the same transaction moves
//     Another attempt would fail too, so the write is rejected, or left out of attempt 3 if it is optional.
// (4) In attempt 5, a match that has changed is rejected in any case. An optional write is left out of attempt 6 instead, so that the others are stored.
//     For further such writes, attempts 7 to 10 follow.

import type { Intent, Outcome, RejectedOutcome } from "../../model/change.ts";
import type { OnOutcomes } from "../../model/engine.ts";
import { ProblemError, RetryableError } from "../../model/errors.ts";

/** A write to store. */
export interface PendingWrite {
  readonly intent: Intent;
  /** Returns the intent for the present match, as `rematchIntent` does. Undefined for a write without a match value. @throws ProblemError `invalid-record` */
  readonly rematch?: ((intent: Intent) => Intent) | undefined;
}

/** The final result of a write: its outcome, or the error `invalid-record` if it cannot be matched any more. */
export type WriteResult = Outcome | ProblemError;

interface MatchedWriteHandlers<W> {
  /** Catches up to the present records, which `rematch` of the writes then finds. */
  readonly catchUp: () => Promise<void>;
  /** Gets the final result of each write. */
  readonly onResult: (write: W, result: WriteResult) => void | Promise<void>;
}

/** Maximum attempts to store a write whose match other writers change again and again. */
const maxAttempts = 5;

/**
 * Stores writes, each for itself. Rematches those whose match has changed, and commits these again.
 * @param onOutcomes called after each commit and after `onResult` of its writes, with all outcomes
 */
export async function commitEachMatched<W extends PendingWrite>(
  commit: (intents: readonly Intent[]) => Promise<readonly Outcome[]>,
  writes: readonly W[],
  { catchUp, onResult, onOutcomes }: MatchedWriteHandlers<W> & { readonly onOutcomes: OnOutcomes },
): Promise<void> {
  let batch = writes;
  for (let attempt = 1; batch.length > 0; attempt++) {
    const outcomes = await commit(batch.map(({ intent }) => intent));
    const again: W[] = [];
    for (const [index, write] of batch.entries()) {
      const outcome = outcomes[index] as Outcome;
      if (attempt < maxAttempts && isMatchChanged(outcome)) again.push(write);
      else await onResult(write, outcome);
    }
    await onOutcomes(outcomes);
    if (again.length > 0) await catchUp();
    batch = await rematchEach(again, onResult);
  }
}

/** Returns the writes that still can be matched, and reports the others. */
async function rematchEach<W extends PendingWrite>(
  writes: readonly W[],
  onResult: MatchedWriteHandlers<W>["onResult"],
): Promise<readonly W[]> {
  const matched: W[] = [];
  for (const write of writes) {
    const result = rematched(write);
    if (result instanceof ProblemError) await onResult(write, result);
    else matched.push(result);
  }
  return matched;
}

function rematched<W extends PendingWrite>(write: W): W | ProblemError {
  if (!write.rematch) return write;
  try {
    return { ...write, intent: write.rematch(write.intent) };
  } catch (error) {
    if (error instanceof ProblemError && error.code === "invalid-record") return error;
    throw error;
  }
}

/** The commit of all batches in one transaction, as `Engine.commitAtomically`. */
type CommitAll<R> = (batches: Iterable<readonly Intent[]>, onOutcomes: OnOutcomes) => Promise<R>;

/**
 * Stores all writes in one transaction, or none. Rematches them before each attempt, because much time may have passed since they were matched. A write
 * with `isOptional` that cannot be matched any more is left out, and so is one whose match has changed in each attempt.
 * @param batches returns the same batches, each of at most 500 writes, at each call. No write may change the match of a later one: if it does, the
 *   outcome of the later write is `match-changed`
 * @param handlers.onAttempt called before each attempt. The results before it do not count any more
 * @returns the result of the last commit; undefined if nothing was stored, because a write that is not optional cannot be matched any more
 * @throws RetryableError if the matches of optional writes change again and again; the errors of `commit`
 */
export async function commitAllMatched<W extends PendingWrite, R>(
  commit: CommitAll<R>,
  batches: () => Iterable<readonly W[]>,
  handlers: MatchedWriteHandlers<W> & { readonly onAttempt: () => void | Promise<void> },
): Promise<R | undefined> {
  const leftOut = new Set<number>();
  let changed: ChangedMatch | undefined;
  for (let number = 1; number <= 2 * maxAttempts; number++) {
    await handlers.catchUp();
    await handlers.onAttempt();
    const attempt = new Attempt(batches, handlers.onResult, { isLast: number >= maxAttempts, changed, leftOut });
    const result = await attempt.commit(commit);
    if (!attempt.changed) return result;
    changed = attempt.changed;
  }
  throw new RetryableError("other writers keep moving the values of this request to other records");
}

/** The number of a write, from 1, if its match has changed; and the revision of its match before. */
interface ChangedMatch {
  readonly number: number;
  readonly revision: number | undefined;
}

interface AttemptOptions {
  /** Whether a write whose match changes is rejected or left out. Otherwise another attempt follows. */
  readonly isLast: boolean;
  /** The write whose match had changed in the attempt before. */
  readonly changed: ChangedMatch | undefined;
  /** The numbers of the writes that are left out, because their match has changed in each attempt. */
  readonly leftOut: Set<number>;
}

/** One transaction with all writes. */
class Attempt<W extends PendingWrite> {
  /** The write whose match has changed, if another attempt must follow. */
  changed: ChangedMatch | undefined;
  readonly #batches: () => Iterable<readonly W[]>;
  readonly #onResult: MatchedWriteHandlers<W>["onResult"];
  readonly #options: AttemptOptions;
  /** The batches that the engine has requested, and whose outcomes it has not reported yet, in their order. */
  readonly #undecided: { readonly write: W; readonly number: number }[][] = [];
  /** The results of the writes that are left out. */
  readonly #leftOut: { readonly write: W; readonly result: WriteResult }[] = [];
  /** The write that cannot be matched any more. It ends the transaction. */
  #unmatched: { readonly write: W; readonly error: ProblemError } | undefined;

  constructor(
    batches: () => Iterable<readonly W[]>,
    onResult: MatchedWriteHandlers<W>["onResult"],
    options: AttemptOptions,
  ) {
    this.#batches = batches;
    this.#onResult = onResult;
    this.#options = options;
  }

  async commit<R>(commit: CommitAll<R>): Promise<R | undefined> {
    let result: R | undefined;
    try {
      result = await commit(this.#intents(), (outcomes) => this.#report(outcomes));
    } catch (error) {
      // The engine reports the error of `#intents` in its own way.
      if (!this.#unmatched) throw error;
      await this.#onResult(this.#unmatched.write, this.#unmatched.error);
    }
    for (const { write, result: one } of this.#leftOut) await this.#onResult(write, one);
    return result;
  }

  *#intents(): Generator<readonly Intent[]> {
    let number = 0;
    for (const batch of this.#batches()) {
      const undecided: { write: W; number: number }[] = [];
      for (const write of batch) {
        const matched = this.#rematch(write, ++number);
        if (matched) undecided.push({ write: matched, number });
      }
      if (undecided.length === 0) continue;
      this.#undecided.push(undecided);
      yield undecided.map(({ write }) => write.intent);
    }
  }

  /** Returns undefined for a write that is left out. @throws ProblemError if a write that is not optional cannot be matched any more */
  #rematch(write: W, number: number): W | undefined {
    const result = this.#options.leftOut.has(number) ? matchChanged : rematched(write);
    if ("intent" in result) return result;
    if (result instanceof ProblemError && !write.intent.isOptional) {
      this.#unmatched = { write, error: result };
      throw result;
    }
    this.#leftOut.push({ write, result });
    return undefined;
  }

  async #report(outcomes: readonly Outcome[]): Promise<void> {
    const batch = this.#undecided.shift() ?? [];
    for (const [index, outcome] of outcomes.entries()) {
      const { write, number } = batch[index] as (typeof batch)[number];
      if (isMatchChanged(outcome) && this.#mayRepeat(write, number))
        this.changed = { number, revision: write.intent.ifStillMatched?.revision };
      else {
        // Awaiting nothing would take as long as the rest.
        const handled = this.#onResult(write, outcome);
        if (handled) await handled;
      }
    }
  }

  /** Whether another attempt follows for a write whose match has changed. If not, it is rejected or, if it is optional, left out in the next attempt. */
  #mayRepeat({ intent }: W, number: number): boolean {
    const { isLast, changed, leftOut } = this.#options;
    // The same write again, as of the same revision: it is another write of this transaction that has changed the match.
    const isOwn = changed?.number === number && changed.revision === intent.ifStillMatched?.revision;
    if (!isLast && !isOwn) return true;
    if (intent.isOptional) leftOut.add(number);
    return intent.isOptional === true;
  }
}

const matchChanged: RejectedOutcome = { kind: "rejected", rejectionReason: "match-changed" };

function isMatchChanged(outcome: Outcome): boolean {
  return outcome.kind === "rejected" && outcome.rejectionReason === "match-changed";
}
