// POST /restapi/batch.json and .xml (contract section 14), from parameters to response: `BatchEndpoint` checks the request, `storeBatch` stores the operations
// or, for a dry run, decides what they would do, and `encodeResults` encodes the results.
//
// All writes of a batch go into one transaction. By default, any error rejects the batch, and the problem lists the errors of all operations. With
// `atomic=0`, faulty operations are left out.
//
// An example, with `match=AccountNumber`. Brand 7 has the account number A-1, and no brand has A-2:
//
//   1  PUT brands {"AccountNumber":"A-1","Name":"Acme"}
//   2  PUT brands {"AccountNumber":"A-2","Name":"Best"}
//   3  DELETE orderstatuses 3
//
// (1) `checkOperations` checks each operation on its own. Operations 1 and 2 have no ID, so they have to be matched; operation 3 names its record.
// (2) `makeWrites` makes three intents: two upserts and a delete. The snapshot says that brand 7 has A-1.
// (3) `#tryCommit` commits them in one transaction. If A-1 has moved to brand 9 in the meantime, the transaction updates brand 9.
// (4) If order status 3 doesn't exist, its intent is rejected. By default, nothing is stored: `#throwFaults` decides all operations again without
//     storing them (`#decide`), and throws all their errors. With `atomic=0`, operations 1 and 2 are stored, and the result of 3 is its problem.
// (5) `#toResults` puts outcomes and problems in the order of the operations.
// (6) If the request is repeated with its idempotency key, the transaction finds the stored response, and replay.ts rebuilds the results from it.
// (7) The agents' tool `batch` passes `confirm`. `#commitConfirmed` first decides without storing, then stores with conditions that only allow that result.

import type { EncodedResult } from "../../formats/batch-format.ts";
import type { MalformedOperation, SentOperation } from "../../formats/batch-operation.ts";
import { type Format, statusOf } from "../../formats/format.ts";
import { findNearestPath, formatHint, randomText } from "../../lib/text.ts";
import { chunksOf, createYielder, yieldBetween } from "../../lib/yielding.ts";
import type { AcceptedOutcome, Idempotency, Intent, RejectedOutcome } from "../../model/change.ts";
import type { AtomicCommitOptions, OnOutcomes, StoredBatch } from "../../model/engine.ts";
import { maxFieldErrors, ProblemError, RetryableError } from "../../model/errors.ts";
import { recordEtag } from "../../model/etag.ts";
import { toDeclaredJson } from "../../model/record.ts";
import { publicResources, type Resource, writtenResources } from "../../model/resource.ts";
import { TextInParts, TextPart } from "../../store/memory/text-in-parts.ts";
import { DryRunEngine } from "../../store/writes/dry-run-engine.ts";
import type { ApiKey } from "../../system/system-records.ts";
import type { WireResponse } from "../../wire/response.ts";
import { type AuthorizedIntent, authorizedIntent } from "../authorization/authorized-intent.ts";
import { whileAuthorized } from "../authorization/while-authorized.ts";
import { parseSingle, parseSwitch } from "../common/parameters.ts";
import { chooseCoding } from "../compression.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { parseBatchIdempotency } from "../records/idempotency.ts";
import type { AuthorizedView, RequestContext, SiteRoute } from "../request-context.ts";
import { respondEncoded, toProblemDocument } from "../responses.ts";
import { readBatchBody } from "./batch-places.ts";
import { conditionOn, makeWrites, type OperationWrite, type TouchedRecord } from "./batch-writes.ts";
import { type CheckedOperation, checkOperations } from "./check-operations.ts";
import { type Faults, rejectionProblem, requestProblem, requireOperationRights } from "./operation-problems.ts";
import { findStoredResponse, rebuildResults, storedResponseIn } from "./replay.ts";
import { checkHead, type RunRouteDependencies, runRoutes } from "./run-routes.ts";

export type OperationResult = { readonly outcome: AcceptedOutcome } | { readonly problem: ProblemError };

export interface BatchResults {
  /** Null if nothing was changed. */
  readonly run: string | null;
  /** One per operation, in order. */
  readonly results: readonly OperationResult[];
  /** Whether an earlier request with the same idempotency key had these results. */
  readonly isReplay: boolean;
  /** Returns the records that would change and their current revisions, as a string to compare. Empty without `BatchRequest.confirm`. */
  readonly touched: () => string;
}

export type BatchParts = Pick<HttpDependencies, "engine" | "siteViews" | "writeQueue" | "now">;

export interface BatchRequest {
  readonly operations: readonly SentOperation[];
  /** As `BatchParameters.match`. */
  readonly match: string | undefined;
  readonly allOrNothing: boolean;
  readonly isDry: boolean;
  /** Dry runs ignore it. */
  readonly idempotency?: Idempotency | undefined;
  /**
   * Called with the results before anything is stored. If it throws, nothing is. Otherwise, either exactly these results are stored (the same records at
   * the same revisions, and new ones with the same IDs), or someone has changed a record in the meantime, and it's called again with the new results. Only
   * with `allOrNothing` and without `idempotency`. Dry runs don't call it.
   */
  readonly confirm?: ((planned: BatchResults) => void) | undefined;
}

interface BatchRouteDependencies extends BatchParts, RunRouteDependencies, Pick<HttpDependencies, "resources"> {}

export function batchRoutes(dependencies: BatchRouteDependencies): [path: string, route: SiteRoute][] {
  const endpoint = new BatchEndpoint(dependencies);
  const hint = "send operations with POST; read lists at their own paths";
  return runRoutes("batch", hint, (context, format, { key }) => endpoint.respond(context, format, key));
}

class BatchEndpoint {
  readonly #dependencies: BatchRouteDependencies;
  readonly #served: readonly Resource[];
  readonly #written: readonly Resource[];

  constructor(dependencies: BatchRouteDependencies) {
    this.#dependencies = dependencies;
    this.#served = publicResources(dependencies.resources);
    this.#written = writtenResources(this.#served);
  }

  respond(context: RequestContext, format: Format, key: ApiKey): Promise<WireResponse> {
    const sent = checkHead(this.#dependencies, context, key, { kind: "batch", format, resources: this.#served });
    const parameters = parseBatchParameters(this.#written, sent);
    context.isDryRun = parameters.isDry;
    return this.#dependencies.batchPlaces.withPlace(key, () => this.#receive(context, format, parameters));
  }

  /** Authorizes again after the body, because the key may have been revoked or the site removed while it arrived. */
  async #receive(context: RequestContext, format: Format, parameters: BatchParameters): Promise<WireResponse> {
    const { view: body } = await readBatchBody(context.request);
    const { authorizer } = this.#dependencies;
    const { key } = await authorizer.reauthorize(context, (authorized) => authorized);
    const operations: SentOperation[] = [];
    try {
      await decodeOperations(format, body, this.#served, parameters.match, operations);
    } finally {
      authorizer.countOperations(context, key, operations.length);
    }
    requireOperationRights(context, key, operations);
    const idempotency = parameters.isDry ? undefined : await parseBatchIdempotency(context, key, body);
    const request = { ...parameters, operations, idempotency };
    const results = await this.#dependencies.idempotencies.runUnlessRunning(idempotency, () =>
      this.#run(context, request),
    );
    return respondToBatch(context, format, operations, results);
  }

  #run(context: RequestContext, request: BatchRequest): Promise<BatchResults> {
    const { authorizer } = this.#dependencies;
    return authorizer.reauthorize(context, (first) =>
      whileAuthorized(authorizer, context, first, {
        work: (authorized) => storeBatch(this.#dependencies, context, authorized, request),
        isStored: ({ run, isReplay }) => run !== null && !isReplay,
      }),
    );
  }
}

interface BatchParameters {
  /** Dotted path of the text field by which updates and deletes without an ID find their record. */
  readonly match: string | undefined;
  readonly isDry: boolean;
  /** Whether any failing operation means nothing is stored. Otherwise, operations succeed or fail independently. */
  readonly allOrNothing: boolean;
}

/** @param written the writable resources @throws ProblemError `bad-request` for a repeated parameter or a bad value */
function parseBatchParameters(written: readonly Resource[], parameters: URLSearchParams): BatchParameters {
  return {
    match: parseMatch(written, parseSingle(parameters, "match")),
    isDry: parseSwitch(parameters, "dryRun", false),
    allOrNothing: parseSwitch(parameters, "atomic", true),
  };
}

/** Checks `match`. @param written the writable resources @throws ProblemError `bad-request` if none of them has this text field */
export function parseMatch(written: readonly Resource[], path: string | undefined): string | undefined {
  const paths = matchablePaths(written);
  if (path === undefined || paths.includes(path)) return path;
  const hint = formatHint(findNearestPath(path, paths), `the text fields are ${paths.join(", ")}`);
  throw new ProblemError("bad-request", `\`match\`: unknown text field \`${path.slice(0, 100)}\`; ${hint}`);
}

/** Returns the dotted paths of the fields that any of the resources can be matched by. */
export function matchablePaths(resources: readonly Resource[]): readonly string[] {
  return [...new Set(resources.flatMap(({ textFields }) => textFields.map(({ path }) => path)))];
}

/**
 * Decodes the operations in a body. Yields to the event loop in between.
 * @param served the resources that have endpoints
 * @param match as `BatchParameters.match`
 * @param decoded receives the operations. If the body can't be read to its end, it has some of them
 * @throws ProblemError as `BatchFormat.operations`; `bad-request` with all errors if operations are malformed
 */
export async function decodeOperations(
  { batch }: Format,
  body: Uint8Array,
  served: readonly Resource[],
  match: string | undefined,
  decoded: SentOperation[],
): Promise<void> {
  const malformed: MalformedOperation[] = [];
  let faults = 0;
  const yieldIfDue = createYielder();
  for (const read of batch.operations(body, served)) {
    await yieldIfDue();
    if (!read) continue;
    if ("faults" in read) {
      malformed.push(read);
      faults += read.faults.length;
      if (faults > maxFieldErrors) break;
    } else decoded.push(read);
  }
  if (malformed.length > 0) await checkOperations(decoded, match, malformed);
}

/**
 * Stores the operations, or for a dry run, decides what that would do. Resolves once the changes are durable. Yields to the event loop in between. Puts a
 * summary into the context.
 * @throws ProblemError with the operations' errors, if the batch is all-or-nothing; `idempotency-key-reused`; `bad-request` as `checkOperations`;
 *   `unavailable` as `WriteQueue.commitAtomically` (the changes may have been stored), or with `confirm`, if others keep changing the records
 * @throws OutdatedError if the epoch, the key or the site changed in the meantime; nothing was stored
 * @throws AbandonedWorkError if the client stopped waiting; nothing was stored
 */
export async function storeBatch(
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
  const base = { ...authorizedIntent(context, authorized, parts.now()), isOptional: !request.allOrNothing };
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

/** How often to try to store what `confirm` has accepted. */
const maxAttempts = 3;

/** By the index of the operation; undefined for rejected ones. */
type Outcomes = readonly (AcceptedOutcome | undefined)[];

/** Writes per step of the transaction. */
const writesPerBatch = 500;

/** Writes per step of a dry run. */
const writesPerDryStep = 250;

interface DryDecision {
  readonly outcomes: Outcomes;
  /** By the index of the operation. */
  readonly faults: Faults;
  /** One per accepted write, in order; empty without `BatchRequest.confirm`. */
  readonly touched: readonly TouchedRecord[];
  /** The site's epoch; empty if no write would be stored. */
  readonly epoch: string;
}

interface Work {
  readonly site: number;
  readonly request: BatchRequest;
  /** What all intents share. */
  readonly base: AuthorizedIntent;
  readonly checked: readonly CheckedOperation[];
  readonly writes: readonly OperationWrite[];
}

class RunningBatch {
  readonly #parts: BatchParts;
  readonly #work: Work;
  /** The problems of operations that can't be stored, whatever records the site has. */
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

  async #commit(): Promise<BatchResults> {
    const { request, writes } = this.#work;
    const faults = new Map<number, ProblemError>();
    const isInvalid = ({ intent }: OperationWrite) => intent.valuesJson === "";
    const isFaulty = request.allOrNothing && (this.#checkFaults.size > 0 || writes.some(isInvalid));
    // Errors alone need no transaction, unless there's a response to store for an idempotency key.
    if (writes.length === 0 && !isFaulty && !request.idempotency) return this.#toResults(null, [], faults);
    const results = isFaulty ? await this.#findReplay() : await this.#tryCommit(writes, faults);
    return results ?? this.#throwFaults(faults);
  }

  /** Stores exactly what `confirm` accepts. @throws the error of `confirm` */
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
   * Returns undefined if errors prevented the transaction.
   * @param faults receives these errors, or those of the operations that were left out
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

  /** Even if we find errors, an earlier request with this idempotency key may have succeeded on another version of the program. */
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

  /** @throws ProblemError with the operations' errors, if the batch is all-or-nothing */
  #toPlanned({ outcomes, faults, touched }: DryDecision): BatchResults {
    const { request } = this.#work;
    const all = new Map([...this.#checkFaults, ...faults]);
    if (request.allOrNothing && all.size > 0) throw requestProblem(all, request.isDry);
    return this.#toResults(null, outcomes, faults, touched);
  }

  /** @param known the errors that prevented the commit @throws ProblemError with these and all others */
  async #throwFaults(known: Faults): Promise<never> {
    const { faults } = await this.#decide();
    throw requestProblem(new Map([...this.#checkFaults, ...faults, ...known]), false);
  }

  /** Decides what the writes would do now, without storing anything. A rejected write doesn't stop the others. */
  async #decide(): Promise<DryDecision> {
    const { site, request, writes } = this.#work;
    const outcomes: AcceptedOutcome[] = [];
    const faults = new Map<number, ProblemError>();
    const dryRun = new DryRunEngine(this.#parts.engine, site);
    try {
      let decided = 0;
      const onOutcomes: OnOutcomes = (some) => {
        for (const outcome of some) {
          const { index, checked } = writes[decided++] as OperationWrite;
          if (outcome.kind === "rejected") faults.set(index, rejectionProblem(outcome, checked));
          else outcomes[index] = outcome;
        }
      };
      const intents = intentsOf(writes, writesPerDryStep, { isOptional: true });
      await dryRun.commitAtomically(intents, onOutcomes, { run: { id: "", size: writes.length } });
      const epoch = outcomes.find((outcome) => outcome !== undefined)?.epoch ?? "";
      const touched = request.confirm ? touchedIn(dryRun, writes, outcomes) : [];
      return { outcomes, faults, touched, epoch };
    } finally {
      dryRun.close();
    }
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

function* intentsOf(
  writes: readonly OperationWrite[],
  batchSize = writesPerBatch,
  options: Pick<Intent, "isOptional"> | undefined = undefined,
): Generator<readonly Intent[]> {
  for (const batch of chunksOf(writes, batchSize))
    yield batch.map(({ intent }) => (options ? { ...intent, ...options } : intent));
}

function touchedIn(dryRun: DryRunEngine, writes: readonly OperationWrite[], outcomes: Outcomes): TouchedRecord[] {
  return writes.flatMap(({ index, intent: { resource } }) => {
    const outcome = outcomes[index];
    if (!outcome) return [];
    const { id, revision } = outcome;
    return [{ resource, id, revision: dryRun.revisionBefore(resource, id) ?? revision }];
  });
}

/** Characters per part of the response. Each part is compressed in one step. */
const partChars = 64 << 10;

async function respondToBatch(
  context: RequestContext,
  format: Format,
  operations: readonly SentOperation[],
  batch: BatchResults,
): Promise<WireResponse> {
  const parts = await encodeResults(context, format, operations, batch);
  const list = new TextInParts(parts.map((bytes) => new TextPart(bytes)));
  const coding = chooseCoding(context.request.headers.get("accept-encoding"), list.length);
  const headers: Record<string, string> = { Vary: "Accept-Encoding" };
  if (batch.isReplay) headers["Idempotency-Replayed"] = "true";
  return respondEncoded(context, { type: format.contentType, list, coding }, headers);
}

/** Encodes results in parts. Yields to the event loop in between. @param operations of the request */
export async function encodeResults(
  context: Pick<RequestContext, "id" | "contact">,
  format: Format,
  operations: readonly SentOperation[],
  { run, results }: BatchResults,
): Promise<Buffer[]> {
  const { start, result, separator, end } = format.batch;
  const parts: Buffer[] = [];
  const yieldIfDue = createYielder();
  let text = start(run);
  for (const [index, one] of results.entries()) {
    await yieldIfDue();
    const { resource } = operations[index] as SentOperation;
    text += (index === 0 ? "" : separator) + result(toEncodedResult(context, format, resource, one));
    if (text.length < partChars) continue;
    // Not at the end, because this is what flattens the concatenated string, which takes as long as everything before it.
    parts.push(Buffer.from(text));
    text = "";
  }
  return [...parts, Buffer.from(text + end)];
}

function toEncodedResult(
  context: Pick<RequestContext, "id" | "contact">,
  format: Format,
  resource: Resource,
  result: OperationResult,
): EncodedResult {
  if ("outcome" in result) return toStoredResult(format, resource, result.outcome);
  const { problem } = result;
  return { status: statusOf(problem.code), problem: toProblemDocument(context, problem) };
}

function toStoredResult({ name }: Format, resource: Resource, outcome: AcceptedOutcome): EncodedResult {
  const { kind, operation, epoch, revision, body } = outcome;
  const common = {
    status: operation === "create" ? 201 : 200,
    changed: kind !== "unchanged",
    resource,
    record: toDeclaredJson(resource, body),
  };
  return operation === "delete" ? common : { ...common, etag: recordEtag(resource, name, epoch, revision) };
}
