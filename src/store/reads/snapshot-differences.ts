// Compares part of a snapshot with the database's rows for the same records.
//
// The part is taken from memory first. When the rows are read, the site may have changed. But each row has the revision of its last change, even if
// the record was deleted. A row with a revision above the snapshot's has changed since and isn't compared. Any other must equal the record in memory.

import type { Steps } from "../../lib/slices.ts";
import type { Operation } from "../../model/change.ts";
import type { RecordRow, SiteReadResult } from "../../model/engine.ts";
import { toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import type { CollectionPart } from "../memory/collection.ts";
import type { MemoryRecord } from "../memory/memory-record.ts";

/** A difference between a snapshot and the database. Contains no field values, because they may be secret. */
export interface SnapshotDifference {
  readonly resource: string;
  /** Absent if it's about the whole resource. */
  readonly id?: number;
  /**
   * `not-in-memory`, `not-in-database`: only the other has the record. `revision`: the revisions differ. `fields`: the values differ at the same
   * revision. `unreadable`: the row isn't valid JSON. `after-head`: the row's revision is above the site's. `count`: the numbers of records differ.
   * `last-change`: the revisions of the resource's last change differ. `unfit-change`: a change doesn't fit the record in memory.
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
  /** Revision or count in memory. */
  readonly memory?: number;
  /** Revision or count in the database. */
  readonly database?: number;
  /** Fields with different values, at most 20. */
  readonly fields?: readonly string[];
  /** The operation of a change that doesn't fit. */
  readonly operation?: Operation;
}

/** Called with the differences of a snapshot and its `revision`. */
export type OnDifferences = (found: {
  readonly site: number;
  readonly revision: number;
  readonly differences: readonly SnapshotDifference[];
}) => void;

/** Part of a resource in memory, and its rows, which were read afterwards in the same epoch and timeline. */
export interface ComparedPart {
  readonly resource: Resource;
  /** The snapshot's revision. */
  readonly revision: number;
  /** Maximum number of records in the part, and of rows. */
  readonly limit: number;
  readonly part: CollectionPart;
  readonly read: SiteReadResult & { readonly rows: readonly RecordRow[] };
}

interface Comparison {
  readonly differences: readonly SnapshotDifference[];
  /** How many records were compared. */
  readonly compared: number;
  /** The ID up to which everything was compared; Infinity at the end of the resource. */
  readonly end: number;
}

/** At the end of a resource, this also compares the number of records and the revision of the last change. */
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

/** If the resource has changed since the part was taken, there's nothing to compare. */
function compareCounts({ resource: { name }, revision, part, read }: ComparedPart): SnapshotDifference[] {
  const { count = 0, revision: lastChange = 0 } = read.counts[name] ?? {};
  if (lastChange > revision) return [];
  const differences: SnapshotDifference[] = [];
  if (part.count !== count) differences.push({ resource: name, kind: "count", memory: part.count, database: count });
  if (part.revision !== lastChange)
    differences.push({ resource: name, kind: "last-change", memory: part.revision, database: lastChange });
  return differences;
}

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

const maxFields = 20;

/** Returns dotted names. */
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
