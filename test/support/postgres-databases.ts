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
  const databases = databasesAt(Number(port), created);
  return {
    ...databases,
    async remove() {
      for (const name of created.splice(0)) await databases.run(`drop database ${name} with (force)`);
    },
  };
}

/** @param created gets the name of each database that is created */
export function databasesAt(port: number, created: string[] = []): PostgresDatabases {
  const url = (database: string, hosts = `127.0.0.1:${port}`) =>
    `postgres://${user}:${encodeURIComponent(password)}@${hosts}/${database}`;
  async function run(text: string, database = "postgres") {
    const sql = postgres(url(database), { max: 1, fetch_types: false, onnotice: () => {} });
    try {
      return [...(await sql.unsafe(text))];
    } finally {
      await sql.end();
    }
  }
  return {
    url,
    run,
    async createDatabase() {
      const name = `test_${randomBytes(6).toString("hex")}`;
      await run(`create database ${name}`);
      created.push(name);
      return url(name);
    },
  };
}
