// Why a write of records was refused: the faults of its values, and the records that someone else has changed meanwhile, with who did it and when.

import { once } from "../../lib/concurrency.ts";
import { chunksOf, yieldBetween } from "../../lib/yielding.ts";
import { versionOf } from "../../model/change.ts";
import type { Engine, RecordRow } from "../../model/engine.ts";
import { type ErrorCode, type FieldError, ProblemError } from "../../model/errors.ts";
import { isJsonObject } from "../../model/field.ts";
import { type StorefrontRecord, toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { listKeyLabels } from "../sites/keys.ts";

/** A record to write, and the version that the operator has seen; undefined to overwrite any version. */
export interface ExpectedRecord {
  readonly id: number;
  readonly ifVersion: string | undefined;
  /** The values to write. A record that has them already does not conflict: the response to a write may have been lost. */
  readonly values?: unknown;
}

/** The last change of a record. */
interface LastChange {
  /** As in the journal. */
  readonly actor: string;
  /** The name of the operator, or the label of the key; undefined if none is known. */
  readonly name: string | undefined;
  /** As an ISO 8601 time. */
  readonly at: string;
}

/** A record that has another version now. */
interface Conflict {
  readonly id: number;
  /** The stored record; null if it was deleted. */
  readonly record: StorefrontRecord | null;
  readonly version: string | null;
  /** Null if the journal does not have this change. */
  readonly changed: LastChange | null;
}

/** An error in the values for the record `id`. */
export type RecordFault = FieldError & { readonly id: number };

/** The additional members of the problem of a refused write. */
export interface RefusalMembers {
  /** The first faults, and the number of records with one. */
  readonly faults?: readonly RecordFault[];
  readonly faultyCount?: number;
  /** The first conflicts, and the number of all. */
  readonly conflicts?: readonly Conflict[];
  readonly conflictCount?: number;
}

/** The error of a write of records of which nothing was stored. */
export class WriteRefusedError extends ProblemError {
  readonly members: RefusalMembers;

  constructor(code: ErrorCode, detail: string, members: RefusalMembers) {
    super(code, detail);
    this.members = members;
  }
}

/** Maximum conflicts that are described. */
const maxDescribed = 100;
/** Maximum keys per read. */
const maxKeys = 500;

interface FoundConflicts extends Required<Pick<RefusalMembers, "conflicts" | "conflictCount">> {
  /** The present versions of the records that have another version now, but the values to write already, by ID. */
  readonly repeated: ReadonlyMap<number, string>;
}

/**
 * Returns the records of `expected` that do not exist (any more), or that have another version and other values now: the number of all, and the first
 * 100 with their last changes. Yields to the event loop in between.
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

/** Whether a record has values already. A missing text is empty. */
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
  /** Reads the labels of the keys of the site: once for all conflicts. */
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

/** Reads who made the change `revision` of a site, and when; null if the journal does not have it (any more). */
async function readChangeAt(context: ConflictContext, revision: number): Promise<LastChange | null> {
  const { engine, site, readLabels } = context;
  const [entry] = (await engine.readJournalPage(site, revision - 1, 1)).entries;
  if (entry?.revision !== revision) return null;
  const { actor, at } = entry;
  return { actor, name: await nameOfActor(actor, readLabels), at: new Date(at).toISOString() };
}

/** Returns the name of an operator, or the label of a key; undefined if the actor has no name. */
async function nameOfActor(actor: string, readLabels: ConflictContext["readLabels"]): Promise<string | undefined> {
  const [, operator] = /^(?:console|operator):(.+)$/s.exec(actor) ?? [];
  if (operator !== undefined) return operator;
  return (await readLabels()).get(actor) || undefined;
}
