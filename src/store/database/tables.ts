// The tables, with their columns, types and order. Both engines, `backup` and `copy` derive from this file.
//
//   sites             One row per site. It has the head, the last ID of each resource (`counters`), the floor of the journal, the time of the last entry
//                     (`last_at`), and the number of records per resource (`live`). Site 0 is the system site.
//   records           One row per record. It has the revision of the last change, and the record as JSON (`body`). If the record is deleted, the row
//                     stays, without a body. So each ID is used only once.
//   journal           One row per change. It has the time, the actor, the operation, and the record after the change. The row of an update also has the
//                     record before the change. The row of a change by an operator also has its run.
//   idempotency       The responses to writes with an `Idempotency-Key`. Each is kept for 24 hours.
//   key_uses          The time at which each API key was last used.
//   webhook_state     One row per webhook. It has the cursor, the page in delivery, the failures, the lease, and the database in which the webhook may
//                     deliver (`home`).
//   webhook_secrets   The present secret of each webhook. After a rotation, also the previous secret, for 24 hours.
//   webhook_attempts  The last 100 delivery attempts of each webhook, of the last 20 with request and response.
//   credentials       The sign-in links and sessions of operators, as digests.
//   restrictions      What operators last decided about each limit of a key, operator, webhook or site (restrictions.ts). A restore and a copy merge it
//                     into the table that they replace.
//
// Backups, restores and copies omit webhook_attempts and credentials. They also omit two tables that are not declared here: this_database has the random
// name of this database, and last_backup has the time of the last backup.

/**
 * A whole number (`bigint` in PostgreSQL, `integer` in SQLite) or text. A later migration has added each `added` column (schema-versions.ts): it may
 * be null, and the dumps of earlier program versions lack it.
 */
type ColumnType = "integer" | "text" | "added integer" | "added text";

interface Table {
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[];
  /** Every column with its type, in the order of a dump. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Whether the rows belong to this database alone: dumps do not have them, and a restore deletes them. */
  readonly isNeverDumped?: boolean;
}

/**
 * The tables, the same in every engine and in every dump. The engines derive their statements from this declaration, and rows have the type
 * `TableRow`. So a new column is one line here and one addition per engine, and the compiler finds each place that makes a row without it.
 */
export const tables = {
  sites: {
    key: ["id"],
    columns: {
      id: "integer",
      epoch: "text",
      revision: "integer",
      counters: "text",
      floor: "integer",
      last_at: "integer",
      live: "text",
      live_revision: "integer",
    },
  },
  records: {
    key: ["site_id", "resource", "id"],
    columns: {
      site_id: "integer",
      resource: "text",
      id: "integer",
      revision: "integer",
      body: "text",
    },
  },
  journal: {
    key: ["site_id", "revision"],
    columns: {
      site_id: "integer",
      revision: "integer",
      at: "integer",
      actor: "text",
      resource: "text",
      id: "integer",
      operation: "text",
      body: "text",
      run: "text",
      before: "text",
    },
  },
  idempotency: {
    key: ["site_id", "key_id", "name"],
    columns: {
      site_id: "integer",
      key_id: "integer",
      name: "text",
      digest: "text",
      at: "integer",
      operation: "text",
      id: "integer",
      revision: "integer",
      body: "text",
    },
  },
  key_uses: {
    key: ["key_id"],
    columns: {
      key_id: "integer",
      at: "integer",
    },
  },
  webhook_state: {
    key: ["site_id", "webhook_id"],
    columns: {
      site_id: "integer",
      webhook_id: "integer",
      home: "text",
      cursor: "text",
      epoch: "text",
      first_revision: "integer",
      last_revision: "integer",
      rewinds: "integer",
      failures: "integer",
      failing_since: "integer",
      next_at: "integer",
      is_gone: "integer",
      holder: "text",
      lease_until: "integer",
      resumes: "added integer",
      since: "added text",
      gone_at: "added integer",
    },
  },
  webhook_secrets: {
    key: ["site_id", "webhook_id", "created_at"],
    columns: {
      site_id: "integer",
      webhook_id: "integer",
      created_at: "integer",
      secret: "text",
      until: "integer",
    },
  },
  webhook_attempts: {
    key: ["site_id", "webhook_id", "number"],
    columns: {
      site_id: "integer",
      webhook_id: "integer",
      number: "integer",
      at: "integer",
      status: "integer",
      milliseconds: "integer",
      fault: "text",
      exchange: "added text",
    },
    isNeverDumped: true,
  },
  credentials: {
    key: ["digest"],
    columns: {
      digest: "text",
      kind: "text",
      operator_id: "integer",
      expires_at: "integer",
    },
    isNeverDumped: true,
  },
  restrictions: {
    key: ["kind", "name", "field"],
    columns: {
      kind: "text",
      name: "text",
      field: "text",
      value: "text",
      at: "integer",
    },
  },
} as const satisfies Record<string, Table>;

export type TableName = keyof typeof tables;

type ColumnsOf<T extends TableName> = (typeof tables)[T]["columns"];

/** A row to store, with a value for every column. */
export type TableRow<T extends TableName> = {
  readonly [Column in keyof ColumnsOf<T>]:
    | (ColumnsOf<T>[Column] extends "integer" | "added integer" ? number : string)
    | null;
};

export const tableNames = Object.keys(tables) as TableName[];

/** Returns the columns of a table without the columns `except`, in the order of a dump. */
export function columnsOf(table: TableName, except: readonly string[] = []): string[] {
  return Object.keys(tables[table].columns).filter((column) => !except.includes(column));
}

/**
 * Returns the columns to select for a dump.
 * @param from the name of the table, or of one in a table set. If an earlier program version made the set, it lacks the columns of later additions
 */
export function dumpedColumns(table: TableName, from: string): string {
  return from === table ? columnsOf(table).join(", ") : "*";
}

/** Returns the columns of the primary key of a table. */
export function primaryKeyOf(table: TableName): readonly string[] {
  return tables[table].key;
}

/** Returns the column with the site ID of a row; undefined if the rows of the table do not belong to sites. */
export function siteColumnOf(table: TableName): string | undefined {
  if (table === "sites") return "id";
  return primaryKeyOf(table).find((column) => column === "site_id");
}

/** Returns the tables of a dump. @param site the only site in the dump; undefined for all data */
export function tablesWith(site: number | undefined): TableName[] {
  return tableNames.filter((table) => !isExcludedFromDumps(table) && (site === undefined || siteColumnOf(table)));
}

/** Which rows a dump has. */
export interface DumpOptions {
  /** Returns the name under which the database has a table; by default, the name of the table itself. */
  readonly nameOf?: (table: TableName) => string;
  /** The tables that exist; by default, all of them. */
  readonly present?: readonly TableName[];
  /** The site to read; by default, all sites. */
  readonly site?: number | undefined;
}

function isExcludedFromDumps(table: TableName): boolean {
  const { isNeverDumped = false }: Table = tables[table];
  return isNeverDumped;
}

/** Whether a column has text. Other columns have whole numbers. */
export function isText(table: TableName, column: string): boolean {
  return typeOf(table, column).endsWith("text");
}

/** Whether every row of a dump has the column. */
export function isRequired(table: TableName, column: string): boolean {
  return !typeOf(table, column).startsWith("added");
}

function typeOf(table: TableName, column: string): ColumnType {
  const { columns }: Table = tables[table];
  return columns[column] ?? "text";
}
