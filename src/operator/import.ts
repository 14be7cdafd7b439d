import { operator } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { isId, readNewRecord, readRecord, type StorefrontRecord, valueAt } from "../model/record.ts";
import { findLeaf, type Leaf, type Resource } from "../model/resource.ts";
import type { Intent, Outcome } from "../model/write.ts";
import type { NumberedRow } from "./rows.ts";

export interface ImportOptions {
  /** The field by which a row finds its record, in place of the ID. */
  readonly match?: string | undefined;
  /** Only says what would happen. */
  readonly dryRun?: boolean | undefined;
  /** All rows or none. */
  readonly atomic?: boolean | undefined;
  readonly now: () => number;
}

/** A fault and the number of its row. */
export interface RowFault {
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
  faults: RowFault[];
}

const batchSize = 500;

interface Pending {
  readonly row: number;
  readonly intent: Intent;
  readonly matched: string | undefined;
}

/**
 * Makes a record of each row, or updates the one that it matches. A row's fault does not stop the others, except with
 * `atomic`: then nothing is stored.
 * @throws Refusal when the rows cannot be read or the store cannot be written to; the batches before that are stored
 */
export async function importRecords(
  engine: Engine,
  site: number,
  resource: Resource,
  rows: AsyncIterable<NumberedRow>,
  options: ImportOptions,
): Promise<ImportSummary> {
  const summary: ImportSummary = { rows: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, faults: [] };
  const matcher = await openMatcher(engine, site, resource, options.match);
  let pending: Pending[] = [];

  async function flush(): Promise<void> {
    const batch = pending;
    pending = [];
    if (batch.length === 0) return;
    const outcomes = options.dryRun
      ? undefined
      : await engine.commit(
          batch.map(({ intent }) => intent),
          options.atomic,
        );
    batch.forEach(({ row, intent, matched }, index) => {
      const outcome = outcomes?.[index];
      tally(summary, row, intent, outcome);
      if (outcome?.kind === "done") matcher.made(matched, outcome.id);
    });
  }

  for await (const row of rows) {
    summary.rows++;
    try {
      const value = matcher.valueOf(row);
      const waits = pending.some(({ matched }) => matched !== undefined && matched === value);
      if (waits && !options.atomic) await flush();
      pending.push(toPending(row, resource, site, matcher, options.now()));
    } catch (error) {
      if (!(error instanceof Refusal) || error.code === "unavailable") throw error;
      reject(summary, row.number, error);
    }
    if (pending.length >= batchSize && !options.atomic) await flush();
  }
  if (options.atomic && summary.rejected > 0) return { ...summary, created: 0, updated: 0, unchanged: 0 };
  await flush();
  if (options.atomic && summary.rejected > 0) return { ...summary, created: 0, updated: 0, unchanged: 0 };
  return summary;
}

function toPending(row: NumberedRow, resource: Resource, site: number, matcher: Matcher, at: number): Pending {
  const { input, faults } = row.decoded;
  const match = matcher.find(row);
  const common = { site, resource: resource.name, actor: operator, at };
  if (match.kind === "update") {
    const { values } = readRecord(resource, input, faults);
    const intent: Intent = { ...common, operation: "update", id: match.id, text: JSON.stringify(values) };
    return { row: row.number, intent, matched: match.value };
  }
  const { ID: _, ...fields } = input as { ID?: unknown };
  const text = JSON.stringify(readNewRecord(resource, fields, faults));
  return { row: row.number, intent: { ...common, operation: "create", id: match.id, text }, matched: match.value };
}

function tally(summary: ImportSummary, row: number, intent: Intent, outcome: Outcome | undefined): void {
  const kind = outcome?.kind ?? "done";
  if (kind === "refused") reject(summary, row, new Refusal("conflict", whyRefused(intent, outcome)));
  else if (kind === "unchanged") summary.unchanged++;
  else if (intent.operation === "create") summary.created++;
  else summary.updated++;
}

function whyRefused({ id }: Intent, outcome: Outcome | undefined): string {
  const deleted = outcome?.kind === "refused" && outcome.why === "id-used";
  return deleted
    ? `the record ${id} was deleted; put it back with restore-record`
    : `the record ${id} has just been deleted`;
}

function reject(summary: ImportSummary, row: number, refusal: Refusal): void {
  summary.rejected++;
  const faults = refusal.faults.length > 0 ? refusal.faults : [{ field: "", detail: refusal.message }];
  for (const { field, detail } of faults) summary.faults.push({ row, field, detail });
}

type Match =
  | { readonly kind: "update"; readonly id: number; readonly value: string | undefined }
  | { readonly kind: "create"; readonly id: number | undefined; readonly value: string | undefined };

/** Finds the record that a row means. */
interface Matcher {
  /** What the row is matched by, where that is a field and not the ID. */
  valueOf(row: NumberedRow): string | undefined;
  /** @throws Refusal `conflict` when several records match */
  find(row: NumberedRow): Match;
  made(value: string | undefined, id: number): void;
}

async function openMatcher(engine: Engine, site: number, resource: Resource, field = "ID"): Promise<Matcher> {
  const { rows } = await engine.load(site);
  const ours = rows.filter((row) => row.resource === resource.name && row.body !== null);
  if (field === "ID") return matchById(new Set(ours.map(({ id }) => id)));
  const leaf = findLeaf(resource, field);
  if (!leaf) throw new Refusal("bad-request", `--match: there is no field "${field}" in ${resource.plural}`);
  return matchByField(
    leaf,
    ours.map(({ body }) => JSON.parse(body as string)),
  );
}

function matchById(present: Set<number>): Matcher {
  return {
    valueOf: () => undefined,
    find({ decoded }) {
      const { ID } = decoded.input as { ID?: unknown };
      if (isId(ID)) {
        if (present.has(ID)) return { kind: "update", id: ID, value: undefined };
        present.add(ID);
        return { kind: "create", id: ID, value: undefined };
      }
      if (ID !== undefined) throw badId(ID);
      return { kind: "create", id: undefined, value: undefined };
    },
    made: () => {},
  };
}

function matchByField(leaf: Leaf, records: readonly StorefrontRecord[]): Matcher {
  const ids = new Map<string, number[]>();
  const put = (value: string, id: number) => {
    const known = ids.get(value);
    if (!known) ids.set(value, [id]);
    else if (!known.includes(id)) known.push(id);
  };
  for (const record of records) put(valueAt(record, leaf), record.ID);
  return {
    valueOf: ({ decoded }) => valueAt(decoded.input as StorefrontRecord, leaf),
    find({ decoded }) {
      const value = valueAt(decoded.input as StorefrontRecord, leaf);
      const found = ids.get(value) ?? [];
      if (found.length > 1)
        throw new Refusal(
          "conflict",
          `${found.length} records have this ${leaf.path}: ${found.slice(0, 5).join(", ")}`,
        );
      const [id] = found;
      return id === undefined ? { kind: "create", id: undefined, value } : { kind: "update", id, value };
    },
    made(value, id) {
      if (value !== undefined) put(value, id);
    },
  };
}

function badId(id: unknown): Refusal {
  return new Refusal("invalid-record", "", {
    faults: [{ field: "ID", detail: `must be a whole number from 1, not ${JSON.stringify(id)}` }],
  });
}
