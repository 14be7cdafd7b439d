// The tables and reporting views, brought up to this program's version by whichever process comes first.

import type { Resource } from "../../model/resource.ts";
import { lastAdded, madeByNewer, type View, viewNameOf, viewOf } from "../tables.ts";
import first from "./001-tables.sql" with { type: "text" };
import addedColumns from "./002-added-columns.sql" with { type: "text" };
import { codeOf } from "./errors.ts";
import { createPool, type Pool } from "./pool.ts";
import type { PostgresConnection } from "./postgres-connection.ts";
import type { Primary } from "./primary.ts";

/** What raises the version, which programs that do not know it refuse. What only adds columns does not. */
const migrations: readonly string[] = [first];

/** What a database says of its own tables. */
interface Schema {
  readonly version: number;
  /** The definitions of the reporting views, a line each. */
  readonly views: string;
  /** Whether the columns of `002-added-columns.sql` are there. */
  readonly has_added_columns: boolean;
}

/** How long a process waits for another that is migrating, in milliseconds. */
const timeout = 60_000;

/** Makes the tables, or brings them up to date. @throws Refusal `unavailable`, also when a newer program made them */
export async function migrate(pool: Pool, primary: Primary, resources: readonly Resource[]): Promise<void> {
  if (isUpToDate(await pool.read(readSchema), resources)) return;
  const patient = createPool(primary, 1, timeout);
  try {
    await patient.use((connection) => bringUpBetweenOthers(connection, resources));
  } finally {
    await patient.close();
  }
}

const selectSchema = `select version, views, exists (
  select 1 from pg_attribute where attrelid = to_regclass('${lastAdded.table}') and attname = '${lastAdded.column}'
) as has_added_columns from storefront_schema where id = 1`;

const lockSchema = "select id from storefront_schema where id = 1 for update";

async function readSchema(connection: PostgresConnection): Promise<Schema | undefined> {
  const [found] = await connection.script("select to_regclass('storefront_schema') is not null as is_there");
  if (!found?.[0]?.is_there) return undefined;
  const [rows] = await connection.script(selectSchema);
  return rows?.[0] as Schema | undefined;
}

function isUpToDate(schema: Schema | undefined, resources: readonly Resource[]): boolean {
  if (schema && schema.version > migrations.length) throw madeByNewer(schema.version, migrations.length);
  if (schema?.version !== migrations.length || !schema.has_added_columns) return false;
  return outdatedViews(definitionsIn(schema), resources).length === 0;
}

/** To change a table waits for those who read it, such as a backup, and makes all others wait: for so long, and so long not, in milliseconds. */
const attempt = 500;
const pause = 1500;

async function bringUpBetweenOthers(connection: PostgresConnection, resources: readonly Resource[]): Promise<void> {
  for (const end = performance.now() + timeout - attempt - pause; ; ) {
    try {
      return await bringUp(connection, resources);
    } catch (error) {
      if (codeOf(error) !== "55P03" || performance.now() > end) throw error;
      await connection.script("rollback");
      await Bun.sleep(pause);
    }
  }
}

/** The row of `storefront_schema` is the lock: of several processes, one goes on and the others find the work done. */
async function bringUp(connection: PostgresConnection, resources: readonly Resource[]): Promise<void> {
  await makeLock(connection);
  // What is read together with the lock is as it was before the wait for it.
  const [, rows] = await connection.script(`begin; ${lockSchema}; ${selectSchema}`);
  const schema = rows?.[0] as Schema;
  if (!isUpToDate(schema, resources)) {
    for (const text of migrations.slice(schema.version)) await connection.script(text);
    if (!schema.has_added_columns) {
      await connection.script(`set local lock_timeout = ${attempt}`);
      await connection.script(addedColumns);
    }
    const views = await bringUpViews(connection, definitionsIn(schema), resources);
    await connection.query(
      `update storefront_schema set version = ${migrations.length}, views = $1 where id = 1`,
      [...views.values()].join("\n"),
    );
  }
  await connection.script("commit");
}

/** How PostgreSQL says that somebody else is making the same table at this moment. */
const isBeingMade = ["23505", "42710", "42P07", "XX000"];

/** Makes the table with the lock. Of several that try at once, some are told that it is there already. */
async function makeLock(connection: PostgresConnection): Promise<void> {
  for (;;) {
    try {
      await connection.script(
        "create table if not exists storefront_schema (id bigint primary key, version bigint not null, views text not null)",
      );
      await connection.script("insert into storefront_schema values (1, 0, '') on conflict (id) do nothing");
      return;
    } catch (error) {
      if (!isBeingMade.includes(codeOf(error))) throw error;
    }
  }
}

/** The definitions of views, by name. */
type Definitions = ReadonlyMap<string, string>;

function definitionsIn({ views }: Schema): Definitions {
  const lines = [...views.matchAll(/^create or replace view "([^"]+)" .*$/gm)];
  return new Map(lines.map(([line, name]) => [name as string, line]));
}

/** Makes views, or adds columns behind those that they have: so other people's views on top of them stay. */
async function bringUpViews(
  connection: PostgresConnection,
  present: Definitions,
  resources: readonly Resource[],
): Promise<Definitions> {
  const views = new Map(present);
  for (const { name, text } of outdatedViews(present, resources)) {
    // Its columns are not known, so it cannot be replaced.
    if (!present.has(name)) await connection.script(`drop view if exists "${name}"`);
    await connection.script(text);
    views.set(name, text);
  }
  return views;
}

function outdatedViews(present: Definitions, resources: readonly Resource[]) {
  const wanted = resources.map((resource) => {
    const name = viewNameOf(resource);
    return { name, text: viewSql(resource, viewOf(resource, pathsIn(present.get(name) ?? ""))) };
  });
  return wanted.filter(({ name, text }) => present.get(name) !== text);
}

function pathsIn(definition: string): string[] {
  return [...definition.matchAll(/'\{([^}]+)\}'/g)].map(([, keys]) => (keys as string).replaceAll(",", "."));
}

function viewSql(resource: Resource, view: View): string {
  const columns = view.columns.map(
    ({ name, keys }) => `coalesce(body::json #>> '{${keys.join(",")}}', '') as "${name}"`,
  );
  const all = ["site_id", "id", "revision", ...columns].join(", ");
  return `create or replace view "${view.name}" as select ${all} from records where resource = '${resource.name}' and body is not null`;
}
