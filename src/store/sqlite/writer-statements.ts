// The statements of the writer.

import type { Database } from "bun:sqlite";
import type { RecordChange } from "../../model/change.ts";
import type { ResponseRow, StoredResponse } from "../batch.ts";
import type { BatchRow, JournalRow } from "../batch-rows.ts";
import { putCounts, type StoredTime } from "../journal.ts";
import type { StoredCounts } from "../record-counts.ts";
import { selectDeleted } from "../removed-sites.ts";
import { insert, put, select } from "./statements.ts";

export type WriterStatements = ReturnType<typeof writerStatements>;

/** The parameters of a statement. */
export type SqliteRow = Record<string, string | number | null>;

/** Stores a row, whose members are the parameters. */
interface RowStatement<T> {
  run(row: T): unknown;
}

export function writerStatements(database: Database) {
  const run = <T extends object = SqliteRow>(text: string) =>
    database.query<never, [T & SqliteRow]>(text) as RowStatement<T>;
  return {
    site: database.query<StoredSite, [SqliteRow]>(select("sites")),
    epoch: database.query<{ epoch: string }, [number]>("select epoch from sites where id = ?"),
    row: database.query<Pick<BatchRow, "revision" | "body">, [SqliteRow]>(select("records", ["revision", "body"])),
    changes: database.query<RecordChange, [number, number, number]>(
      "select revision, resource, id, operation, body from journal where site_id = ? and revision > ? order by revision desc limit ?",
    ),
    response: database.query<StoredResponse, [SqliteRow]>(select("idempotency")),
    addSite: run(`${insert("sites")} on conflict (id) do nothing`),
    putSite: run(put("sites")),
    setCounts: run(putCounts({ live: "$live", site: "$id", epoch: "$epoch", revision: "$revision" })),
    lastAt: database.query<{ at: number }, [SqliteRow]>(select("journal", ["at"])),
    putRow: run<BatchRow>(put("records")),
    addChange: run<JournalRow>(insert("journal")),
    putResponse: run<ResponseRow>(put("idempotency")),
    noteUse: run(`${put("key_uses")} where excluded.at > at`),
    deletedSite: database.query<unknown, [number]>(selectDeleted("?")),
    expiredResponse: database.query<unknown, [number]>("select 1 from idempotency where at <= ? limit 1"),
    deleteExpired: database.query<never, [number, number]>(
      "delete from idempotency where (site_id, key_id, name) in (select site_id, key_id, name from idempotency where at <= ? order by at limit ?)",
    ),
  };
}

interface StoredSite extends StoredCounts, StoredTime {
  readonly epoch: string;
  /** JSON text. */
  readonly counters: string;
  readonly floor: number | null;
}
