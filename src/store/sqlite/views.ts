import type { Database } from "bun:sqlite";
import type { Resource } from "../../model/resource.ts";
import { type View, viewOf } from "../tables.ts";
import { inTransaction } from "./database.ts";

/** Makes the reporting view of each resource, or makes it anew when its declaration changed. */
export function makeViews(database: Database, resources: readonly Resource[]): void {
  const wanted = resources.map((resource) => ({
    name: viewOf(resource).name,
    sql: viewSql(resource, viewOf(resource)),
  }));
  const present = new Map(
    database.query("select name, sql from sqlite_master where type = 'view'").values() as [string, string][],
  );
  const outdated = wanted.filter(({ name, sql }) => present.get(name) !== sql);
  if (outdated.length === 0) return;
  inTransaction(database, () => {
    for (const { name, sql } of outdated) {
      database.run(`drop view if exists "${name}"`);
      database.run(sql);
    }
  });
}

function viewSql(resource: Resource, view: View): string {
  const columns = view.columns.map(({ name, keys }) => `json_extract(body, '$.${keys.join(".")}') as "${name}"`);
  const all = ["site_id", "id", "revision", ...columns].join(", ");
  return `CREATE VIEW "${view.name}" as select ${all} from records where resource = '${resource.name}' and body is not null`;
}
