// What a database has to have for this program: the declared tables (tables.ts), and their reporting views. Each engine reads what there is, and makes what
// this file says is missing. So a new database, and one that an older version made, take the same way.
//
// Two versions can share a database, because the newer one only adds tables, columns that may be null, and columns of views. A change that older versions
// can't live with has to raise `schemaVersion` and migrate the tables: then older versions reject the database.

import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { type Table, tables } from "./tables.ts";

export const schemaVersion = 1;

/** The tables, by name. Tests declare others. */
export type DeclaredTables = Readonly<Record<string, Table>>;

/** The columns that each table in a database has. */
type PresentColumns = ReadonlyMap<string, ReadonlySet<string>>;

/** @param rows the name of a table and of one of its columns in each */
export function toPresentColumns(rows: Iterable<readonly [table: string, column: string]>): PresentColumns {
  const present = new Map<string, Set<string>>();
  for (const [table, column] of rows) present.set(table, (present.get(table) ?? new Set()).add(column));
  return present;
}

/** How an engine writes the statements for a table. */
interface TableDialect {
  /** The type of a whole number. */
  readonly integer: string;
  /** Returns what follows the columns of a new table. */
  readonly options: (table: Table) => string;
}

/**
 * Returns the statements that add the missing tables and columns.
 * @throws ProblemError `unavailable` if a table or column is missing that every version since the first release has made, because an empty table would
 *   hide the loss of its rows
 */
export function missingTables(
  present: PresentColumns,
  { integer, options }: TableDialect,
  declared: DeclaredTables = tables,
): string[] {
  const isNew = !Object.keys(declared).some((name) => present.has(name));
  return Object.entries(declared).flatMap(([name, table]) => {
    const known = present.get(name);
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

/** Returns the error for a database with another schema version than this program knows. */
export function schemaTooNewError(found: number): ProblemError {
  return new ProblemError(
    "unavailable",
    `the database was made by a newer program (schema ${found}, this one knows ${schemaVersion}): upgrade this program`,
  );
}

/** A reporting view: read-only, with a column per text field of a resource, for reports with SQL. */
interface ReportingView {
  readonly name: string;
  /** The statement that makes it. */
  readonly sql: string;
}

/** How an engine writes the statement for a view. */
interface ViewDialect {
  readonly create: string;
  /** Returns the expression for the text at a dotted path of the JSON in `body`. */
  readonly textAt: (path: string) => string;
  /** Finds the paths in the statement for a view. A comma may stand for a dot. */
  readonly paths: RegExp;
}

/**
 * Returns the views that are missing, or lack columns, for example the column address_town of the view brand for `Address.Town`. Program versions that declare
 * different fields may share a database. So columns are only added, after those that the view already has.
 * @param present the statements that have made the views, by name
 */
export function missingViews(
  present: ReadonlyMap<string, string>,
  { create, textAt, paths }: ViewDialect,
  resources: readonly Resource[],
): ReportingView[] {
  return resources.flatMap((resource) => {
    const name = resource.name.replaceAll("-", "_");
    const known = [...(present.get(name) ?? "").matchAll(paths)].map(([, path = ""]) => path.replaceAll(",", "."));
    const columns = new Set([...known, ...resource.textFields.map(({ path }) => path)]);
    const texts = Array.from(columns, (path) => `coalesce(${textAt(path)}, '') as "${snakeCase(path)}"`);
    const all = ["site_id", "id", "revision", ...texts].join(", ");
    const sql = `${create} "${name}" as select ${all} from records where resource = '${resource.name}' and body is not null`;
    return present.get(name) === sql ? [] : [{ name, sql }];
  });
}

function snakeCase(path: string): string {
  return path
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_")
    .replaceAll(".", "_")
    .toLowerCase();
}
