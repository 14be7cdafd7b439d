// Which schemas of a database this program knows. The first migration of each engine, `tables.sql`, makes the base. An addition is a later migration that
// only adds columns and tables (`lastAdded`). This program rejects a database that is older than the base. It also rejects a database of a newer program
// whose migrations did more than add columns and tables.

import { ProblemError } from "../../model/errors.ts";
import type { TableName } from "./tables.ts";

interface LastAdded {
  readonly table: TableName | "last_backup";
  readonly column: string;
}

/** The commit of the base version (docs/glossary.md). */
export const baseVersion = "271c903";

/** An older database than the base lacks one of these columns: the last columns of each migration before the base version. */
export const lastOfBase: readonly LastAdded[] = [
  { table: "sites", column: "live_revision" },
  { table: "webhook_attempts", column: "fault" },
  { table: "credentials", column: "expires_at" },
];

/**
 * A migration that only adds columns and tables, so that programs that do not know them can use the database too. A database needs it if `table`
 * lacks `column`, the last column that the migration adds.
 */
export interface Addition extends LastAdded {
  readonly sql: string;
}

/**
 * The files of the additions in order, each with the last column that it adds. Older program versions do not write the added columns: on SQLite, they
 * set added columns to null in each row of `sites` that they write. So trust an added value in `sites` only if the row says for which revision the
 * value is valid. Older versions do not touch added tables: after their restores and removals, the rows in these tables stay.
 */
const lastAdded = {
  "001-webhook-columns.sql": { table: "webhook_state", column: "gone_at" },
  "002-last-backup.sql": { table: "last_backup", column: "at" },
  "003-delivery-exchanges.sql": { table: "webhook_attempts", column: "exchange" },
  "004-restrictions.sql": { table: "restrictions", column: "at" },
} as const satisfies Record<string, LastAdded>;

/** Returns the additions of an engine, in order. @param sqls the text of each file for this engine */
export function additionsOf(sqls: Readonly<Record<keyof typeof lastAdded, string>>): readonly Addition[] {
  const files = Object.keys(lastAdded) as (keyof typeof lastAdded)[];
  return files.map((file) => ({ ...lastAdded[file], sql: sqls[file] }));
}

/** Returns the error for a database with schema version `found`, if `known` is the latest schema version that this program knows. */
export function schemaTooNewError(found: number, known: number): ProblemError {
  return new ProblemError(
    "unavailable",
    `the database was made by a newer program (schema ${found}, this one knows ${known}): upgrade this program`,
  );
}

/** Returns the error for a database that is older than the base, because it lacks a column of the base. @param name of the database, for the message */
export function schemaTooOldError(name: string, { table, column }: LastAdded): ProblemError {
  return new ProblemError(
    "unavailable",
    `the database at ${name} was made by a version of Storefront before its first release (${table}.${column} is missing): open it once with commit ${baseVersion}, then start this version`,
  );
}
