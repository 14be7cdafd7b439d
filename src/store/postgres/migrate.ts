// The tables and reporting views, brought up to this program's version by whichever process comes first.

import type { Resource } from "../../model/resource.ts";
import { madeByNewer, viewOf } from "../tables.ts";
import first from "./001-tables.sql" with { type: "text" };
import type { Address } from "./address.ts";
import type { Connection } from "./connection.ts";
import { codeOf } from "./errors.ts";
import { createPool, type Pool } from "./pool.ts";

const migrations: readonly string[] = [first];

/** What a database says of its own tables. */
interface Schema {
  readonly version: number;
  /** A digest of the reporting views' definitions. */
  readonly views: string;
}

/** How long a process waits for another that is migrating, in milliseconds. */
const patience = 60_000;

/** Makes the tables, or brings them up to date. @throws Refusal `unavailable`, also when a newer program made them */
export async function migrate(pool: Pool, address: Address, resources: readonly Resource[]): Promise<void> {
  const views = resources.map(viewSql);
  const wanted: Schema = {
    version: migrations.length,
    views: new Bun.CryptoHasher("sha256").update(views.join("\n")).digest("hex"),
  };
  if (isAt(await pool.read(readSchema), wanted)) return;
  const patient = createPool({ ...address, timeout: patience }, 1);
  try {
    await patient.use((connection) => bringUp(connection, wanted, views));
  } finally {
    await patient.close();
  }
}

async function readSchema(connection: Connection): Promise<Schema | undefined> {
  const [found] = await connection.script("select to_regclass('storefront_schema') is not null as is_there");
  if (!found?.[0]?.is_there) return undefined;
  const [rows] = await connection.script("select version, views from storefront_schema where id = 1");
  return rows?.[0] as Schema | undefined;
}

function isAt(schema: Schema | undefined, wanted: Schema): boolean {
  if (schema && schema.version > migrations.length) throw madeByNewer(schema.version, migrations.length);
  return schema?.version === wanted.version && schema.views === wanted.views;
}

/** The row of `storefront_schema` is the lock: of several processes, one goes on and the others find the work done. */
async function bringUp(connection: Connection, wanted: Schema, views: readonly string[]): Promise<void> {
  await makeLock(connection);
  const [rows] = await connection.script("begin; select version, views from storefront_schema where id = 1 for update");
  const schema = rows?.[0] as Schema;
  if (!isAt(schema, wanted)) {
    const drops = views.map((view) => `drop view if exists ${/"[a-z_]+"/.exec(view)?.[0]}`);
    for (const text of [...migrations.slice(schema.version), ...drops, ...views]) await connection.script(text);
    await connection.script(
      `update storefront_schema set version = ${wanted.version}, views = '${wanted.views}' where id = 1`,
    );
  }
  await connection.script("commit");
}

/** How PostgreSQL says that somebody else is making the same table at this moment. */
const isBeingMade = ["23505", "42710", "42P07", "XX000"];

/** Makes the table with the lock. Of several that try at once, some are told that it is there already. */
async function makeLock(connection: Connection): Promise<void> {
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

function viewSql(resource: Resource): string {
  const view = viewOf(resource);
  const columns = view.columns.map(({ name, keys }) => `body::json #>> '{${keys.join(",")}}' as "${name}"`);
  const all = ["site_id", "id", "revision", ...columns].join(", ");
  return `create view "${view.name}" as select ${all} from records where resource = '${resource.name}' and body is not null`;
}
