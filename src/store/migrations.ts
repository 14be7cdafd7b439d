// What the engines share about migrations.

import { Refusal } from "../model/errors.ts";
import type { TableName } from "./tables.ts";

interface LastAdded {
  readonly table: TableName;
  readonly column: string;
}

/** A migration that only adds columns and tables. A database needs it unless the table has the column, the last one that it adds. */
export interface Addition extends LastAdded {
  readonly file: string;
  readonly sql: string;
}

/**
 * The files that only add columns and tables, in order, each with the last column that it adds. An older program leaves these columns
 * empty, and on SQLite empties those of each `sites` row that it writes. So no value may be trusted unless it states the revision for which
 * it is valid. An older program leaves the tables alone: when it restores or removes, their rows stay.
 */
const lastAdded = {
  "002-added-columns.sql": { table: "sites", column: "live_revision" },
  "003-webhooks.sql": { table: "webhook_attempts", column: "fault" },
  "004-credentials.sql": { table: "credentials", column: "expires_at" },
  "005-webhook-columns.sql": { table: "webhook_state", column: "gone_at" },
} as const satisfies Record<string, LastAdded>;

/** @param sqls the text of each file, as an engine has it */
export function additionsOf(sqls: Readonly<Record<keyof typeof lastAdded, string>>): readonly Addition[] {
  const files = Object.keys(lastAdded) as (keyof typeof lastAdded)[];
  return files.map((file) => ({ ...lastAdded[file], file, sql: sqls[file] }));
}

/** The refusal of a database whose tables have version `found`, when `known` is the latest that this program knows. */
export function madeByNewer(found: number, known: number): Refusal {
  return new Refusal(
    "unavailable",
    `the database was made by a newer program (schema ${found}, this one knows ${known}): upgrade this program`,
  );
}
