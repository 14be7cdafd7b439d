// POST /restapi/undo.json and .xml: undoes one of the key's own runs, or for a dry run, reports what that would do (contract section 14).
//
// An example: the run created brand 30 and updated brand 7, so the plan is to delete brand 30 and restore brand 7.
//
// (1) Each intent has the condition that its record still has the version the run gave it.
// (2) If another client updates brand 7 before the transaction, that intent is left out, and the response lists brand 7 as skipped.
// (3) The plan's outline is stored for the idempotency key, along with what was left out. The undo is itself a run, and can be undone.
// (4) With `confirm`, either the whole plan is stored, or nothing is, and we make a new plan.

import type { Undone } from "../../formats/batch-format.ts";
import type { Format } from "../../formats/format.ts";
import { randomText } from "../../lib/text.ts";
import { chunksOf } from "../../lib/yielding.ts";
import type { Idempotency, Intent } from "../../model/change.ts";
import type { AtomicCommitOptions, NotDone, StoredBatch } from "../../model/engine.ts";
import { OutdatedError, ProblemError, RetryableError } from "../../model/errors.ts";
import { writeRight } from "../../model/key-rights.ts";
import { publicResources, type Resource } from "../../model/resource.ts";
import { parseRun } from "../../model/run.ts";
import {
  type LaterChangedRecord,
  planUndo,
  sizeOfRun,
  toUndoIntent,
  type UndoPlan,
} from "../../store/writes/undo-plan.ts";
import type { WireResponse } from "../../wire/response.ts";
import { requireRights } from "../authorization/authenticate.ts";
import { authorizedIntent } from "../authorization/authorized-intent.ts";
import { whileAuthorized } from "../authorization/while-authorized.ts";
import { parseSwitch } from "../common/parameters.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { parseBatchIdempotency } from "../records/idempotency.ts";
import type { AuthorizedView, RequestContext, SiteRoute } from "../request-context.ts";
import { toResponse } from "../responses.ts";
import { findStoredResponse, storedResponseIn } from "./replay.ts";
import { checkHead, type RunRouteDependencies, runRoutes } from "./run-routes.ts";

export type UndoParts = Pick<HttpDependencies, "engine" | "writeQueue" | "resources" | "systemSiteIndex" | "now">;

interface UndoRequest {
  readonly run: string;
  readonly isDry: boolean;
  /** Not for a dry run. */
  readonly idempotency?: Idempotency | undefined;
  /**
   * Called with the result before it's stored. If it throws, nothing is stored. Otherwise, either exactly this is stored, or someone has changed a record
   * in the meantime, and it's called again with the new result.
   */
  readonly confirm?: ((planned: UndoResult) => void) | undefined;
}

export interface UndoResult {
  readonly undone: Undone;
  /** Whether an earlier request with the same idempotency key had this result. */
  readonly isReplay: boolean;
  /** Returns the records the undo would change and their current revisions, as a string to compare. */
  readonly touched: () => string;
}

interface UndoRouteDependencies extends UndoParts, RunRouteDependencies {}

export function undoRoutes(dependencies: UndoRouteDependencies): [path: string, route: SiteRoute][] {
  return runRoutes("undo", "undo a run with POST", (context, format, authorized) =>
    respondToUndo(dependencies, context, format, authorized),
  );
}

async function respondToUndo(
  dependencies: UndoRouteDependencies,
  context: RequestContext,
  format: Format,
  { key }: AuthorizedView,
): Promise<WireResponse> {
  const { authorizer, batchPlaces, idempotencies, resources } = dependencies;
  const served = publicResources(resources);
  const isDry = parseSwitch(
    checkHead(dependencies, context, key, { kind: "undo", format, resources: served }),
    "dryRun",
    false,
  );
  context.isDryRun = isDry;
  const { request } = context;
  const body = request.receivedBody ?? (await request.readBody());
  return authorizer.reauthorize(context, async (authorized) => {
    const idempotency = isDry ? undefined : await parseBatchIdempotency(context, authorized.key, body.view);
    const { run } = format.batch.undo(body.view);
    // An undo counts as a batch of its run's size, and needs as much memory.
    authorizer.countOperations(context, authorized.key, sizeOfRun(run));
    const undo = () =>
      whileAuthorized(authorizer, context, authorized, {
        work: (current) => undoRun(dependencies, context, current, { run, isDry, idempotency }),
        isStored: ({ undone, isReplay }) => undone.run !== null && !isReplay,
      });
    const result = await batchPlaces.withPlace(authorized.key, () => idempotencies.runUnlessRunning(idempotency, undo));
    return toUndoneResponse(context, format, result);
  });
}

function toUndoneResponse(context: RequestContext, format: Format, { undone, isReplay }: UndoResult): WireResponse {
  const content = { type: format.contentType, body: format.batch.undone(undone) };
  return toResponse(context, 200, content, isReplay ? { "Idempotency-Replayed": "true" } : {});
}

/** How often to try to store a plan that `confirm` has accepted. */
const maxAttempts = 3;

/** Intents per step of the transaction. */
const batchSize = 500;

/**
 * Undoes a run, or reports what that would do. Puts a summary into the context.
 * @param authorized the key may undo its own runs, and those of keys it has replaced
 * @throws ProblemError `forbidden` if it can't write what the run changed; as `planUndo`, with a `not-found` that says if the run is in the site's sandbox or
 *   in its live site; `idempotency-key-reused`; `unavailable` as `WriteQueue.commitAtomically`, or with `confirm`, if others keep changing the run's records
 * @throws OutdatedError if the key, the site or its epoch has changed; nothing was stored
 */
export async function undoRun(
  parts: UndoParts,
  context: RequestContext,
  authorized: AuthorizedView,
  request: UndoRequest,
): Promise<UndoResult> {
  const result = await new RunUndo(parts, context, authorized, request).undo();
  const { run, deleted, restored, unchanged, skipped } = result.undone;
  context.batch = { operations: deleted + restored + unchanged + skipped.length, run };
  return result;
}

/** What the response is made from, which is stored for a replay. */
interface Outline {
  readonly records: readonly (readonly [resource: string, id: number, operation: "delete" | "restore"])[];
  readonly unchanged: number;
  readonly skipped: readonly LaterChangedRecord[];
}

/** An outline that was stored, just now or by an earlier request, except for the records in `notDone`. */
interface StoredOutline {
  readonly outline: Outline;
  readonly run: string | null;
  readonly notDone: readonly NotDone[];
  readonly isReplay: boolean;
}

class RunUndo {
  readonly #parts: UndoParts;
  readonly #context: RequestContext;
  readonly #authorized: AuthorizedView;
  readonly #request: UndoRequest;

  constructor(parts: UndoParts, context: RequestContext, authorized: AuthorizedView, request: UndoRequest) {
    this.#parts = parts;
    this.#context = context;
    this.#authorized = authorized;
    this.#request = request;
  }

  async undo(): Promise<UndoResult> {
    try {
      return await this.#planAndStore();
    } catch (error) {
      const code = error instanceof ProblemError ? error.code : undefined;
      // It may have been undone already, before the run's changes were pruned, or with the key that this request's key replaced.
      const replay = code === "gone" || code === "forbidden" ? await this.#findReplay() : undefined;
      if (replay) return { undone: this.#toFinalUndone(replay), isReplay: true, touched: () => "" };
      const mayBeElsewhere = code === "not-found" || code === "gone";
      throw (mayBeElsewhere && (await this.#findOtherSiteError())) || error;
    }
  }

  /** Returns an error if the run is in the sandbox of the key's live site, or the other way round. Reads one entry. */
  async #findOtherSiteError(): Promise<ProblemError | undefined> {
    const { engine, systemSiteIndex } = this.#parts;
    const { run } = this.#request;
    const { site: live } = this.#context;
    const isLive = live?.id === this.#authorized.siteView.siteId;
    const other = live && isLive ? systemSiteIndex.findSandboxOf(live.id) : live;
    const { first } = parseRun(run) ?? {};
    if (!other || first === undefined) return undefined;
    const { entries } = await engine.readJournalPage(other.id, first - 1, 1);
    if (entries[0]?.run !== run) return undefined;
    const [place, kind] = isLive ? ["sandbox", "the live site"] : ["live site", "its sandbox"];
    const detail = `the run \`${run}\` is in the ${place} \`${other.name}\`, and this API key is for ${kind}; undo it with the key that made it`;
    return new ProblemError("not-found", detail);
  }

  async #planAndStore(): Promise<UndoResult> {
    const { isDry, idempotency, confirm } = this.#request;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const plan = await this.#plan();
      const outline = toOutline(plan);
      const planned = { undone: this.#toUndone(outline), isReplay: false, touched: () => touchedBy(plan) };
      const isStored = !isDry && (plan.records.length > 0 || idempotency !== undefined);
      if (!isDry) confirm?.(planned);
      if (!isStored) return planned;
      const stored = await this.#store(plan, outline);
      if (stored) return { ...planned, undone: this.#toFinalUndone(stored), isReplay: stored.isReplay };
    }
    throw new RetryableError("others keep changing the run's records");
  }

  async #plan(): Promise<UndoPlan> {
    const { key, siteView } = this.#authorized;
    const mayUndo = (actor: string) => actor === key.prefix || key.formerPrefixes.includes(actor);
    const plan = await planUndo(this.#parts.engine, siteView, this.#request.run, mayUndo);
    this.#requireRights([...plan.records, ...plan.skipped].map(({ resource }) => resource));
    return plan;
  }

  /** The key made the run, but may have lost rights since. @param names of the run's resources */
  #requireRights(names: readonly string[]): void {
    const changed = this.#parts.resources.filter(({ name }) => names.includes(name));
    requireRights(this.#context, this.#authorized.key, changed.map(writeRight));
  }

  /** Stores a plan in one transaction, except for records that others have changed. With `confirm`, stores nothing and returns undefined if there are any. */
  async #store(plan: UndoPlan, outline: Outline): Promise<StoredOutline | undefined> {
    const { writeQueue, now } = this.#parts;
    const { siteId } = this.#authorized.siteView;
    const isOptional = this.#request.confirm === undefined;
    const common = { ...authorizedIntent(this.#context, this.#authorized, now()), isOptional };
    const notDone: NotDone[] = [];
    let count = 0;
    const result = await writeQueue.commitAtomically(
      siteId,
      batchesOf(plan, common),
      (outcomes) => {
        for (const outcome of outcomes) {
          const index = count++;
          if (outcome.kind === "rejected") notDone.push({ index, ...outcome });
          else if (outcome.kind === "unchanged")
            notDone.push({ index, kind: outcome.kind, id: outcome.id, revision: outcome.revision });
        }
      },
      this.#toOptions(outline),
    );
    if (result.kind === "committed") return { outline, run: result.run, notDone, isReplay: false };
    const stored = storedResponseIn(result);
    if (stored) {
      const replay = toReplay(stored);
      this.#requireRights(namesIn(replay.outline));
      return replay;
    }
    const last = notDone.at(-1);
    if (last?.kind === "rejected" && last.rejectionReason === "other-epoch") throw new OutdatedError("epoch");
    if (last?.kind === "rejected" && last.rejectionReason === "authorization-changed") throw new OutdatedError("key");
    return undefined;
  }

  /** Looks for the response to an earlier request with the same idempotency key. */
  async #findReplay(): Promise<StoredOutline | undefined> {
    if (!this.#request.idempotency) return undefined;
    const { writeQueue, resources, now } = this.#parts;
    const base = authorizedIntent(this.#context, this.#authorized, now());
    const { idempotency } = this.#toOptions({ records: [], unchanged: 0, skipped: [] });
    const stored = await findStoredResponse(writeQueue, base, (resources[0] as Resource).name, idempotency);
    const replay = stored && toReplay(stored);
    if (replay) this.#requireRights(namesIn(replay.outline));
    return replay;
  }

  #toOptions(outline: Outline): AtomicCommitOptions {
    const { idempotency } = this.#request;
    const site = this.#authorized.siteView.siteId;
    return {
      run: { id: randomText(8), size: outline.records.length },
      idempotency: idempotency && { ...idempotency, site, at: this.#parts.now(), replayData: JSON.stringify(outline) },
    };
  }

  #toUndone({ records, unchanged, skipped }: Outline, run: string | null = null): Undone {
    const deleted = records.filter(([, , operation]) => operation === "delete").length;
    const { resources } = this.#parts;
    // A newer version of the program may have a resource we don't know. We use its name as its path then.
    const toResource = (name: string) => resources.find((resource) => resource.name === name) ?? { path: name };
    return {
      run,
      deleted,
      restored: records.length - deleted,
      unchanged,
      skipped: skipped.map(({ resource, id, revision }) => ({ resource: toResource(resource), id, revision })),
    };
  }

  /** Takes out the records that others have changed in the meantime: they're skipped, or already have their earlier state. */
  #toFinalUndone({ outline, run, notDone }: StoredOutline): Undone {
    const left = new Map(notDone.map((one) => [one.index, one]));
    const records = outline.records.filter((_, index) => !left.has(index));
    const skipped = [...outline.skipped];
    let { unchanged } = outline;
    for (const one of notDone) {
      const [resource, id] = outline.records[one.index] as Outline["records"][number];
      const hasEarlierState = one.kind === "unchanged" || one.rejectionReason === "not-found";
      if (hasEarlierState) unchanged++;
      else skipped.push({ resource, id, revision: one.revision as number });
    }
    return this.#toUndone({ records, unchanged, skipped }, run);
  }
}

function toReplay({ run, replayData, notDone }: StoredBatch): StoredOutline {
  return { outline: JSON.parse(replayData), run, notDone, isReplay: true };
}

function namesIn({ records, skipped }: Outline): string[] {
  return [...records.map(([name]) => name), ...skipped.map(({ resource }) => resource)];
}

function toOutline({ records, unchanged, skipped }: UndoPlan): Outline {
  return {
    records: records.map(({ resource, id, before }) => [resource, id, before === null ? "delete" : "restore"]),
    unchanged,
    skipped,
  };
}

function touchedBy({ epoch, records }: UndoPlan): string {
  return JSON.stringify([epoch, ...records.map(({ resource, id, last }) => [resource, id, last])]);
}

function* batchesOf({ records, epoch }: UndoPlan, common: Parameters<typeof toUndoIntent>[2]): Generator<Intent[]> {
  for (const batch of chunksOf(records, batchSize)) yield batch.map((record) => toUndoIntent(record, epoch, common));
}
