// The state of a transaction whose batches are decided one after the other (batch.ts): the run, the records that the run has created, and the response for
// an idempotency key. Like the decisions, this code uses no clock and no database.
//
// An example: the site has revision 17. A transaction with a run and an idempotency key has three intents: create a brand; update brand 7 with values
// that it has since revision 12; create another brand.
//
// (1) `findReplay` finds no stored response, so the intents are decided.
// (2) The first create gets revision 18. So `runOf` returns `k3J9aZ0q-18-3` for this and all later changes: they have revisions from 18 to 20.
// (3) `trackOutcome` adds the update to the intents without a change: index 1, ID 7, revision 12.
// (4) `toResponse` returns the response to store: {"Run":"k3J9aZ0q-18-3","Not":[[1,7,12]],"Pre":"..."}. It has no records. For
//     a repeated request, the caller reads the changes of the run from the journal, and brand 7 as of revision 12. `Pre` is its own text (`replayData`).

import type { Intent, Outcome, RejectedOutcome } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, NotDone, StoredBatch } from "../../model/engine.ts";
import { idempotencyLifetimeMs } from "../../model/limits.ts";
import { toRunId } from "../../model/run.ts";
import type { JournalRow, ResponseRow, StoredResponse } from "./batch-rows.ts";
import { PresentMatches } from "./present-matches.ts";

/** The primary key of a stored response. */
type ResponseKey = Pick<ResponseRow, "site_id" | "key_id" | "name">;

/** The record of a stored response (`ResponseRow.body`) of a whole transaction. `Not` has the index of each intent, and what became of it. */
interface StoredBody {
  readonly Run: string | null;
  readonly Not: readonly (
    | readonly [index: number, id: number, revision: number]
    | readonly [index: number, reason: string, more?: Pick<RejectedOutcome, "found" | "revision">]
  )[];
  readonly Pre: string;
}

/** One transaction, while its batches are decided. */
export class BatchTransaction {
  /** What has changed since the writers of upserts looked up their records. */
  readonly presentMatches: PresentMatches;
  readonly #options: AtomicCommitOptions;
  /** The IDs of the records that the run has created, by resource. */
  readonly #created = new Map<string, Set<number>>();
  readonly #notDone: StoredBody["Not"][number][] = [];
  /** The number of intents that were decided. */
  #size = 0;
  #run: string | null = null;
  #lastRevision = 0;
  #isAborted = false;

  /** @param options of a transaction of several batches: without a run, any number of batches. Undefined for a transaction of one batch */
  constructor(options?: AtomicCommitOptions) {
    this.#options = options ?? {};
    const several = options?.run ? "run" : "large";
    this.presentMatches = new PresentMatches(options ? several : "batch");
  }

  /** Whether a rejected intent has ended the transaction. Then nothing of it is stored. */
  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** The result, once the transaction was committed or rolled back. */
  get result(): AtomicCommitResult {
    return this.#isAborted ? { kind: "aborted" } : { kind: "committed", run: this.#run };
  }

  /** The key of the stored response to read before anything is decided; undefined if the transaction has no idempotency key. */
  get responseKey(): ResponseKey | undefined {
    const { idempotency } = this.#options;
    return idempotency && { site_id: idempotency.site, key_id: idempotency.keyId, name: idempotency.name };
  }

  /** Returns the result that a stored response gives, instead of storing anything; undefined without a response, or if it has expired. */
  findReplay(response: StoredResponse | null | undefined): AtomicCommitResult | undefined {
    const { idempotency } = this.#options;
    if (!idempotency || !response || response.at <= idempotency.at - idempotencyLifetimeMs) return undefined;
    if (response.digest !== idempotency.digest) return { kind: "idempotency-key-reused" };
    return { kind: "replayed", stored: toStoredBatch(response) };
  }

  /** Returns the run of the journal entry `revision`. The first entry of a transaction decides the ID of its run. */
  runOf(intent: Intent, revision: number): string | null {
    const { run } = this.#options;
    if (!run) return intent.run ?? null;
    this.#run ??= toRunId(run.id, revision, run.size);
    return this.#run;
  }

  /** Whether the intent names a record that its own run has created. The writer cannot have seen it. */
  hasCreated({ operation, resource, id }: Intent): boolean {
    if (id === undefined || operation === "create") return false;
    return this.#created.get(resource)?.has(id) ?? false;
  }

  /** Tracks a change of this transaction. */
  trackChange(change: JournalRow): void {
    const { site_id: site, resource, id, operation, revision } = change;
    this.presentMatches.track(site, change);
    this.#lastRevision = revision;
    if (!this.#options.run || operation !== "create") return;
    const created = this.#created.get(resource);
    if (created) created.add(id);
    else this.#created.set(resource, new Set([id]));
  }

  /** Tracks the outcome of the next intent. */
  trackOutcome(outcome: Outcome): void {
    const index = this.#size++;
    if (!this.#options.idempotency || outcome.kind === "done") return;
    if (outcome.kind === "rejected") {
      const { kind: _, rejectionReason, ...more } = outcome;
      this.#notDone.push([index, rejectionReason, more]);
    } else this.#notDone.push([index, outcome.id, outcome.revision]);
  }

  /** Ends the transaction because of a rejected intent. */
  abort(): void {
    this.#isAborted = true;
  }

  /** Returns the response to store, after all batches; undefined if the transaction has no idempotency key. */
  toResponse(): ResponseRow | undefined {
    const { idempotency } = this.#options;
    const key = this.responseKey;
    if (!idempotency || !key) return undefined;
    const body: StoredBody = { Run: this.#run, Not: this.#notDone, Pre: idempotency.replayData };
    const { digest, at } = idempotency;
    // No single write has a digest of this kind, so nobody takes the row for the response to one.
    const row = {
      operation: "update",
      id: this.#size,
      revision: this.#lastRevision,
      body: JSON.stringify(body),
    } as const;
    return { ...key, digest, at, ...row };
  }
}

function toStoredBatch({ id, body }: StoredResponse): StoredBatch {
  const { Run: run, Not, Pre: replayData } = JSON.parse(body) as StoredBody;
  return { run, size: id, notDone: Not.map(toNotDone), replayData };
}

function toNotDone([index, what, more]: StoredBody["Not"][number]): NotDone {
  if (typeof what === "number") return { index, kind: "unchanged", id: what, revision: more as number };
  return {
    index,
    kind: "rejected",
    rejectionReason: what as RejectedOutcome["rejectionReason"],
    ...(more as object),
  };
}
