import { Refusal } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";

/**
 * A whole number (`bigint` in PostgreSQL, `integer` in SQLite) or text. An `added` column came in a later version of the
 * program: it may be null, and the dumps of earlier versions do not have it.
 */
type ColumnType = "integer" | "text" | "added integer" | "added text";

interface Table {
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[];
  /** Every column with its type, in the order of a dump. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Whether the rows belong to this database alone: dumps do not have them, and after a refill there are none. */
  readonly isLocal?: boolean;
}

/**
 * The tables, the same in every engine and in every dump. The engines derive their statements from this: a new column is
 * one line here and one migration per engine.
 */
export const tables = {
  sites: {
    key: ["id"],
    columns: {
      id: "integer",
      epoch: "text",
      revision: "integer",
      counters: "text",
      floor: "added integer",
      last_at: "added integer",
      live: "added text",
      live_revision: "added integer",
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
      run: "added text",
      before: "added text",
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
    },
    isLocal: true,
  },
  credentials: {
    key: ["digest"],
    columns: {
      digest: "text",
      kind: "text",
      operator_id: "integer",
      expires_at: "integer",
    },
    isLocal: true,
  },
} as const satisfies Record<string, Table>;

export type TableName = keyof typeof tables;

export const tableNames = Object.keys(tables) as TableName[];

/** The columns of a table without those of `except`, in the order of a dump. */
export function columnsOf(table: TableName, except: readonly string[] = []): string[] {
  return Object.keys(tables[table].columns).filter((column) => !except.includes(column));
}

/** The columns of the primary key of a table. */
export function primaryKeyOf(table: TableName): readonly string[] {
  return tables[table].key;
}

/** The column with the ID of the site that a row belongs to; undefined if it belongs to none. */
export function siteColumnOf(table: TableName): string | undefined {
  if (table === "sites") return "id";
  return primaryKeyOf(table).find((column) => column === "site_id");
}

/** The tables of a dump, of everything or of one site. @param site undefined for everything */
export function tablesWith(site: number | undefined): TableName[] {
  return tableNames.filter((table) => !isLocal(table) && (site === undefined || siteColumnOf(table)));
}

function isLocal(table: TableName): boolean {
  const { isLocal: local = false }: Table = tables[table];
  return local;
}

/** Whether a column holds text, or otherwise whole numbers. */
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

// The read-only views of the resources, for reports with SQL.

/** A resource's view: its name, and a column per text field. */
export interface View {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly keys: readonly string[] }[];
}

/**
 * The view of a resource: `brand.address_town` for `Address.Town`. Versions of the program that declare different fields
 * may share a database, so a view only grows: new columns follow those that it has.
 * @param present the dotted paths of the columns that the view has in the database
 */
export function viewOf(resource: Resource, present: readonly string[]): View {
  const paths = new Set([...present, ...resource.leaves.map(({ path }) => path)]);
  const columns = [...paths].map((path) => ({ name: snakeCase(path), keys: path.split(".") }));
  return { name: viewNameOf(resource), columns };
}

export function viewNameOf({ name }: Resource): string {
  return name.replaceAll("-", "_");
}

function snakeCase(path: string): string {
  return path
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_")
    .replaceAll(".", "_")
    .toLowerCase();
}

// What the engines share about migrations.

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
