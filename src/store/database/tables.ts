// The tables, with their columns, types and order, from which both engines, `backup` and `copy` are derived (schema.ts).
//
// Primary keys of rows that belong to a site start with the site, so that a database spanning several machines can distribute the sites.
//
//   sites             One row per site (site-state.ts). Site 0 is the system site.
//   records           One row per record: the revision of its last change, and its JSON (`body`). A deleted record keeps its row, without a body, so
//   that its ID is never used again.
//   journal           One row per change: its time and actor, and the record after it (for a delete, the deleted record). Updates also have the
//   record `before`, and changes by a command, the console or a batch request have their `run`.
//   idempotency       Responses to writes with an `Idempotency-Key`, kept for 24 hours.
//   key_uses          When each API key was last used.
//   webhook_state     One row per webhook: its cursor, the page being delivered, failures, the lease, and the only database that may deliver it
//   (`home`).
//   webhook_secrets   Each webhook's current secret and, for 24 hours after a rotation, the previous one.
//   webhook_attempts  Each webhook's last 100 delivery attempts, numbered. The last 20 include the request and response (`exchange`).
//   credentials       Digests of operators' sign-in links and sessions.
//   restrictions      What operators last decided about each limit of a key, operator, webhook or site (restrictions.ts). `name` stays the same in
//   every backup and site file. Restores and copies merge rows into the table they replace.
//
// One table isn't declared here, because a restore keeps it and dumps leave it out: this_database, whose only row has the database's random name and
// the time of its last backup (this-database.ts).

/**
 * A whole number (`bigint` in PostgreSQL, `integer` in SQLite) or text; with `?`, it may be null. An `added` column came after the first release.
 * Databases get it when this version opens them, and it may be null too: dumps from earlier versions don't have it, and older versions sharing the
 * database leave it null.
 */
type ColumnType = "integer" | "text" | "integer?" | "text?" | "added integer" | "added text";

export interface Table {
  /** The columns of the primary key, in order. */
  readonly key: readonly string[];
  /** All columns with their types, in the order of a dump. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Whether the rows belong to this database only: they're not in dumps, and a restore deletes them. */
  readonly isNeverDumped?: boolean;
  /** Whether the table is later than the first release, so that databases without it get it. */
  readonly isAdded?: boolean;
}

/**
 * The tables, the same in every engine and every dump. Rows have the type `TableRow`, so when you declare a new column or table here, the compiler
 * finds every place that makes rows without it.
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

/** In the order of a dump. */
export function columnsOf(table: TableName, except: readonly string[] = []): string[] {
  return Object.keys(tables[table].columns).filter((column) => !except.includes(column));
}

/** @param from the table, or its name in a table set. A set made by an earlier version of the program lacks columns added since */
export function dumpedColumns(table: TableName, from: string): string {
  return from === table ? columnsOf(table).join(", ") : "*";
}

export function primaryKeyOf(table: TableName): readonly string[] {
  return tables[table].key;
}

/** Returns the column with a row's site ID; undefined if the table's rows don't belong to sites. */
export function siteColumnOf(table: TableName): string | undefined {
  if (table === "sites") return "id";
  return primaryKeyOf(table).find((column) => column === "site_id");
}

/** @param site the only site in the dump; undefined for all data */
export function tablesWith(site: number | undefined): TableName[] {
  return tableNames.filter((table) => !isExcludedFromDumps(table) && (site === undefined || siteColumnOf(table)));
}

export interface DumpOptions {
  /** Returns what the table is called in the database. Default: its own name. */
  readonly nameOf?: (table: TableName) => string;
  /** The tables that exist. Default: all of them. */
  readonly existing?: readonly TableName[];
  /** The site to read. Default: all of them. */
  readonly site?: number | undefined;
}

function isExcludedFromDumps(table: TableName): boolean {
  const { isNeverDumped = false }: Table = tables[table];
  return isNeverDumped;
}

/** As opposed to whole numbers. */
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
