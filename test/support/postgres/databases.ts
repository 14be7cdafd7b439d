// Databases on a PostgreSQL server, which is the run's shared one if there is one (scripts/run-tests.ts), because another would take a second per file.

import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { once } from "../../../src/lib/concurrency.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { password, user } from "./data.ts";
import { startPostgres } from "./server.ts";

export interface PostgresDatabases {
  /** Returns a database's address on this server, or on `hosts`. */
  url(database: string, hosts?: string): string;
  /** Creates an empty database and returns its address. */
  createDatabase(): Promise<string>;
  /** Runs statements as the superuser. */
  run(text: string, database?: string): Promise<Record<string, unknown>[]>;
}

export interface OpenedDatabases extends PostgresDatabases {
  /** Creates a database with our tables, which takes half as long as migrating an empty one. Returns its address. */
  createMigratedDatabase(): Promise<string>;
  /** Removes the databases created here, and the server if no other file uses it. */
  remove(): Promise<void>;
}

/** Variable with the shared server's port. It doesn't start with `STOREFRONT_`, so the program ignores it. */
export const sharedPort = "TEST_POSTGRES_PORT";

/** For tests that don't touch the server itself, because others use it too; nobody else uses the databases. */
export async function openDatabases(): Promise<OpenedDatabases> {
  const port = process.env[sharedPort];
  if (port === undefined) {
    const server = await startPostgres();
    return { ...server, createMigratedDatabase: server.createDatabase };
  }
  const created: string[] = [];
  const databases = databasesAt(Number(port));
  // Connecting takes as long as a statement, so they all share one connection.
  const admin = connectTo(databases.url("postgres"));
  const run = (text: string) => admin.unsafe(text);
  const makeTemplateOnce = once(() => makeTemplate(run, databases));
  return {
    ...databases,
    createDatabase: () => createDatabase(run, databases.url, created),
    async createMigratedDatabase() {
      await makeTemplateOnce();
      return createDatabase(run, databases.url, created, template);
    },
    async remove() {
      for (const name of created.splice(0)) await admin.unsafe(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}

export function databasesAt(port: number): PostgresDatabases {
  const url = (database: string, hosts = `127.0.0.1:${port}`) =>
    `postgres://${user}:${encodeURIComponent(password)}@${hosts}/${database}`;
  async function run(text: string, database = "postgres") {
    const sql = connectTo(url(database));
    try {
      return [...(await sql.unsafe(text))];
    } finally {
      await sql.end();
    }
  }
  return { url, run, createDatabase: () => createDatabase(run, url) };
}

/** The run's template database, which has our tables. */
const template = "test_template";

/** Makes the template unless it exists. If other processes do so too, the database that's renamed first wins. */
async function makeTemplate(run: (text: string) => Promise<unknown[]>, databases: PostgresDatabases): Promise<void> {
  if ((await run(`select 1 from pg_database where datname = '${template}'`)).length > 0) return;
  const created: string[] = [];
  const engine = await openEngine(await createDatabase(run, databases.url, created), allResources);
  await engine.close();
  const [name] = created;
  // Each copy is its own database, so it needs its own name.
  const nameOfCopy =
    "alter table this_database rename to stored_database; create view this_database as select id, md5(current_database()) as name, last_backup from stored_database";
  await databases.run(nameOfCopy, name);
  try {
    await run(`alter database ${name} rename to ${template}`);
  } catch (error) {
    if ((error as { code?: string }).code !== "42P04") throw error;
    await run(`drop database ${name}`);
  }
}

/** @param created collects the database's name */
async function createDatabase(
  run: (text: string) => Promise<unknown>,
  url: (database: string) => string,
  created: string[] = [],
  from = "template1",
): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  // If nothing waits for the disk, copying files is faster than logging their pages.
  await run(`create database ${name} template ${from} strategy file_copy`);
  created.push(name);
  return url(name);
}

function connectTo(url: string): postgres.Sql {
  return postgres(url, { max: 1, fetch_types: false, onnotice: () => {} });
}
