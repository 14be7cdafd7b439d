// Databases on a PostgreSQL server: on that of the whole run if there is one (scripts/run-tests.ts), since a server of its own takes a second per file.

import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { startPostgres } from "./postgres.ts";
import { password, user } from "./postgres-data.ts";

export interface PostgresDatabases {
  /** The address of a database on this server, or on `hosts`. */
  url(database: string, hosts?: string): string;
  /** Creates an empty database and returns its address. */
  createDatabase(): Promise<string>;
  /** Runs statements as the superuser. */
  run(text: string, database?: string): Promise<Record<string, unknown>[]>;
}

export interface OpenedDatabases extends PostgresDatabases {
  /** Removes the databases that were created, with the server if there is no other use of it. */
  remove(): Promise<void>;
}

/** The variable with the port of the server of the whole run. Its beginning is not that of the program's settings. */
export const sharedPort = "TEST_POSTGRES_PORT";

/** For tests that do nothing to the server itself: nobody else uses the databases, but others use the server. */
export async function openDatabases(): Promise<OpenedDatabases> {
  const port = process.env[sharedPort];
  if (port === undefined) return startPostgres();
  const created: string[] = [];
  const databases = databasesAt(Number(port));
  // A connection takes as long as what it is for.
  const admin = connectTo(databases.url("postgres"));
  return {
    ...databases,
    createDatabase: () => createDatabase((text) => admin.unsafe(text), databases.url, created),
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

/** @param created gets the name of the database */
async function createDatabase(
  run: (text: string) => Promise<unknown>,
  url: (database: string) => string,
  created: string[] = [],
): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  // Where nothing waits for the disk, to copy files takes less than to log their pages.
  await run(`create database ${name} strategy file_copy`);
  created.push(name);
  return url(name);
}

function connectTo(url: string): postgres.Sql {
  return postgres(url, { max: 1, fetch_types: false, onnotice: () => {} });
}
