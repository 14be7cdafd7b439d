// The databases that engine tests run on.

import { afterAll, beforeAll, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { type OpenedDatabases, openDatabases } from "../postgres/databases.ts";
import { openSqliteFile } from "./sqlite-file.ts";

/**
 * The highest ID of a site that tests create. Tests that need a site without changes count up from here, because an engine stores records for any site, even
 * one that nobody created.
 */
export const maxCreatedSite = 100;

export interface EngineKind {
  readonly name: string;
  /** Whether the engine connects as if through a pooler: without prepared statements, and without being notified of other processes' commits. */
  readonly isForPooler: boolean;
  open(): Promise<void>;
  /** Creates a database, which may already have our tables. Returns its address. */
  newDatabase(): Promise<string>;
  /** Creates a database without tables. Returns its address. */
  newEmptyDatabase(): Promise<string>;
  /** Queries the database at `url` with SQL. */
  select(url: string, text: string): Promise<unknown[]>;
  /** Runs several statements on the database at `url`. */
  run(url: string, text: string): Promise<void>;
  /** Returns tables that aren't in use. A restore fills such tables, and leaves them behind if it's interrupted. */
  extraTables(url: string): Promise<unknown[]>;
  /** On SQLite, locks the database against writes until the returned function is called. On PostgreSQL, ends all connections once. */
  obstruct(url: string): Promise<() => void>;
  /** Whether a session is waiting for another one's lock. Always false on SQLite, where writers keep trying. */
  isWaitingForLock(url: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Both engines, and PostgreSQL as if through a pooler. For tests of queries, and of what other processes see. */
export const engineKinds: readonly EngineKind[] = [
  sqlite(),
  postgres("PostgreSQL"),
  postgres("PostgreSQL without prepared statements", "&prepare=no"),
];

/** Both engines, for all other tests. */
export const engines: readonly EngineKind[] = engineKinds.filter(({ isForPooler }) => !isForPooler);

/** Opens an engine on an empty database for the tests of the `describe` block that calls this, and passes it to `set`. */
export function useEngine(kind: EngineKind, set: (engine: Engine) => void): void {
  useTwoEngines(kind, set, 1);
}

/** The same, with a second engine on the same database, as another process would have it. */
export function useTwoEngines(
  kind: EngineKind,
  set: (first: Engine, second: Engine, url: string) => void,
  count = 2,
): void {
  const opened: Engine[] = [];
  beforeAll(async () => {
    await kind.open();
    const url = await kind.newDatabase();
    while (opened.length < count) opened.push(await openEngine(url, allResources));
    set(opened[0] as Engine, opened[1] as Engine, url);
  });
  afterAll(async () => {
    for (const engine of opened) await engine.close();
    await kind.close();
  });
}

/**
 * Opens an engine on an empty database for the tests of the `describe` block that calls this, and passes it to `set` with the database's address. Closes it
 * after the tests, along with any engines opened with the result's `open`.
 */
export function useEngineAndOpener(
  kind: EngineKind,
  set: (first: Engine, url: string) => void,
): { open(url: string): Promise<Engine> } {
  const opened: Engine[] = [];
  const open = async (url: string) => {
    const engine = await openEngine(url, allResources);
    opened.push(engine);
    return engine;
  };
  beforeAll(async () => {
    await kind.open();
    const url = await kind.newDatabase();
    set(await open(url), url);
  });
  afterAll(async () => {
    for (const engine of opened) await engine.close();
    await kind.close();
  });
  return { open };
}

function sqlite(): EngineKind {
  let folder: string;
  let files = 0;
  const select = async (url: string, text: string) => {
    using database = openSqliteFile(url);
    return database.query(text).all();
  };
  const newDatabase = async () => `sqlite:${join(folder, `${++files}.db`)}`;
  return {
    name: "SQLite",
    isForPooler: false,
    open: async () => {
      folder = mkdtempSync(join(tmpdir(), "storefront-engine-"));
    },
    newDatabase,
    newEmptyDatabase: newDatabase,
    select,
    run: async (url, text) => {
      using database = openSqliteFile(url);
      database.run(text);
    },
    extraTables: (url) =>
      select(url, "select name from sqlite_master where type = 'table' and name like 'storefront_%'"),
    obstruct: async (url) => {
      const database = openSqliteFile(url);
      database.run("begin immediate");
      return () => database.close();
    },
    isWaitingForLock: async () => false,
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

function postgres(name: string, parameters = ""): EngineKind {
  let server: OpenedDatabases;
  const select = async (url: string, text: string) => {
    const rows = await server.run(text, nameIn(url));
    // A bigint comes back as text.
    return rows.map((row) => ("id" in row ? { ...row, id: Number(row.id) } : row));
  };
  // The default is two seconds, and a busy machine may stall for that long.
  const withTimeout = (url: string) => `${url}?statement_timeout=20000${parameters}`;
  return {
    name,
    isForPooler: parameters !== "",
    open: async () => {
      server = await openDatabases();
    },
    newDatabase: async () => withTimeout(await server.createMigratedDatabase()),
    newEmptyDatabase: async () => withTimeout(await server.createDatabase()),
    select,
    run: async (url, text) => void (await select(url, text)),
    extraTables: (url) =>
      select(
        url,
        "select relname as name from pg_class where relkind = 'r' and relname like 'storefront_%' and relname <> 'storefront_schema'",
      ),
    obstruct: async (url) => {
      await server.run(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${nameIn(url)}'`);
      return () => {};
    },
    isWaitingForLock: async (url) => {
      const waiting = "datname = current_database() and wait_event_type = 'Lock'";
      return (await select(url, `select 1 from pg_stat_activity where ${waiting}`)).length > 0;
    },
    close: () => server.remove(),
  };
}

/** For tests that only need one engine: returns `test`, or a function that registers nothing, because skipped tests fail the run. */
export function testIf(isWanted: boolean): typeof test {
  return isWanted ? test : ((() => {}) as unknown as typeof test);
}

function nameIn(url: string): string {
  return new URL(url).pathname.slice(1);
}
