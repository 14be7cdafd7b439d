import { setImmediate } from "node:timers/promises";
import { operatorActor } from "../model/change.ts";
import type { Engine, SiteContents } from "../model/engine.ts";
import { invalidRecord, Refusal } from "../model/errors.ts";
import { epochOf, type Intent, type Outcome, type Refused } from "../model/intent.ts";
import { readNewRecord, readRecord } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { decideBatch, newSite, rowKey, type Stored } from "../store/batch.ts";
import { type Match, openMatcher, type RowInput } from "./matcher.ts";
import type { NumberedRow } from "./rows.ts";

export interface ImportOptions {
  /** The field by which a row finds its record, in place of the ID. */
  readonly match?: string | undefined;
  /** Only says what would happen. */
  readonly dryRun?: boolean | undefined;
  /** All rows or none. */
  readonly atomic?: boolean | undefined;
  /** Stops it after the rows that are being stored. `rows` must end with this signal's reason as well. */
  readonly signal?: AbortSignal | undefined;
  readonly now: () => number;
}

/** A fault and the number of its row. */
interface RowFault {
  readonly row: number;
  readonly field: string;
  readonly detail: string;
}

export interface ImportSummary {
  rows: number;
  created: number;
  updated: number;
  unchanged: number;
  /** Rows that have a fault. */
  rejected: number;
  /** Whether it was stopped before the last row. */
  interrupted: boolean;
  faults: RowFault[];
}

const batchSize = 500;

interface Pending {
  readonly row: number;
  readonly input: RowInput;
  readonly intent: Intent;
}

/**
 * Makes a record of each row, or updates the one that it matches. A row's fault does not stop the others, except with
 * `atomic`: then nothing is stored.
 * @throws Refusal when the rows cannot be read or the store cannot be written to; it tells how much was stored before
 */
export async function importRecords(
  engine: Engine,
  site: number,
  resource: Resource,
  rows: AsyncIterable<NumberedRow>,
  options: ImportOptions,
): Promise<ImportSummary> {
  const summary = emptySummary();
  const contents = await engine.load(site);
  const matcher = openMatcher(resource, contents, options.match);
  const commit = options.dryRun
    ? rehearse(site, contents)
    : (intents: readonly Intent[], atomic?: boolean) => engine.commit(intents, atomic);
  // Which records the rows mean holds for one history; a site without records has none yet.
  let epoch = contents.head.revision === 0 ? undefined : contents.head.epoch;
  let pending: Pending[] = [];
  let waiting = new Set<string>();

  async function take({ number, decoded }: NumberedRow): Promise<void> {
    const input = readable(decoded);
    const value = matcher.keyOf(input);
    if (value !== undefined && waiting.has(value)) {
      if (options.atomic) throw repeated(options.match);
      await flush();
    }
    const match = matcher.find(input);
    pending.push({ row: number, input, intent: toIntent(match, decoded, resource, site, options.now()) });
    if (value !== undefined) waiting.add(value);
    matcher.note(input, match.id);
  }

  async function flush(): Promise<void> {
    const batch = pending;
    pending = [];
    waiting = new Set();
    if (batch.length === 0) return;
    const intents = batch.map(({ intent }) => ({ ...intent, ifEpoch: epoch }));
    const outcomes = await commit(intents, options.atomic);
    outcomes.forEach((outcome, index) => {
      const { row, input, intent } = batch[index] as Pending;
      tally(summary, row, intent, outcome);
      if (outcome.kind !== "done") return;
      epoch ??= epochOf(outcome.version);
      matcher.note(input, outcome.id);
    });
  }

  async function takeAll(): Promise<void> {
    for await (const row of rows) {
      options.signal?.throwIfAborted();
      // Signals come in between turns of the event loop, and rows that are in memory already need none.
      if (++summary.rows % batchSize === 0) await setImmediate();
      try {
        await take(row);
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== "invalid-record") throw error;
        reject(summary, row.number, error);
      }
      if (pending.length >= batchSize && !options.atomic) await flush();
    }
    if (!options.atomic || summary.rejected === 0) await flush();
  }

  try {
    await takeAll();
  } catch (error) {
    if (options.signal?.aborted && error === options.signal.reason) summary.interrupted = true;
    else throw options.dryRun ? error : withProgress(error, summary);
  }
  const isNothing = options.atomic && (summary.rejected > 0 || summary.interrupted);
  return isNothing ? { ...summary, created: 0, updated: 0, unchanged: 0 } : summary;
}

function emptySummary(): ImportSummary {
  return { rows: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, interrupted: false, faults: [] };
}

/** What the store would answer, without asking it: the same decisions on a copy of the site. */
function rehearse(site: number, { head, rows }: SiteContents) {
  const counters: Record<string, number> = {};
  for (const { resource, id } of rows) counters[resource] = Math.max(counters[resource] ?? 0, id);
  const stored: Stored = {
    sites: new Map([[site, head.revision === 0 ? newSite() : { ...head, counters, counts: undefined }]]),
    rows: new Map(rows.map((row) => [rowKey(site, row.resource, row.id), row])),
    responses: new Map(),
  };
  return async (intents: readonly Intent[], atomic?: boolean): Promise<readonly Outcome[]> =>
    decideBatch(intents, stored, atomic).outcomes;
}

/** The row as an object. @throws Refusal `invalid-record` when it could not be read or is something else */
function readable({ input, faults }: NumberedRow["decoded"]): RowInput {
  if (faults.some(({ field }) => field === "")) throw invalidRecord(faults);
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input as RowInput;
  throw invalidRecord([{ field: "", detail: `must be a record, not ${JSON.stringify(input)?.slice(0, 40)}` }]);
}

function toIntent(match: Match, decoded: NumberedRow["decoded"], resource: Resource, site: number, at: number): Intent {
  const common = { site, resource: resource.name, actor: operatorActor, at };
  const { ID: _, ...fields } = decoded.input as RowInput;
  if (match.kind === "update") {
    const { values } = readRecord(resource, fields, decoded.faults);
    return { ...common, operation: "update", id: match.id, text: JSON.stringify(values) };
  }
  const values = readNewRecord(resource, fields, decoded.faults);
  return { ...common, operation: "create", id: match.id, text: JSON.stringify(values) };
}

function repeated(field: string | undefined): Refusal {
  return invalidRecord([{ field: field ?? "", detail: "an earlier row has the same value (--atomic)" }]);
}

function tally(summary: ImportSummary, row: number, intent: Intent, outcome: Outcome): void {
  if (outcome.kind === "refused") reject(summary, row, new Refusal("conflict", whyRefused(intent, outcome.why)));
  else if (outcome.kind === "unchanged") summary.unchanged++;
  else if (intent.operation === "create") summary.created++;
  else summary.updated++;
}

function whyRefused({ id }: Intent, why: Refused["why"]): string {
  if (why === "other-history") return "the site has just been restored or removed";
  return why === "id-used"
    ? `the record ${id} was deleted; put it back with restore-record`
    : `the record ${id} has just been deleted`;
}

function reject(summary: ImportSummary, row: number, refusal: Refusal): void {
  summary.rejected++;
  const faults = refusal.faults.length > 0 ? refusal.faults : [{ field: "", detail: refusal.message }];
  for (const { field, detail } of faults) summary.faults.push({ row, field, detail });
}

function withProgress(error: unknown, { created, updated }: ImportSummary): unknown {
  if (!(error instanceof Refusal) || created + updated === 0) return error;
  const stored = `${created} records were created and ${updated} updated before that`;
  return new Refusal(error.code, `${error.message}; ${stored}`, { faults: error.faults, cause: error });
}
