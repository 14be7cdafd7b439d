// Compares a part of a snapshot with the rows of the same records in the database.
//
// The part is taken from memory first, at the revision of the snapshot. The rows are read later, when the site may have further changes. A row has
// the revision of its last change, and a deleted record keeps its row. So if the revision of a row is not above the revision of the
// snapshot, the row has not changed since, and must be equal to the record in memory. A row with a higher revision was changed meanwhile, and is not compared.

import type { Steps } from "../../lib/slices.ts";
import type { Operation } from "../../model/change.ts";
import type { RecordRow, SiteReadResult } from "../../model/engine.ts";
import { toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import type { CollectionPart } from "../memory/collection.ts";
import type { MemoryRecord } from "../memory/memory-record.ts";

/** A difference between a snapshot and the database. It has no values of fields, because a value may be a secret. */
export interface SnapshotDifference {
  readonly resource: string;
  /** ID of the record; absent if the difference is one of the whole resource. */
  readonly id?: number;
  /**
   * `not-in-memory`, `not-in-database`: only the other one has the record. `revision`: the record has another revision. `fields`: the record has other
   * values at the same revision. `unreadable`: the row is not valid JSON. `after-head`: the row has a higher revision than its site. `count`: the number
   * of records. `last-change`: the revision of the last change to any record of the resource. `unfit-change`: a change does not fit the record in memory.
   */
  readonly kind:
    | "not-in-memory"
    | "not-in-database"
    | "revision"
    | "fields"
    | "unreadable"
    | "after-head"
    | "count"
    | "last-change"
    | "unfit-change";
  /** The revision or count in memory. */
  readonly memory?: number;
  /** The revision or count in the database. */
  readonly database?: number;
  /** Names of the fields with other values, at most 20. */
  readonly fields?: readonly string[];
  /** The operation of a change that does not fit. */
  readonly operation?: Operation;
}

/** Called when a snapshot differs from the database. `revision` is that of the snapshot. */
export type OnDifferences = (found: {
  readonly site: number;
  readonly revision: number;
  readonly differences: readonly SnapshotDifference[];
}) => void;

/** A part of a resource in memory, and its rows in the database, which were read after it with the same epoch and timeline. */
export interface ComparedPart {
  readonly resource: Resource;
  /** The revision of the snapshot. */
  readonly revision: number;
  /** Maximum number of records in the part, and of rows. */
  readonly limit: number;
  readonly part: CollectionPart;
  readonly read: SiteReadResult & { readonly rows: readonly RecordRow[] };
}

interface Comparison {
  readonly differences: readonly SnapshotDifference[];
  /** Number of records that were compared. */
  readonly compared: number;
  /** The ID through which everything was compared; Infinity if nothing follows. */
  readonly end: number;
}

/** Compares both. The last part of a resource also compares the number of records, and the revision of the last change to any of them. */
export function* compareParts(compared: ComparedPart): Steps<Comparison> {
  const { resource, revision, limit, part, read } = compared;
  const end = Math.min(endOf(part.records, limit), endOf(read.rows, limit));
  const records = new Map<number, MemoryRecord>();
  for (const record of part.records) if (record.id <= end) records.set(record.id, record);
  const differences: SnapshotDifference[] = [];
  let count = 0;
  for (const row of read.rows) {
    if (row.id > end) break;
    const record = records.get(row.id);
    records.delete(row.id);
    if (row.revision > revision && row.revision <= read.head.revision) continue;
    count++;
    differences.push(...compareRecord(resource, record, row, read.head.revision));
    yield;
  }
  for (const { id, revision: memory } of records.values())
    differences.push({ resource: resource.name, id, kind: "not-in-database", memory });
  if (end === Number.POSITIVE_INFINITY) differences.push(...compareCounts(compared));
  return { differences, compared: count, end };
}

function endOf(ordered: readonly { readonly id: number }[], limit: number): number {
  return ordered.length < limit ? Number.POSITIVE_INFINITY : (ordered.at(-1)?.id as number);
}

/** The stored count is not compared if the resource was changed after the part was taken from memory. */
function compareCounts({ resource: { name }, revision, part, read }: ComparedPart): SnapshotDifference[] {
  const { count = 0, revision: lastChange = 0 } = read.counts[name] ?? {};
  if (lastChange > revision) return [];
  const differences: SnapshotDifference[] = [];
  if (part.count !== count) differences.push({ resource: name, kind: "count", memory: part.count, database: count });
  if (part.revision !== lastChange)
    differences.push({ resource: name, kind: "last-change", memory: part.revision, database: lastChange });
  return differences;
}

/** Returns the difference of a record and its row; an empty list if they are equal. */
function compareRecord(
  resource: Resource,
  record: MemoryRecord | undefined,
  row: RecordRow,
  headRevision: number,
): SnapshotDifference[] {
  const memory = record ? { memory: record.revision } : {};
  const found = { resource: resource.name, id: row.id, ...memory, database: row.revision };
  if (row.revision > headRevision) return [{ ...found, kind: "after-head" }];
  if (row.body === null) return record ? [{ ...found, kind: "not-in-database" }] : [];
  if (!record) return [{ ...found, kind: "not-in-memory" }];
  if (record.revision !== row.revision) return [{ ...found, kind: "revision" }];
  const stored = tryToDeclaredJson(resource, row.body);
  if (stored === undefined) return [{ ...found, kind: "unreadable" }];
  return stored === record.json
    ? []
    : [{ ...found, kind: "fields", fields: differingFields(JSON.parse(record.json), JSON.parse(stored)) }];
}

function tryToDeclaredJson(resource: Resource, json: string): string | undefined {
  try {
    return toDeclaredJson(resource, json);
  } catch {
    return undefined;
  }
}

/** Maximum fields that a difference names. */
const maxFields = 20;

/** Returns the dotted names of the members that differ. */
function differingFields(one: unknown, other: unknown, name = ""): string[] {
  if (one === other) return [];
  if (!isObject(one) || !isObject(other)) return [name];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  const found = [...names].flatMap((key) =>
    differingFields(one[key], other[key], name === "" ? key : `${name}.${key}`),
  );
  return found.slice(0, maxFields);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
