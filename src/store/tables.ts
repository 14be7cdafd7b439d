import { Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";

/** A whole number (`bigint` in PostgreSQL, `integer` in SQLite) or text. */
type ColumnType = "integer" | "text";

interface Table {
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[];
  /** Every column with its type, in the order of a dump. */
  readonly columns: Readonly<Record<string, ColumnType>>;
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
} as const satisfies Record<string, Table>;

export type TableName = keyof typeof tables;

export const tableNames = Object.keys(tables) as TableName[];

/** Columns that came later: the dumps of programs that did not know them lack them, and they may be empty. */
const addedColumns: ReadonlySet<string> = new Set(["floor", "last_at", "live", "live_revision", "run", "before"]);

/** Whether every row of a dump has the column. */
export function isRequired(column: string): boolean {
  return !addedColumns.has(column);
}

/** The table and column by which it is recognised that the columns of `002-added-columns.sql` are there. */
export const lastAdded = { table: "sites", column: "live_revision" } as const;

/** The columns of a table without those of `except`, in the order of a dump. */
export function columnsOf(table: TableName, except: readonly string[] = []): string[] {
  return Object.keys(tables[table].columns).filter((column) => !except.includes(column));
}

/** The columns of the primary key of a table. */
export function keyOf(table: TableName): readonly string[] {
  return tables[table].key;
}

/** The refusal of a database whose tables are of version `found`, where this program knows no more than `known`. */
export function madeByNewer(found: number, known: number): Refusal {
  return new Refusal(
    "unavailable",
    `the database was made by a newer program (schema ${found}, this one knows ${known}): upgrade this program`,
  );
}

/** A resource's read-only view for people who report with SQL: its name, and a column per text field. */
export interface View {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly keys: readonly string[] }[];
}

/**
 * The view of a resource: `brand.address_town` for `Address.Town`. Versions of the program that declare different fields
 * may share a database, so a view only grows: what it lacks is added behind the columns that it has.
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
