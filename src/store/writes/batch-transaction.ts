// Keeps track of a transaction while its batches are decided one by one (batch.ts): its run, the records the run has created, and the response for
// its idempotency key. Like the decisions, it uses no clock or database.
//
// For example, a site is at revision 17, and a transaction with a run and an idempotency key has three intents: create a brand; set brand 7 to values
// it has had since revision 12; create another brand.
//
// (1) `findReplay` finds no stored response, so the intents are decided.
// (2) The first create becomes revision 18, so `runOf` returns `k3J9aZ0q-18-3` for every change: the run can have revisions 18 to 20.
// (3) `trackOutcome` remembers that the update changed nothing: index 1, ID 7, revision 12.
// (4) `toResponse` returns what to store: {"Run":"k3J9aZ0q-18-3","Not":[[1,7,12]],"Pre":"..."}. It contains no records. To replay the request, the
// caller reads the run's changes from the journal, and brand 7 as of revision 12. `Pre` is the caller's own `replayData`.

import type { Intent, Outcome, RejectedOutcome } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, NotDone, StoredBatch } from "../../model/engine.ts";
import { idempotencyLifetimeMs } from "../../model/limits.ts";
import { toRunId } from "../../model/run.ts";
import type { JournalRow, ResponseRow, StoredResponse } from "./batch-rows.ts";
import { CurrentMatches } from "./current-matches.ts";

/** The primary key of a stored response. */
type ResponseKey = Pick<ResponseRow, "site_id" | "key_id" | "name">;

/** The body of a response stored for a whole transaction (`ResponseRow.body`). `Not` lists the intents that changed nothing, by index. */
interface StoredBody {
  readonly Run: string | null;
  readonly Not: readonly (
    | readonly [index: number, id: number, revision: number]
    | readonly [index: number, reason: string, more?: Pick<RejectedOutcome, "found" | "revision">]
  )[];
  readonly Pre: string;
}

export class BatchTransaction {
  /** What has changed since the writers looked up the records of their upserts. */
  readonly currentMatches: CurrentMatches;
  readonly #options: AtomicCommitOptions;
  /** IDs of the records created by the run, by resource. */
  readonly #created = new Map<string, Set<number>>();
  readonly #notDone: StoredBody["Not"][number][] = [];
  /** The number of intents decided. */
  #size = 0;
  #run: string | null = null;
  #lastRevision = 0;
  #isAborted = false;

  /** @param options of a transaction with several batches; undefined for a single batch */
  constructor(options?: AtomicCommitOptions) {
    this.#options = options ?? {};
    const several = options?.run ? "run" : "large";
    this.currentMatches = new CurrentMatches(options ? several : "batch");
  }

  /** Whether a rejected intent ended the transaction, so that nothing is stored. */
  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** Valid once the transaction was committed or rolled back. */
  get result(): AtomicCommitResult {
    return this.#isAborted ? { kind: "aborted" } : { kind: "committed", run: this.#run };
  }

  /** Which response to read before deciding anything; undefined without an idempotency key. */
  get responseKey(): ResponseKey | undefined {
    const { idempotency } = this.#options;
    return idempotency && { site_id: idempotency.site, key_id: idempotency.keyId, name: idempotency.name };
  }

  /** Returns the result if this was answered before; undefined if there's no response, or it has expired. */
  findReplay(response: StoredResponse | null | undefined): AtomicCommitResult | undefined {
    const { idempotency } = this.#options;
    if (!idempotency || !response || response.at <= idempotency.at - idempotencyLifetimeMs) return undefined;
    if (response.digest !== idempotency.digest) return { kind: "idempotency-key-reused" };
    return { kind: "replayed", stored: toStoredBatch(response) };
  }

  /** Returns the run for a journal entry. The transaction's first entry completes the run's ID. */
  runOf(intent: Intent, revision: number): string | null {
    const { run } = this.#options;
    if (!run) return intent.run ?? null;
    this.#run ??= toRunId(run.id, revision, run.size);
    return this.#run;
  }

  /** Whether the intent is for a record created by its own run. The writer can't have seen that. */
  hasCreated({ operation, resource, id }: Intent): boolean {
    if (id === undefined || operation === "create") return false;
    return this.#created.get(resource)?.has(id) ?? false;
  }

  trackChange(change: JournalRow): void {
    const { site_id: site, resource, id, operation, revision } = change;
    this.currentMatches.track(site, change);
    this.#lastRevision = revision;
    if (!this.#options.run || operation !== "create") return;
    const created = this.#created.get(resource);
    if (created) created.add(id);
    else this.#created.set(resource, new Set([id]));
  }

  trackOutcome(outcome: Outcome): void {
    const index = this.#size++;
    if (!this.#options.idempotency || outcome.kind === "done") return;
    if (outcome.kind === "rejected") {
      const { kind: _, rejectionReason, ...more } = outcome;
      this.#notDone.push([index, rejectionReason, more]);
    } else this.#notDone.push([index, outcome.id, outcome.revision]);
  }

  /** Ends the transaction because an intent was rejected. */
  abort(): void {
    this.#isAborted = true;
  }

  /** Returns the response to store after the last batch; undefined without an idempotency key. */
  toResponse(): ResponseRow | undefined {
    const { idempotency } = this.#options;
    const key = this.responseKey;
    if (!idempotency || !key) return undefined;
    const body: StoredBody = { Run: this.#run, Not: this.#notDone, Pre: idempotency.replayData };
    const { digest, at } = idempotency;
    // A single write can't have this kind of digest, so the row won't be taken for the response to one.
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
