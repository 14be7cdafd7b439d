// The history of a site: lists its changes, undoes them, and restores single records.

import { parseNumber } from "../../http/common/parameters.ts";
import { Semaphore } from "../../lib/concurrency.ts";
import { publicResources } from "../../model/resource.ts";
import { type HistoryEntry, readHistory } from "../../operator/journal/history.ts";
import { revisionsOf } from "../../operator/journal/journal-entries.ts";
import { restoreRecord } from "../../operator/journal/restore-record.ts";
import { undo } from "../../operator/journal/undo.ts";
import { allResources } from "../../resources/all.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import { parseBoolean, parseOptionalText, parseOptionalWholeNumber, parseWholeNumber } from "../json-body.ts";
import type { OpenImports } from "../open-imports.ts";
import { withReauthorization } from "../reauthorized-engine.ts";
import { idOf, resourceNamed, resourceOf } from "./parameters.ts";
import type {
  HistoryEntryInfo,
  HistoryResponse,
  RestoreBody,
  UndoBody,
  UndoResponse,
  WriteResponse,
} from "./record-types.ts";

export function historyActions(imports: OpenImports): readonly Action[] {
  return [
    ["GET", "/operator/sites/{site}/history", listEntries],
    ["POST", "/operator/sites/{site}/undo", (call) => undoChanges(call, imports)],
    ["POST", "/operator/sites/{site}/records/{resource}/{id}/restore", restore],
  ];
}

/**
 * Lists the changes before a revision, the latest first. The query is `?before=&limit=&resource=brands&id=&actor=&run=&single=1`. With `single`, the
 * changes of a run are not grouped.
 */
async function listEntries(call: ActionContext): Promise<HistoryResponse> {
  const { query, engine } = call;
  const site = await call.site();
  const numberIn = (name: string) => parseNumber(query, name, { min: 1, byDefault: undefined });
  const path = query.get("resource");
  const page = await readHistory(engine, site.ID, {
    before: numberIn("before"),
    limit: parseNumber(query, "limit", { min: 1, max: 200, byDefault: 50 }),
    resource: path === null ? undefined : resourceNamed(path).name,
    id: numberIn("id"),
    actor: query.get("actor") ?? undefined,
    run: query.get("run") ?? undefined,
    isGrouped: !query.has("single"),
  });
  return { ...page, next: page.next ?? null, entries: page.entries.map(toHistoryEntryInfo) };
}

/** The range of a revision in a body. 0 is the state before the first change. */
const revisions = { min: 0 };

/** Limits the undos that run at once to two, because each has up to 50,000 records in memory. The others wait. */
const semaphore = new Semaphore(2);

async function undoChanges(call: ActionContext, imports: OpenImports): Promise<UndoResponse> {
  const site = await call.site();
  const input = await call.input<UndoBody>();
  const since = parseWholeNumber(input, "since", revisions);
  const until = parseOptionalWholeNumber(input, "until", revisions);
  const run = parseOptionalText(input, "run");
  // Reject a `dryRun` that is not a boolean. Otherwise a client's dry run could become a change.
  const [dryRun, force] = [parseBoolean(input, "dryRun"), parseBoolean(input, "force")];
  const options = { dryRun, force, at: call.now() };
  const engine = withReauthorization(call, "undo", site, { outlivesSession: false });
  const summary = await semaphore.run(() => undo(engine, site.ID, { since, until, run }, options));
  const restored = summary.deleted + summary.restored;
  if (run !== undefined && !dryRun && restored > 0)
    imports.markUndone(site.ID, run, { restored, skipped: summary.skippedCount });
  return {
    ...summary,
    skipped: summary.skipped.map((record) => ({ ...record, resource: pathOf(record.resource) })),
    run: call.run,
  };
}

/** Restores the state of a record at a revision, by default the state before its last change. */
async function restore(call: ActionContext): Promise<WriteResponse> {
  const [site, resource, id] = [await call.site(), resourceOf(call), idOf(call)];
  const revision = parseOptionalWholeNumber(await call.input<RestoreBody>(), "revision", revisions);
  const outcome = await restoreRecord(call.engine, site.ID, resource, id, revision, call.now());
  return { revisions: revisionsOf([outcome]), run: call.run };
}

function toHistoryEntryInfo({ change, resources, at, ...entry }: HistoryEntry): HistoryEntryInfo {
  const { operation, resource, id, body, before } = change;
  const after = operation === "delete" ? null : JSON.parse(body);
  const previous = operation === "delete" ? JSON.parse(body) : before === null ? null : JSON.parse(before);
  return {
    ...entry,
    at: new Date(at).toISOString(),
    resources: resources.map(pathOf),
    change: { operation, resource: pathOf(resource), id, before: previous, after },
  };
}

function pathOf(name: string): string {
  return publicResources(allResources).find((resource) => resource.name === name)?.path ?? name;
}
