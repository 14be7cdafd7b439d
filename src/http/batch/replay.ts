// Replays a batch or an undo that is repeated with its idempotency key. What's stored for a batch (`StoredBatch`) is the run, and the operations that changed
// nothing. The rest of its results is rebuilt from the journal.

import { randomText } from "../../lib/text.ts";
import { chunksOf, yieldBetween, yieldToEventLoop } from "../../lib/yielding.ts";
import type { AcceptedOutcome, Intent, JournalEntry, Outcome } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, Engine, StoredBatch } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { type RecordKey, toKeyText } from "../../model/record-key.ts";
import { parseRun } from "../../model/run.ts";
import type { WriteQueue } from "../../store/writes/write-queue.ts";
import type { AuthorizedIntent } from "../authorization/authorized-intent.ts";
import { idempotencyKeyReusedError } from "../common/parameters.ts";
import type { OperationResult } from "./batch.ts";
import type { CheckedOperation, CheckedWrite, NamedWrite } from "./check-operations.ts";
import { rejectionProblem } from "./operation-problems.ts";

/**
 * Returns the stored response if the transaction found one for its idempotency key.
 * @throws ProblemError `idempotency-key-reused`
 */
export function storedResponseIn(result: AtomicCommitResult): StoredBatch | undefined {
  if (result.kind === "idempotency-key-reused") throw idempotencyKeyReusedError();
  return result.kind === "replayed" ? result.stored : undefined;
}

/**
 * Looks for the stored response without storing anything.
 * @param base the request's authorization
 * @param resource the name of any resource
 */
export async function findStoredResponse(
  writeQueue: Pick<WriteQueue, "commitAtomically">,
  base: AuthorizedIntent,
  resource: string,
  idempotency: AtomicCommitOptions["idempotency"],
): Promise<StoredBatch | undefined> {
  // No record has one of no versions, so this intent is always rejected.
  const never = { resource, operation: "delete", id: 1, valuesJson: "{}", ifVersion: [], isOptional: false } as const;
  const rejected: Intent = { ...base, ...never };
  const options = { run: { id: randomText(8), size: 1 }, idempotency };
  return storedResponseIn(await writeQueue.commitAtomically(base.site, [[rejected]], () => {}, options));
}

/** Entries, or rows, per read. */
const readSize = 500;

type ReplayReads = Pick<Engine, "readJournalPage" | "readRows">;

/**
 * Returns the results of a stored batch, one per operation. Yields to the event loop in between.
 * @param checked the operations of the repeated request, which are the same
 * @throws ProblemError `idempotency-key-reused` if changes have been pruned from the journal, or if this version of the program can't rebuild a result
 */
export async function rebuildResults(
  engine: ReplayReads,
  site: number,
  checked: readonly CheckedOperation[],
  stored: StoredBatch,
): Promise<readonly OperationResult[]> {
  const intended = checked.flatMap((one, index) => (one.kind === "faulty" ? [] : [{ one, index }]));
  if (intended.length !== stored.size) throw lostError(stored, "another version of the program stored it");
  const outcomes = await new StoredOutcomes(engine, site, stored).read(intended.map(({ one }) => one));
  const results = new Map<number, OperationResult>();
  for await (const [position, { one, index }] of yieldBetween(intended.entries())) {
    const outcome = outcomes[position] as Outcome;
    const result = outcome.kind === "rejected" ? { problem: rejectionProblem(outcome, one) } : { outcome };
    results.set(index, result);
  }
  for await (const [index, one] of yieldBetween(checked.entries()))
    if (one.kind === "faulty") results.set(index, { problem: one.problem });
  return checked.map((_, index) => results.get(index) as OperationResult);
}

function lostError({ run }: StoredBatch, reason: string): ProblemError {
  const stored = run === null ? "already handled" : `stored as run ${run}`;
  const detail = `this batch was ${stored}, but the response is gone: ${reason}. Don't send it again`;
  return new ProblemError("idempotency-key-reused", detail);
}

class StoredOutcomes {
  readonly #engine: ReplayReads;
  readonly #site: number;
  readonly #stored: StoredBatch;

  constructor(engine: ReplayReads, site: number, stored: StoredBatch) {
    this.#engine = engine;
    this.#site = site;
    this.#stored = stored;
  }

  /** Returns the outcomes of all writes, in order. */
  async read(writes: readonly CheckedWrite[]): Promise<readonly Outcome[]> {
    const { notDone, size } = this.#stored;
    const { entries, epoch } = await this.#readEntries(size - notDone.length);
    const bodies = await this.#readUnchanged(writes);
    const byIndex = new Map(notDone.map((one) => [one.index, one]));
    let next = 0;
    return writes.map((_, index): Outcome => {
      const one = byIndex.get(index);
      if (one?.kind === "rejected") return one;
      if (!one) return toReplayed(entries[next++] as JournalEntry, epoch);
      const { id, revision } = one;
      return { kind: "unchanged", operation: "update", id, epoch, revision, body: bodies.get(index) as string };
    });
  }

  /** Reads the run's entries, which are contiguous. @param count how many changes it has */
  async #readEntries(count: number): Promise<{ readonly entries: readonly JournalEntry[]; readonly epoch: string }> {
    const { run } = this.#stored;
    const { first } = (run === null ? undefined : parseRun(run)) ?? { first: 1 };
    const entries: JournalEntry[] = [];
    for (;;) {
      const wanted = Math.min(readSize, count - entries.length);
      const page = await this.#engine.readJournalPage(this.#site, first + entries.length - 1, Math.max(1, wanted));
      await yieldToEventLoop();
      if (wanted === 0) return { entries, epoch: page.head.epoch };
      for (const entry of page.entries) {
        if (entry.run !== run || entry.revision !== first + entries.length) throw this.#prunedError();
        entries.push(entry);
      }
      if (page.entries.length < wanted) throw this.#prunedError();
    }
  }

  /** Reads the records that didn't change, as they were then. Returns their bodies by the index of the write. */
  async #readUnchanged(writes: readonly CheckedWrite[]): Promise<ReadonlyMap<number, string>> {
    const bodies = new Map<number, string>();
    const unchanged = this.#stored.notDone.flatMap((one) =>
      one.kind === "unchanged" ? [{ ...one, resource: (writes[one.index] as NamedWrite).resource.name }] : [],
    );
    for (const chunk of chunksOf(unchanged, readSize)) {
      const { rows } = await this.#engine.readRows(this.#site, uniqueKeys(chunk));
      const byKey = new Map(rows.map((row) => [toKeyText(row), row]));
      await yieldToEventLoop();
      for (const one of chunk) {
        const row = byKey.get(toKeyText(one));
        const isSame = row?.revision === one.revision && row.body !== null;
        bodies.set(one.index, isSame ? row.body : await this.#readBodyAt(one.revision));
      }
    }
    return bodies;
  }

  /** Reads the record after the change `revision`, from the journal. */
  async #readBodyAt(revision: number): Promise<string> {
    const { entries } = await this.#engine.readJournalPage(this.#site, revision - 1, 1);
    await yieldToEventLoop();
    const [entry] = entries;
    if (entry?.revision !== revision) throw this.#prunedError();
    return entry.body;
  }

  #prunedError(): ProblemError {
    return lostError(this.#stored, "its changes have been pruned from the journal");
  }
}

function uniqueKeys(keys: readonly RecordKey[]): readonly RecordKey[] {
  return [...new Map(keys.map(({ resource, id }) => [toKeyText({ resource, id }), { resource, id }])).values()];
}

function toReplayed({ operation, id, revision, body }: JournalEntry, epoch: string): AcceptedOutcome {
  return { kind: "replayed", operation, id, epoch, revision, body };
}
