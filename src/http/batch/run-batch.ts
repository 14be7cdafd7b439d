// Runs the operations of a batch request, or decides what they would do (dry run). All writes of a request are one transaction. By default, a fault of an
// operation prevents all; the problem then lists the faults of all operations. With `atomic=0`, the operations with a fault are left out.
//
// An example, with `match=AccountNumber`. Brand 7 has the account number A-1, and no brand has A-2:
//
//   1  PUT brands {"AccountNumber":"A-1","Name":"Acme"}
//   2  PUT brands {"AccountNumber":"A-2","Name":"Best"}
//   3  DELETE orderstatuses 3
//
// (1) `checkOperations` checks each operation alone. Operations 1 and 2 have no ID, so they have to be matched; operation 3 names its record.
// (2) `makeWrites` makes three intents: two upserts, and the delete of order status 3. It looks up in the snapshot that brand 7 has A-1.
// (3) `#tryCommit` commits them in one transaction. If others have moved A-1 to brand 9 meanwhile, the transaction updates brand 9.
// (4) If order status 3 does not exist, its intent is rejected. By default, nothing is stored then: `#throwFaults` decides all operations again without
//     storing (`decideDry`), and throws the faults of all. With `atomic=0`, operations 1 and 2 are stored, and the result of operation 3 is its problem.
// (5) `#toResults` puts outcomes and problems in the order of the operations.
// (6) A repeated request with the same idempotency key decides nothing: the transaction finds the stored response, and replay.ts makes the results again.
// (7) The tool `batch` of agents gives `confirm`. `#commitConfirmed` first decides without storing. Then it stores with conditions that allow only this result.

import type { SentOperation } from "../../formats/batch-format.ts";
import { randomText } from "../../lib/text.ts";
import { chunksOf, yieldBetween } from "../../lib/yielding.ts";
import type { AcceptedOutcome, Idempotency, Intent, RejectedOutcome } from "../../model/change.ts";
import type { AtomicCommitOptions, OnOutcomes, StoredBatch } from "../../model/engine.ts";
import { type ProblemError, RetryableError } from "../../model/errors.ts";
import { type AuthorizedIntent, authorizedIntent } from "../authorization/authorized-intent.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";
import { rejectionProblem } from "./batch-faults.ts";
import { conditionOn, makeWrites, type OperationWrite, type TouchedRecord } from "./batch-writes.ts";
import { type CheckedOperation, checkOperations } from "./check-operations.ts";
import { type DryDecision, decideDry } from "./dry-decision.ts";
import { rebuildResults } from "./replay.ts";
import { type Faults, requestProblem } from "./request-problem.ts";
import type { BatchResults, OperationResult } from "./results.ts";
import { findStoredResponse, storedResponseIn } from "./stored-response.ts";

/** The parts of the server that run batch requests. */
export type BatchParts = Pick<HttpDependencies, "engine" | "siteViews" | "writeQueue" | "now">;

/** A batch request that was read. */
export interface BatchRequest {
  readonly operations: readonly SentOperation[];
  /** As `BatchParameters.match`. */
  readonly match: string | undefined;
  readonly isAtomic: boolean;
  readonly isDry: boolean;
  /** Ignored by a dry run. */
  readonly idempotency?: Idempotency | undefined;
  /**
   * Called with the results that the request is going to have, before they are stored. If it throws, nothing is stored. Otherwise exactly this is stored:
   * the same records as of the same revisions, and new records with the same IDs; or nothing: if others have changed a record meanwhile, it is called
   * again with other results. Only if `isAtomic`, and without `idempotency`. A dry run does not call it.
   */
  readonly confirm?: ((planned: BatchResults) => void) | undefined;
}

/**
 * Runs a batch request. Resolves when the changes are on durable storage. Yields to the event loop in between. Sets the summary in the request context.
 * @throws ProblemError of the faults, if the request is atomic; `idempotency-key-reused`; `bad-request` as `checkOperations`; `unavailable` as
 *   `WriteQueue.commitAtomically`, after which the outcome can be unknown, and with `confirm`, if others keep changing the records
 * @throws OutdatedError if the epoch, the key or the site changed meanwhile; nothing was stored
 * @throws AbandonedWorkError if the client does not wait any more; nothing was stored
 */
export async function runBatch(
  parts: BatchParts,
  context: RequestContext,
  authorized: AuthorizedView,
  request: BatchRequest,
): Promise<BatchResults> {
  const operations = request.operations.length;
  const isCounted = !request.isDry;
  context.batch = {
    operations,
    run: null,
    counts: isCounted ? { changed: 0, unchanged: 0, rejected: operations } : undefined,
  };
  const checked = await checkOperations(request.operations, request.match);
  const base = { ...authorizedIntent(context, authorized, parts.now()), isOptional: !request.isAtomic };
  const writes = await makeWrites(checked, base, authorized.siteView, () => !context.request.isAbandoned);
  const results = await new RunningBatch(parts, { site: authorized.key.siteId, request, base, checked, writes }).run();
  const counts = isCounted && !results.isReplay ? countResults(results.results) : undefined;
  context.batch = { operations, run: results.run, counts };
  return results;
}

function countResults(results: readonly OperationResult[]) {
  const counts = { changed: 0, unchanged: 0, rejected: 0 };
  for (const result of results) {
    if ("problem" in result) counts.rejected++;
    else counts[result.outcome.kind === "done" ? "changed" : "unchanged"]++;
  }
  return counts;
}

/** Maximum attempts to store the results that `confirm` accepts. */
const maxAttempts = 3;

/** The outcomes of the operations that were not rejected, by their index. */
type Outcomes = readonly (AcceptedOutcome | undefined)[];

/** Maximum writes in a batch of the transaction. */
const writesPerBatch = 500;

interface Work {
  readonly site: number;
  readonly request: BatchRequest;
  /** The members that all intents share. */
  readonly base: AuthorizedIntent;
  readonly checked: readonly CheckedOperation[];
  readonly writes: readonly OperationWrite[];
}

class RunningBatch {
  readonly #parts: BatchParts;
  readonly #work: Work;
  /** The problems of the operations that can't be stored, whatever records the site has. */
  readonly #checkFaults: Faults;

  constructor(parts: BatchParts, work: Work) {
    this.#parts = parts;
    this.#work = work;
    const faulty = work.checked.flatMap((one, index) => (one.kind === "faulty" ? [[index, one.problem] as const] : []));
    this.#checkFaults = new Map(faulty);
  }

  async run(): Promise<BatchResults> {
    const { isDry, confirm } = this.#work.request;
    if (isDry) return this.#toPlanned(await this.#decide());
    return confirm ? this.#commitConfirmed(confirm) : this.#commit();
  }

  /** Stores the operations. */
  async #commit(): Promise<BatchResults> {
    const { request, writes } = this.#work;
    const faults = new Map<number, ProblemError>();
    const isInvalid = ({ intent }: OperationWrite) => intent.valuesJson === "";
    const isFaulty = request.isAtomic && (this.#checkFaults.size > 0 || writes.some(isInvalid));
    // Without an idempotency key, faults alone need no transaction. With one, its response is stored.
    if (writes.length === 0 && !isFaulty && !request.idempotency) return this.#toResults(null, [], faults);
    const results = isFaulty ? await this.#findReplay() : await this.#tryCommit(writes, faults);
    return results ?? this.#throwFaults(faults);
  }

  /** Stores exactly the results that `confirm` accepts. @throws the error of `confirm` */
  async #commitConfirmed(confirm: (planned: BatchResults) => void): Promise<BatchResults> {
    const { writes } = this.#work;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const decision = await this.#decide();
      const planned = this.#toPlanned(decision);
      confirm(planned);
      if (writes.length === 0) return planned;
      const results = await this.#tryCommit(conditionOn(writes, decision.touched, decision.epoch), new Map());
      if (results) return results;
    }
    throw new RetryableError("other writers keep changing these records");
  }

  /**
   * Stores the operations in one transaction. Returns undefined if nothing was stored because of faults.
   * @param faults gets these faults, and those of the operations that were left out
   */
  async #tryCommit(
    writes: readonly OperationWrite[],
    faults: Map<number, ProblemError>,
  ): Promise<BatchResults | undefined> {
    const outcomes: AcceptedOutcome[] = [];
    const rejected: { write: OperationWrite; outcome: RejectedOutcome }[] = [];
    let decided = 0;
    const onOutcomes: OnOutcomes = (some) => {
      for (const outcome of some) {
        const write = writes[decided++] as OperationWrite;
        if (outcome.kind === "rejected") rejected.push({ write, outcome });
        else outcomes[write.index] = outcome;
      }
    };
    const result = await this.#parts.writeQueue.commitAtomically(this.#work.site, intentsOf(writes), onOutcomes, {
      run: { id: randomText(8), size: writes.length },
      idempotency: this.#toIdempotency(),
    });
    for await (const { write, outcome } of yieldBetween(rejected))
      faults.set(write.index, rejectionProblem(outcome, write.checked));
    if (result.kind === "committed") return this.#toResults(result.run, outcomes, faults);
    return this.#toReplay(storedResponseIn(result));
  }

  /** Looks for the response to an earlier request with the idempotency key: another version of the program may have found no fault in it. */
  async #findReplay(): Promise<BatchResults | undefined> {
    const { request, base, checked } = this.#work;
    const [any] = checked;
    if (!request.idempotency || !any) return undefined;
    const idempotency = this.#toIdempotency();
    return this.#toReplay(await findStoredResponse(this.#parts.writeQueue, base, any.resource.name, idempotency));
  }

  #toIdempotency(): AtomicCommitOptions["idempotency"] {
    const { site, request } = this.#work;
    return request.idempotency && { ...request.idempotency, site, at: this.#parts.now(), replayData: "" };
  }

  async #toReplay(stored: StoredBatch | undefined): Promise<BatchResults | undefined> {
    if (!stored) return undefined;
    const { site, checked } = this.#work;
    const results = await rebuildResults(this.#parts.engine, site, checked, stored);
    return { run: stored.run, results, isReplay: true, touched: () => "" };
  }

  /** @throws ProblemError of the faults, if the request is atomic */
  #toPlanned({ outcomes, faults, touched }: DryDecision): BatchResults {
    const { request } = this.#work;
    const all = new Map([...this.#checkFaults, ...faults]);
    if (request.isAtomic && all.size > 0) throw requestProblem(all, request.isDry);
    return this.#toResults(null, outcomes, faults, touched);
  }

  /** @param known the faults that prevented the commit @throws ProblemError of all faults */
  async #throwFaults(known: Faults): Promise<never> {
    const { faults } = await this.#decide();
    throw requestProblem(new Map([...this.#checkFaults, ...faults, ...known]), false);
  }

  /** Decides what the writes would do now. */
  #decide(): Promise<DryDecision> {
    const { site, request, writes } = this.#work;
    return decideDry(this.#parts.engine, site, writes, request.confirm !== undefined);
  }

  #toResults(
    run: string | null,
    outcomes: Outcomes,
    faults: Faults,
    records: readonly TouchedRecord[] = [],
  ): BatchResults {
    const { checked } = this.#work;
    const problems = faults.size === 0 ? this.#checkFaults : new Map([...this.#checkFaults, ...faults]);
    const results = checked.map((_, index): OperationResult => {
      const outcome = outcomes[index];
      return outcome ? { outcome } : { problem: problems.get(index) as ProblemError };
    });
    const touched = () => (records.length === 0 ? "" : JSON.stringify(records));
    return { run, results, isReplay: false, touched };
  }
}

function* intentsOf(writes: readonly OperationWrite[]): Generator<readonly Intent[]> {
  for (const batch of chunksOf(writes, writesPerBatch)) yield batch.map(({ intent }) => intent);
}
