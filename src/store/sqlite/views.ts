import type { Database } from "bun:sqlite";
import type { Resource } from "../../model/resource.ts";
import { type View, viewNameOf, viewOf } from "../views.ts";
import { inTransaction } from "./database.ts";

/** Creates the reporting view of each resource, and adds missing columns. */
export function makeViews(database: Database, resources: readonly Resource[]): void {
  if (outdatedViews(database, resources).length === 0) return;
  inTransaction(database, () => {
    for (const { name, sql } of outdatedViews(database, resources)) {
      database.run(`drop view if exists "${name}"`);
      database.run(sql);
    }
  });
}

function outdatedViews(database: Database, resources: readonly Resource[]) {
  const rows = database.query("select name, sql from sqlite_master where type = 'view'").values();
  const present = new Map(rows as [string, string][]);
  const wanted = resources.map((resource) => {
    const name = viewNameOf(resource);
    return { name, sql: viewSql(resource, viewOf(resource, pathsIn(present.get(name) ?? ""))) };
  });
  return wanted.filter(({ name, sql }) => present.get(name) !== sql);
}

function pathsIn(definition: string): string[] {
  return [...definition.matchAll(/'\$\.([^']+)'/g)].map(([, path]) => path as string);
}

function viewSql(resource: Resource, view: View): string {
  const columns = view.columns.map(
    ({ name, keys }) => `coalesce(json_extract(body, '$.${keys.join(".")}'), '') as "${name}"`,
  );
  const all = ["site_id", "id", "revision", ...columns].join(", ");
  return `CREATE VIEW "${view.name}" as select ${all} from records where resource = '${resource.name}' and body is not null`;
}
