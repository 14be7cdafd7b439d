// Collects the records to undo, with their state before the changes and their state now. Uses a temporary file, because a run can change millions of
// records.

import type { Database } from "bun:sqlite";
import { openScratch } from "../../lib/scratch-database.ts";
import type { JournalEntry } from "../../model/change.ts";
import { withTemporaryFileErrors } from "../../model/errors.ts";
import { stateBefore, type UndoneRecord } from "../../store/writes/undo-plan.ts";

const withScratchErrors = withTemporaryFileErrors("can't keep the changed records in a temporary file");

/** The changes to undo. */
export interface UndoRange {
  /** Only changes after this revision. */
  readonly since: number;
  /** Only changes up to and including this revision. */
  readonly until?: number | undefined;
  /** Only changes of this run. */
  readonly run?: string | undefined;
}

/** A record with changes in the range. */
export interface RecordToUndo extends UndoneRecord {
  /** Whether the record is already back in its earlier state. */
  readonly isSame: boolean;
  /** The last change that isn't in the range, but came after its first change. */
  readonly other: { readonly revision: number; readonly actor: string } | undefined;
}

/** Records per read. */
const pageSize = 500;

/** All methods throw ProblemError `unavailable` if there's no space for the temporary file. */
export class RecordsToUndo {
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

  /** @param entry one after the range's `since` */
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
        this.#statements.insert.run(resource, id, revision, stateBefore(entry), now);
        this.#size++;
      }
    });
  }

  /** In the order of their first changes. */
  *records(): Generator<RecordToUndo> {
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
  readonly before: string | null;
  readonly is_same: number;
  readonly other_revision: number | null;
  readonly other_actor: string | null;
}

const tables = `create table scratch.records (
  n integer primary key, resource text not null, id integer not null, last integer not null,
  before text, now text, other_revision integer, other_actor text
) strict;
create unique index scratch.by_id on records (resource, id)`;

function statements(database: Database) {
  return {
    find: database.query<Pick<Row, "n" | "other_revision" | "other_actor">, [string, number]>(
      "select n, other_revision, other_actor from scratch.records where resource = ? and id = ?",
    ),
    insert: database.query<never, [string, number, number, string | null, string | null]>(
      "insert into scratch.records (resource, id, last, before, now) values (?, ?, ?, ?, ?)",
    ),
    update: database.query<never, [string | null, number, number | null, string | null, number]>(
      "update scratch.records set now = ?, last = ?, other_revision = ?, other_actor = ? where n = ?",
    ),
    page: database.query<Row, [number, number]>(
      `select n, resource, id, last, before, before is now as is_same, other_revision, other_actor
from scratch.records where n > ? order by n limit ?`,
    ),
  };
}

function toRecord(row: Row): RecordToUndo {
  const { resource, id, last, before, is_same, other_revision: revision, other_actor: actor } = row;
  const other = revision === null || actor === null ? undefined : { revision, actor };
  return { resource, id, before, isSame: is_same === 1, last, other };
}
