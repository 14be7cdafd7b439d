// Explains why a write was refused: which values are invalid, and which records someone else has changed in the meantime, with who and when.

import { once } from "../../lib/concurrency.ts";
import { chunksOf, yieldBetween } from "../../lib/yielding.ts";
import { versionOf } from "../../model/change.ts";
import type { Engine, RecordRow } from "../../model/engine.ts";
import { type ErrorCode, type FieldError, ProblemError } from "../../model/errors.ts";
import { isJsonObject } from "../../model/field.ts";
import { type StorefrontRecord, toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { listKeyLabels } from "../sites/keys.ts";

/** A record to write. */
export interface ExpectedRecord {
  readonly id: number;
  /** The version the operator has seen; undefined to overwrite any. */
  readonly ifVersion: string | undefined;
  /** The values to write. A record that already has them isn't a conflict, because it may be our own write whose response was lost. */
  readonly values?: unknown;
}

interface LastChange {
  /** As in the journal. */
  readonly actor: string;
  /** The operator's name or the key's label, if known. */
  readonly name: string | undefined;
  /** As an ISO 8601 time. */
  readonly at: string;
}

/** A record that has changed. */
interface Conflict {
  readonly id: number;
  /** The stored record; null if it was deleted. */
  readonly record: StorefrontRecord | null;
  readonly version: string | null;
  /** Null if the journal no longer has this change. */
  readonly changed: LastChange | null;
}

/** What's wrong with the values for the record `id`. */
export type RecordFault = FieldError & { readonly id: number };

/** Extra members of the problem for a refused write. */
export interface RefusalMembers {
  /** The first faults, and how many records have any. */
  readonly faults?: readonly RecordFault[];
  readonly faultyCount?: number;
  /** The first conflicts, and how many there are. */
  readonly conflicts?: readonly Conflict[];
  readonly conflictCount?: number;
}

/** Nothing was stored. */
export class WriteRefusedError extends ProblemError {
  readonly members: RefusalMembers;

  constructor(code: ErrorCode, detail: string, members: RefusalMembers) {
    super(code, detail);
    this.members = members;
  }
}

/** Conflicts that are described in full. */
const maxDescribed = 100;
/** Records per read. */
const maxKeys = 500;

interface FoundConflicts extends Required<Pick<RefusalMembers, "conflicts" | "conflictCount">> {
  /** Records that have changed, but to the very values we want to write: their current versions, by ID. */
  readonly repeated: ReadonlyMap<number, string>;
}

/**
 * Finds the records that don't exist (any more), or have changed to other values. Counts them all, and describes the first 100. Yields to the event loop
 * in between.
 */
export async function findConflicts(
  engine: Engine,
  site: number,
  resource: Resource,
  expected: readonly ExpectedRecord[],
): Promise<FoundConflicts> {
  const context = { engine, site, resource, readLabels: once(() => listKeyLabels(engine, site)) };
  const conflicts: Conflict[] = [];
  const repeated = new Map<number, string>();
  let conflictCount = 0;
  for await (const chunk of yieldBetween(chunksOf(expected, maxKeys))) {
    const { head, rows } = await engine.readRows(
      site,
      chunk.map(({ id }) => ({ resource: resource.name, id })),
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const one of chunk) {
      const row = byId.get(one.id);
      if (row && !isChanged(row, head.epoch, one)) continue;
      if (row && row.body !== null && hasValues(JSON.parse(row.body), one.values)) {
        repeated.set(one.id, versionOf(head.epoch, row.revision));
        continue;
      }
      if (++conflictCount > maxDescribed) continue;
      conflicts.push(await describeConflict(context, one.id, row, head.epoch));
    }
  }
  return { conflicts, conflictCount, repeated };
}

/** A missing field counts as an empty one. */
function hasValues(record: unknown, values: unknown): boolean {
  if (!isJsonObject(values)) return typeof values === "string" && (record ?? "") === values;
  return Object.entries(values).every(([name, value]) => hasValues(Object(record)[name], value));
}

function isChanged({ body, revision }: RecordRow, epoch: string, { ifVersion }: ExpectedRecord): boolean {
  return body === null || (ifVersion !== undefined && versionOf(epoch, revision) !== ifVersion);
}

interface ConflictContext {
  readonly engine: Engine;
  readonly site: number;
  readonly resource: Resource;
  /** Reads the key labels once for all conflicts. */
  readonly readLabels: () => Promise<ReadonlyMap<string, string>>;
}

async function describeConflict(
  context: ConflictContext,
  id: number,
  row: RecordRow | undefined,
  epoch: string,
): Promise<Conflict> {
  const exists = row !== undefined && row.body !== null;
  return {
    id,
    record: exists ? JSON.parse(toDeclaredJson(context.resource, row.body as string)) : null,
    version: exists ? versionOf(epoch, row.revision) : null,
    changed: row ? await readChangeAt(context, row.revision) : null,
  };
}

/** Null if the journal doesn't have the revision (any more). */
async function readChangeAt(context: ConflictContext, revision: number): Promise<LastChange | null> {
  const { engine, site, readLabels } = context;
  const [entry] = (await engine.readJournalPage(site, revision - 1, 1)).entries;
  if (entry?.revision !== revision) return null;
  const { actor, at } = entry;
  return { actor, name: await nameOfActor(actor, readLabels), at: new Date(at).toISOString() };
}

/** An operator's name or a key's label, if there is one. */
async function nameOfActor(actor: string, readLabels: ConflictContext["readLabels"]): Promise<string | undefined> {
  const [, operator] = /^(?:console|operator):(.+)$/s.exec(actor) ?? [];
  if (operator !== undefined) return operator;
  return (await readLabels()).get(actor) || undefined;
}
