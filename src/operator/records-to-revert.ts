// The records of an undo: their state before the changes in a range, and their state now. They are collected in a temporary file, because a run can
// change millions of records.

import type { Database } from "bun:sqlite";
import { openScratch } from "../lib/scratch-database.ts";
import type { JournalEntry } from "../model/change.ts";
import { withFileErrors } from "./output.ts";

/** The changes to undo. */
export interface UndoRange {
  /** Only changes after this revision. */
  readonly since: number;
  /** Only changes up to and including this revision; by default, up to the last one. */
  readonly until?: number | undefined;
  /** Only changes of this run; by default, of all runs. */
  readonly run?: string | undefined;
}

/** A record with changes in the range. */
export interface RecordToRevert {
  readonly resource: string;
  readonly id: number;
  /** The record before its first change in the range, as JSON; null if it did not exist; undefined if the journal does not contain it. */
  readonly before: string | null | undefined;
  /** Whether the record is in this state now. */
  readonly isSame: boolean;
  /** The revision of its last change. */
  readonly last: number;
  /** The last change by others after the first change in the range. */
  readonly other: { readonly revision: number; readonly actor: string } | undefined;
}

/** Records per read. */
const pageSize = 500;

/** Collects records from journal entries. All methods throw ProblemError `unavailable` if the temporary file has no space. */
export class RecordsToRevert {
  readonly #range: UndoRange;
  readonly #database: Database;
  readonly #statements: ReturnType<typeof statements>;
  #size = 0;

  constructor(range: UndoRange) {
    this.#range = range;
    this.#database = withScratchErrors(() => openScratch(tables));
    this.#statements = statements(this.#database);
  }

  get size(): number {
    return this.#size;
  }

  /** The highest revision at which a record with an unknown earlier state was first changed; undefined if all earlier states are known. */
  get lastUnknown(): number | undefined {
    return withScratchErrors(() => this.#statements.lastUnknown.get()?.first ?? undefined);
  }

  /** Adds a journal entry after `since` of the range. */
  add(entry: JournalEntry): void {
    const { resource, id, revision, operation, body, actor, run } = entry;
    const isInRange = revision <= (this.#range.until ?? revision) && [undefined, run].includes(this.#range.run);
    const now = operation === "delete" ? null : body;
    withScratchErrors(() => {
      const known = this.#statements.find.get(resource, id);
      if (known) {
        const other = isInRange ? [known.other_revision, known.other_actor] : [revision, actor];
        this.#statements.update.run(now, revision, ...(other as [number | null, string | null]), known.n);
      } else if (isInRange) {
        const before = stateBefore(entry);
        this.#statements.insert.run(
          resource,
          id,
          revision,
          revision,
          before === undefined ? 0 : 1,
          before ?? null,
          now,
        );
        this.#size++;
      }
    });
  }

  /** Adds an entry from before a record's first change in the range. It contains the earlier state if that first change does not. */
  addEarlier({ resource, id, revision, operation, body }: JournalEntry): void {
    withScratchErrors(() =>
      this.#statements.setBefore.run(operation === "delete" ? null : body, resource, id, revision),
    );
  }

  /** Returns the records in the order of their first changes. */
  *records(): Generator<RecordToRevert> {
    for (let after = 0; ; ) {
      const rows = withScratchErrors(() => this.#statements.page.all(after, pageSize));
      for (const row of rows) yield toRecord(row);
      after = rows.at(-1)?.n ?? 0;
      if (rows.length < pageSize) return;
    }
  }

  close(): void {
    this.#database.close();
  }
}

interface Row {
  readonly n: number;
  readonly resource: string;
  readonly id: number;
  readonly last: number;
  readonly is_known: number;
  readonly before: string | null;
  readonly is_same: number;
  readonly other_revision: number | null;
  readonly other_actor: string | null;
}

const tables = `create table scratch.records (
  n integer primary key, resource text not null, id integer not null, first integer not null, last integer not null,
  is_known integer not null, before text, now text, other_revision integer, other_actor text
) strict;
create unique index scratch.by_id on records (resource, id)`;

function statements(database: Database) {
  return {
    find: database.query<Pick<Row, "n" | "other_revision" | "other_actor">, [string, number]>(
      "select n, other_revision, other_actor from scratch.records where resource = ? and id = ?",
    ),
    insert: database.query<never, [string, number, number, number, number, string | null, string | null]>(
      "insert into scratch.records (resource, id, first, last, is_known, before, now) values (?, ?, ?, ?, ?, ?, ?)",
    ),
    update: database.query<never, [string | null, number, number | null, string | null, number]>(
      "update scratch.records set now = ?, last = ?, other_revision = ?, other_actor = ? where n = ?",
    ),
    lastUnknown: database.query<{ first: number | null }, []>(
      "select max(first) as first from scratch.records where is_known = 0",
    ),
    // Called in the order of the entries, so that the last entry before the first change decides.
    setBefore: database.query<never, [string | null, string, number, number]>(
      "update scratch.records set is_known = 2, before = ? where resource = ? and id = ? and is_known <> 1 and first > ?",
    ),
    page: database.query<Row, [number, number]>(
      `select n, resource, id, last, is_known, before, before is now as is_same, other_revision, other_actor
from scratch.records where n > ? order by n limit ?`,
    ),
  };
}

function toRecord(row: Row): RecordToRevert {
  const { resource, id, last, other_revision: revision, other_actor: actor } = row;
  const before = row.is_known ? row.before : undefined;
  const other = revision === null || actor === null ? undefined : { revision, actor };
  return { resource, id, before, isSame: before !== undefined && row.is_same === 1, last, other };
}

function stateBefore({ operation, body, before }: JournalEntry): string | null | undefined {
  if (operation === "create") return null;
  return operation === "delete" ? body : (before ?? undefined);
}

function withScratchErrors<T>(access: () => T): T {
  return withFileErrors(
    "the changed records cannot be kept in a temporary file (set TMPDIR for another folder)",
    access,
  );
}
