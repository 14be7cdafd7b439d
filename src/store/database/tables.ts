// The tables, with their columns, types and order. Both engines, `backup` and `copy` derive from this file (schema.ts).
//
// The primary key of each table with rows of a site begins with the site, so that a database on several machines can distribute the sites.
//
//   sites             One row per site (site-state.ts). Site 0 is the system site.
//   records           One row per record: the revision of its last change, and the record as JSON (`body`). A deleted record keeps its row, without a body,
//                     so that its ID is never used again.
//   journal           One row per change: its time, its actor and the record after it (of a delete, the deleted record). An update also has the record
//                     `before` it, and a change by a command, the console or a batch request has its `run`.
//   idempotency       The responses to writes with an `Idempotency-Key`. Each is kept for 24 hours.
//   key_uses          When each API key was last used.
//   webhook_state     One row per webhook: the cursor, the page in delivery, the failures, the lease, and the only database in which it delivers (`home`).
//   webhook_secrets   The present secret of each webhook. After a rotation, also the previous secret, for 24 hours.
//   webhook_attempts  The last 100 delivery attempts of each webhook, numbered, of the last 20 with request and response (`exchange`).
//   credentials       The sign-in links and sessions of operators, as digests.
//   restrictions      What operators last decided about each limit of a key, operator, webhook or site (restrictions.ts). `name` stays the same in every
//                     backup and site file. A restore and a copy merge the rows into the table that they replace.
//
// Another table is not declared here, because a restore keeps it, and dumps leave it out: this_database has one row, with the random name of this database
// and the time of its last backup (this-database.ts).

/**
 * A whole number (`bigint` in PostgreSQL, `integer` in SQLite) or text; with `?`, the value may be null. An `added` column is later than the first release:
 * databases get it when this program opens them, and dumps of earlier versions lack it, so it may be null too. An older program that uses the same database
 * leaves it null in the rows that it writes.
 */
type ColumnType = "integer" | "text" | "integer?" | "text?" | "added integer" | "added text";

export interface Table {
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[];
  /** Every column with its type, in the order of a dump. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Whether the rows belong to this database alone: dumps do not have them, and a restore deletes them. */
  readonly isNeverDumped?: boolean;
  /** Whether the table is later than the first release, so that databases without it get it. */
  readonly isAdded?: boolean;
}

/**
 * The tables, the same in every engine and in every dump. Rows have the type `TableRow`. So a new column or table is declared here, and the compiler finds
 * each place that makes a row without it.
 */
export const tables = {
  sites: {
    key: ["id"],
    columns: {
      id: "integer",
      epoch: "text",
      revision: "integer",
      last_ids: "text",
      floor: "integer",
      last_at: "integer",
      counts: "text",
    },
  },
  records: {
    key: ["site_id", "resource", "id"],
    columns: {
      site_id: "integer",
      resource: "text",
      id: "integer",
      revision: "integer",
      body: "text?",
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
      run: "text?",
      before: "text?",
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
      failing_since: "integer?",
      next_at: "integer",
      holder: "text?",
      lease_until: "integer",
      resumes: "integer",
      since: "text?",
      gone_at: "integer?",
    },
  },
  webhook_secrets: {
    key: ["site_id", "webhook_id", "created_at"],
    columns: {
      site_id: "integer",
      webhook_id: "integer",
      created_at: "integer",
      secret: "text",
      until: "integer?",
    },
  },
  webhook_attempts: {
    key: ["site_id", "webhook_id", "number"],
    columns: {
      site_id: "integer",
      webhook_id: "integer",
      number: "integer",
      at: "integer",
      status: "integer?",
      milliseconds: "integer",
      fault: "text?",
      exchange: "text?",
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
  readonly [Column in keyof ColumnsOf<T>]: CellOf<ColumnsOf<T>[Column]>;
};

type CellOf<Type> =
  | (Type extends `${string}integer${string}` ? number : string)
  | (Type extends "integer" | "text" ? never : null);

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
  return typeOf(table, column).includes("text");
}

/** Whether every row of a dump has the column. */
export function isRequired(table: TableName, column: string): boolean {
  return !typeOf(table, column).startsWith("added");
}

function typeOf(table: TableName, column: string): ColumnType {
  const { columns }: Table = tables[table];
  return columns[column] ?? "text";
}
