// A site's history: list and export its changes, undo them, or restore a single record.

import { parseNumber, parseSingle } from "../../http/common/parameters.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { JournalEntry } from "../../model/change.ts";
import { ProblemError } from "../../model/errors.ts";
import { publicResources } from "../../model/resource.ts";
import { type HistoryEntry, readHistory } from "../../operator/journal/history.ts";
import { historyCsvHeader, toHistoryRows } from "../../operator/journal/history-csv.ts";
import {
  type EntryFilter,
  readEntries,
  resolveRevision,
  revisionsOf,
  selectEntries,
} from "../../operator/journal/journal-entries.ts";
import { restoreRecord } from "../../operator/journal/restore-record.ts";
import { undo } from "../../operator/journal/undo.ts";
import { listKeyLabels } from "../../operator/sites/keys.ts";
import { allResources } from "../../resources/all.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import { parseBoolean, parseOptionalText, parseOptionalWholeNumber, parseWholeNumber } from "../json-body.ts";
import { LongWork } from "../long-work.ts";
import type { OpenImports } from "../open-imports.ts";
import { withReauthorization } from "../reauthorized-engine.ts";
import { recordDownload } from "./downloads.ts";
import { idOf, resourceNamed, resourceOf, timeIn } from "./parameters.ts";
import type {
  HistoryEntryInfo,
  HistoryPartResponse,
  HistoryResponse,
  RestoreBody,
  UndoBody,
  UndoResponse,
  WriteResponse,
} from "./record-types.ts";

export function historyActions(imports: OpenImports): readonly Action[] {
  return [
    ["GET", "/operator/sites/{site}/history", "read", listEntries],
    ["GET", "/operator/sites/{site}/history/export", "read", exportPart],
    ["POST", "/operator/sites/{site}/undo", "records", (call) => undoChanges(call, imports)],
    ["POST", "/operator/sites/{site}/records/{resource}/{id}/restore", "records", restore],
  ];
}

/**
 * Lists the changes before a revision, newest first. The query is `?from=&to=&resource=brands&id=&kind=update&actor=&run=&before=&limit=&single=1`.
 * With `single`, a run's changes are listed one by one.
 */
async function listEntries(call: ActionContext): Promise<HistoryResponse> {
  const { query, engine } = call;
  const site = await call.site();
  const filter = filterIn(query);
  const limit = parseNumber(query, "limit", { min: 1, max: 200, byDefault: 50 });
  const before = parseNumber(query, "before", { min: 1, byDefault: undefined });
  const { since, until = Number.POSITIVE_INFINITY } = await rangeIn(call, site.ID);
  const page = await readHistory(engine, site.ID, {
    ...filter,
    since,
    before: Math.min(before ?? Number.POSITIVE_INFINITY, until + 1),
    limit,
    isGrouped: !query.has("single"),
  });
  const labels = await listKeyLabels(engine, site.ID);
  const entries = page.entries.map((entry) => toHistoryEntryInfo(entry, labels.get(entry.actor)));
  return { ...page, next: page.next ?? null, entries };
}

/** Minimum length of each CSV part but the last, in UTF-16 units. Parts end with a whole change, so they can be a little longer. */
const minPartLength = 2 * 1024 * 1024;

/** At most two parts are built at once. Others wait. */
const parts = new LongWork(2);

/**
 * Exports part of what `listEntries` lists as CSV, oldest first. The browser joins the parts, so the server never has the whole file in memory.
 * `after=` is the previous part's `next`; without it, the part starts with the header.
 */
async function exportPart(call: ActionContext): Promise<HistoryPartResponse> {
  const { query, engine, request } = call;
  const site = await call.site();
  const [filter, range] = [filterIn(query), await rangeIn(call, site.ID)];
  const after = parseNumber(query, "after", { min: 1, byDefault: undefined });
  const since = after === undefined ? range.since : Math.max(after, range.since ?? 0);
  const labels = await listKeyLabels(engine, site.ID);
  if (after === undefined)
    await recordDownload(call, { name: `${site.Name}-history.csv`, site: site.ID, detail: "history" });
  return parts.run(call, async () => {
    let [text, changes] = [after === undefined ? historyCsvHeader : "", 0];
    const yieldIfDue = createYielder();
    for await (const entry of selectEntries(readEntries(engine, site.ID, { ...range, since }), filter)) {
      await yieldIfDue();
      text += toHistoryRows(entry, labels);
      changes++;
      if (text.length >= minPartLength || request.isAbandoned) return { text, changes, next: entry.revision };
    }
    return { text, changes, next: null };
  });
}

const kinds: readonly JournalEntry["operation"][] = ["create", "update", "delete"];

function filterIn(query: URLSearchParams): EntryFilter {
  const [path, kind] = [parseSingle(query, "resource"), parseSingle(query, "kind")];
  const operation = kinds.find((one) => one === kind);
  if (kind !== undefined && !operation)
    throw new ProblemError("bad-request", `\`kind\` must be one of ${kinds.join(", ")}`);
  return {
    resource: path === undefined ? undefined : resourceNamed(path).name,
    id: parseNumber(query, "id", { min: 1, byDefault: undefined }),
    operation,
    actor: parseSingle(query, "actor"),
    run: parseSingle(query, "run"),
  };
}

/**
 * Returns the revisions (after `since`, up to and including `until`) of the changes between the times `from` (inclusive) and `to` (exclusive).
 * @throws ProblemError `bad-request`
 */
export async function rangeIn(
  { query, engine }: ActionContext,
  site: number,
): Promise<{ since?: number; until?: number }> {
  const [from, to] = [timeIn(query, "from"), timeIn(query, "to")];
  return {
    ...(from === undefined ? {} : { since: await resolveRevision(engine, site, { at: from }) }),
    ...(to === undefined ? {} : { until: await resolveRevision(engine, site, { at: to }) }),
  };
}

/** Allowed values of a revision. 0 is the state before the first change. */
const revisions = { min: 0 };

/** At most two undos run at once, because each holds up to 50,000 records in memory. */
const undos = new LongWork(2);

async function undoChanges(call: ActionContext, imports: OpenImports): Promise<UndoResponse> {
  const site = await call.site();
  const input = await call.input<UndoBody>();
  const since = parseWholeNumber(input, "since", revisions);
  const until = parseOptionalWholeNumber(input, "until", revisions);
  const run = parseOptionalText(input, "run");
  // Insist on booleans, so that a malformed `dryRun` never turns a dry run into a change.
  const [dryRun, force] = [parseBoolean(input, "dryRun"), parseBoolean(input, "force")];
  const options = { dryRun, force, at: call.now() };
  const engine = withReauthorization(call, "undo", site, { outlivesSession: false });
  const summary = await undos.run(call, () => undo(engine, site.ID, { since, until, run }, options));
  const { deleted, restored, skippedCount: skipped } = summary;
  if (run !== undefined && !dryRun && deleted + restored > 0)
    imports.markUndone(site.ID, run, { deleted, restored, skipped });
  return {
    ...summary,
    skipped: summary.skipped.map((record) => ({ ...record, resource: pathOf(record.resource) })),
    run: call.run,
  };
}

/** Sets a record back to its state at a revision, by default the one before its last change. */
async function restore(call: ActionContext): Promise<WriteResponse> {
  const [site, resource, id] = [await call.site(), resourceOf(call), idOf(call)];
  const revision = parseOptionalWholeNumber(await call.input<RestoreBody>(), "revision", revisions);
  const outcome = await restoreRecord(call.engine, site.ID, resource, id, revision, call.now());
  return { revisions: revisionsOf([outcome]), run: call.run };
}

function toHistoryEntryInfo(
  { change, resources, at, ...entry }: HistoryEntry,
  actorLabel: string | undefined,
): HistoryEntryInfo {
  const { operation, resource, id, body, before } = change;
  const after = operation === "delete" ? null : JSON.parse(body);
  const previous = operation === "delete" ? JSON.parse(body) : before === null ? null : JSON.parse(before);
  return {
    ...entry,
    actorLabel: actorLabel || null,
    at: new Date(at).toISOString(),
    resources: resources.map(pathOf),
    change: { operation, resource: pathOf(resource), id, before: previous, after },
  };
}

function pathOf(name: string): string {
  return publicResources(allResources).find((resource) => resource.name === name)?.path ?? name;
}
