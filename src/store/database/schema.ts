// The tables (tables.ts) and reporting views that a database needs. Each engine reads what's there and creates what this file says is missing, which
// covers new databases as well as those of older versions.
//
// Two versions of the program can share a database, because newer ones only add tables, nullable columns, and columns of views. A change that older
// versions can't cope with must raise `schemaVersion` and migrate the tables; they then refuse the database.

import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { type Table, tables } from "./tables.ts";

export const schemaVersion = 1;

/** Tables by name. Tests declare their own. */
export type DeclaredTables = Readonly<Record<string, Table>>;

/** The columns of each table in a database. */
type ExistingColumns = ReadonlyMap<string, ReadonlySet<string>>;

/** @param rows pairs of a table and one of its columns */
export function toExistingColumns(rows: Iterable<readonly [table: string, column: string]>): ExistingColumns {
  const existing = new Map<string, Set<string>>();
  for (const [table, column] of rows) existing.set(table, (existing.get(table) ?? new Set()).add(column));
  return existing;
}

/** How an engine writes the statements for a table. */
interface TableDialect {
  /** The type of a whole number. */
  readonly integer: string;
  /** Returns what follows the columns of a new table. */
  readonly options: (table: Table) => string;
}

/**
 * Returns the statements that add missing tables and columns.
 * @throws ProblemError `unavailable` if a table or column is missing that every version has created since the first release, because an empty one would
 *   hide the loss of its data
 */
export function missingTables(
  existing: ExistingColumns,
  { integer, options }: TableDialect,
  declared: DeclaredTables = tables,
): string[] {
  const isNew = !Object.keys(declared).some((name) => existing.has(name));
  return Object.entries(declared).flatMap(([name, table]) => {
    const known = existing.get(name);
    if (!known && !isNew && !table.isAdded) throw notOursError(`lacks the table ${name}`);
    const missing = Object.entries(table.columns).filter(([column]) => !known?.has(column));
    const wrong = missing.find(([, type]) => known && !type.startsWith("added"));
    if (wrong) throw notOursError(`lacks the column ${wrong[0]} in the table ${name}`);
    const columns = missing.map(([column, type]) => {
      const isNullable = type.startsWith("added") || type.endsWith("?");
      return `${column} ${type.includes("text") ? "text" : integer}${isNullable ? "" : " not null"}`;
    });
    if (known) return columns.map((column) => `alter table ${name} add column ${column}`);
    const lines = [...columns, `primary key (${table.key.join(", ")})`];
    return [`create table ${name} (\n  ${lines.join(",\n  ")}\n)${options(table)}`];
  });
}

function notOursError(fault: string): ProblemError {
  return new ProblemError("unavailable", `the database ${fault}: it is damaged, or belongs to another program`);
}

export function schemaTooNewError(found: number): ProblemError {
  return new ProblemError(
    "unavailable",
    `the database was made by a newer version of this program (schema ${found}, this one knows ${schemaVersion}); upgrade this one`,
  );
}

/** A read-only view with a column per text field of a resource, for reports in SQL. */
interface ReportingView {
  readonly name: string;
  /** The statement that creates it. */
  readonly sql: string;
}

/** How an engine writes the statement for a view. */
interface ViewDialect {
  readonly create: string;
  /** Returns the expression for the text at a dotted path of the JSON in `body`. */
  readonly textAt: (path: string) => string;
  /** Finds the paths in a view's statement. A comma may stand for a dot. */
  readonly paths: RegExp;
}

/**
 * Returns the views that are missing or lack columns, such as `address_town` in the view `brand` for `Address.Town`. Versions of the program with
 * different fields may share a database, so columns are only added, after the existing ones.
 * @param existing the statements that created the views, by name
 */
export function missingViews(
  existing: ReadonlyMap<string, string>,
  { create, textAt, paths }: ViewDialect,
  resources: readonly Resource[],
): ReportingView[] {
  return resources.flatMap((resource) => {
    const name = resource.name.replaceAll("-", "_");
    const known = [...(existing.get(name) ?? "").matchAll(paths)].map(([, path = ""]) => path.replaceAll(",", "."));
    const columns = new Set([...known, ...resource.textFields.map(({ path }) => path)]);
    const texts = Array.from(columns, (path) => `coalesce(${textAt(path)}, '') as "${snakeCase(path)}"`);
    const all = ["site_id", "id", "revision", ...texts].join(", ");
    const sql = `${create} "${name}" as select ${all} from records where resource = '${resource.name}' and body is not null`;
    return existing.get(name) === sql ? [] : [{ name, sql }];
  });
}

function snakeCase(path: string): string {
  return path
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_")
    .replaceAll(".", "_")
    .toLowerCase();
}
