// The databases that the tests of engines run on.

import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres, type TestPostgres } from "./postgres.ts";

export interface EngineKind {
  readonly name: string;
  open(): Promise<void>;
  /** The address of an empty database. */
  newDatabase(): Promise<string>;
  /** Queries the database at `url` with SQL. */
  select(url: string, text: string): Promise<unknown[]>;
  /** Prevents changes of the tables by a lock, or once by ending all connections. The function returned releases the lock. */
  obstruct(url: string): Promise<() => void>;
  close(): Promise<void>;
}

export const engineKinds: readonly EngineKind[] = [
  sqlite(),
  postgres("PostgreSQL"),
  postgres("PostgreSQL without prepared statements", "?prepare=no"),
];

/** One of each engine, for tests that do not depend on prepared statements. */
export const engines: readonly EngineKind[] = engineKinds.slice(0, 2);

function sqlite(): EngineKind {
  let folder: string;
  let files = 0;
  return {
    name: "SQLite",
    open: async () => {
      folder = mkdtempSync(join(tmpdir(), "storefront-engine-"));
    },
    newDatabase: async () => `sqlite:${join(folder, `${++files}.db`)}`,
    select: async (url, text) => {
      using database = new Database(url.replace("sqlite:", ""));
      return database.query(text).all();
    },
    obstruct: async (url) => {
      const database = new Database(url.replace("sqlite:", ""));
      database.run("begin immediate");
      return () => database.close();
    },
    close: async () => rmSync(folder, { recursive: true }),
  };
}

function postgres(name: string, parameters = ""): EngineKind {
  let server: TestPostgres;
  return {
    name,
    open: async () => {
      server = await startPostgres();
    },
    newDatabase: async () => `${await server.createDatabase()}${parameters}`,
    select: async (url, text) => {
      const rows = await server.run(text, /\/([^/?]+)(\?|$)/.exec(url)?.[1]);
      // The driver returns a bigint as text.
      return rows.map((row) => ("id" in row ? { ...row, id: Number(row.id) } : row));
    },
    obstruct: async () => {
      await server.run("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()");
      return () => {};
    },
    close: () => server.remove(),
  };
}
