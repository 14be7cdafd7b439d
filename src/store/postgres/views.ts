import type { Resource } from "../../model/resource.ts";
import { type View, viewNameOf, viewOf } from "../views.ts";
import type { PostgresConnection } from "./postgres-connection.ts";

/** The definitions of views by name. */
type Definitions = ReadonlyMap<string, string>;

/** Whether `views`, the definitions of the views that exist, has every view and column that this program declares. */
export function areViewsCurrent(views: string, resources: readonly Resource[]): boolean {
  return outdatedViews(readDefinitions(views), resources).length === 0;
}

/**
 * Makes the reporting view of each resource, or adds columns at its end, so that views of others that read it stay.
 * @param views the definitions of the views that exist, a line each
 * @returns the same for those that now exist
 */
export async function makeViews(
  connection: PostgresConnection,
  views: string,
  resources: readonly Resource[],
): Promise<string> {
  const definitions = new Map(readDefinitions(views));
  for (const { name, text } of outdatedViews(definitions, resources)) {
    // A view without a known definition cannot be replaced: its columns may be others.
    if (!definitions.has(name)) await connection.script(`drop view if exists "${name}"`);
    await connection.script(text);
    definitions.set(name, text);
  }
  return [...definitions.values()].join("\n");
}

function readDefinitions(views: string): Definitions {
  const lines = [...views.matchAll(/^create or replace view "([^"]+)" .*$/gm)];
  return new Map(lines.map(([line, name = ""]) => [name, line]));
}

function outdatedViews(definitions: Definitions, resources: readonly Resource[]) {
  const wanted = resources.map((resource) => {
    const name = viewNameOf(resource);
    return { name, text: viewSql(resource, viewOf(resource, pathsIn(definitions.get(name) ?? ""))) };
  });
  return wanted.filter(({ name, text }) => definitions.get(name) !== text);
}

function pathsIn(definition: string): string[] {
  return [...definition.matchAll(/'\{([^}]+)\}'/g)].map(([, keys = ""]) => keys.replaceAll(",", "."));
}

function viewSql(resource: Resource, view: View): string {
  const columns = view.columns.map(
    ({ name, keys }) => `coalesce(body::json #>> '{${keys.join(",")}}', '') as "${name}"`,
  );
  const all = ["site_id", "id", "revision", ...columns].join(", ");
  return `create or replace view "${view.name}" as select ${all} from records where resource = '${resource.name}' and body is not null`;
}
