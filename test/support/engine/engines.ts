// The databases that the tests of engines run on.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { type OpenedDatabases, openDatabases } from "../postgres/databases.ts";

/**
 * The maximum ID of a site that a test creates. To get a site without changes, a test counts up from here: an engine stores the records of any site,
 * also of a site that nobody created.
 */
export const maxCreatedSite = 100;

export interface EngineKind {
  readonly name: string;
  /** Whether the engine connects as through a pooler: without prepared statements, and without notifications of the commits of other processes. */
  readonly isForPooler: boolean;
  open(): Promise<void>;
  /** The address of a new database, which may have the tables of this program. */
  newDatabase(): Promise<string>;
  /** The address of a new database without tables. */
  newEmptyDatabase(): Promise<string>;
  /** Queries the database at `url` with SQL. */
  select(url: string, text: string): Promise<unknown[]>;
  /** Runs several statements on the database at `url`. */
  run(url: string, text: string): Promise<void>;
  /** Returns the tables that are not in use: a restore fills such tables, and an interrupted restore leaves them. */
  extraTables(url: string): Promise<unknown[]>;
  /** On SQLite, locks the database against writes, and returns a function that releases the lock. On PostgreSQL, ends all connections once. */
  obstruct(url: string): Promise<() => void>;
  /** Whether a session waits for a lock of another session. Always false on SQLite, where a writer tries again until it gets the lock. */
  isWaitingForLock(url: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Every way of opening an engine: both engines, and PostgreSQL also as through a pooler. For tests of queries, and of what other processes see. */
export const engineKinds: readonly EngineKind[] = [
  sqlite(),
  postgres("PostgreSQL"),
  postgres("PostgreSQL without prepared statements", "&prepare=no"),
];

/** The two engines, without the kind for a pooler. For all other tests. */
export const engines: readonly EngineKind[] = engineKinds.filter(({ isForPooler }) => !isForPooler);

/** Opens an engine on an empty database for the tests of the `describe` block that calls this, and passes it to `set`. */
export function useEngine(kind: EngineKind, set: (engine: Engine) => void): void {
  useTwoEngines(kind, set, 1);
}

/** The same for a second engine on the same database, as another process has it. */
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
 * Opens an engine on an empty database for the tests of the `describe` block that calls this, and passes it to `set` with the address of the
 * database. Closes it after the tests, with the engines that `open` of the result opened.
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
    using database = new Database(url.replace("sqlite:", ""));
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
      using database = new Database(url.replace("sqlite:", ""));
      database.run("pragma busy_timeout = 3000");
      database.run(text);
    },
    extraTables: (url) =>
      select(url, "select name from sqlite_master where type = 'table' and name like 'storefront_%'"),
    obstruct: async (url) => {
      const database = new Database(url.replace("sqlite:", ""));
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
    // A bigint is returned as text.
    return rows.map((row) => ("id" in row ? { ...row, id: Number(row.id) } : row));
  };
  // The default would be two seconds, for which a busy machine may stop.
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

/** Returns `test`, or a function that registers nothing, for tests that one engine is enough for. A skipped test would fail the run. */
export function testIf(isWanted: boolean): typeof test {
  return isWanted ? test : ((() => {}) as unknown as typeof test);
}

function nameIn(url: string): string {
  return new URL(url).pathname.slice(1);
}
