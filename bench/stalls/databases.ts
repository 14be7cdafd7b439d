// The databases to measure. Each is created once, and copied for every measurement.

import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createOperator } from "../../src/operator/operators/operators.ts";
import { createSignInLink, signIn } from "../../src/operator/operators/sessions.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import type { TestPostgres } from "../../test/support/postgres/server.ts";
import { fillingOf, type SampleSite } from "../sample-rows.ts";

/** What's in a database besides the site `small.test` with ten brands. */
export type Contents = "one large site" | "two large sites" | "1,000,000 brands" | "100 sites" | "10,000 sites";

export interface FilledDatabase {
  /** The database's address. */
  readonly database: string;
  /** A key per site, by the site's name. */
  readonly keys: Readonly<Record<string, string>>;
  /** An operator's session secret. */
  readonly session: string;
}

export interface Databases {
  readonly engine: "SQLite" | "PostgreSQL";
  /** Copies the database with these contents, and creates it first if needed. */
  copyOf(contents: Contents): Promise<FilledDatabase>;
}

/** Creates empty databases, and copies databases that aren't in use. */
interface Maker {
  make(): Promise<string>;
  copy(database: string): Promise<string>;
}

export function sqliteDatabases(folder: string, brands: number): Databases {
  let made = 0;
  let copied: string | undefined;
  const next = () => join(folder, `stalls-${++made}.db`);
  return databasesOf("SQLite", brands, {
    make: async () => `sqlite:${next()}`,
    async copy(database) {
      // The previous copy isn't needed any more.
      if (copied) for (const end of ["", "-wal", "-shm"]) rmSync(`${copied}${end}`, { force: true });
      const path = next();
      copied = path;
      copyFileSync(database.replace("sqlite:", ""), path);
      return `sqlite:${path}`;
    },
  });
}

export function postgresDatabases(server: TestPostgres, brands: number): Databases {
  let copies = 0;
  return databasesOf("PostgreSQL", brands, {
    make: server.createDatabase,
    async copy(database) {
      const [template, copy] = [/[^/]+$/.exec(database)?.[0], `copy_${++copies}`];
      await server.run(`drop database if exists copy_${copies - 1} with (force)`);
      await server.run(`create database ${copy} template ${template}`);
      return server.url(copy);
    },
  });
}

function databasesOf(engine: Databases["engine"], brands: number, { make, copy }: Maker): Databases {
  const filled = new Map<Contents, FilledDatabase>();
  return {
    engine,
    async copyOf(contents) {
      const template = filled.get(contents) ?? (await fill(await make(), sitesOf(contents, brands)));
      filled.set(contents, template);
      return { ...template, database: await copy(template.database) };
    },
  };
}

function sitesOf(contents: Contents, brands: number): SampleSite[] {
  const small = { name: "small", brands: 10 };
  const large = { name: "large", brands, isJournaled: true };
  if (contents === "one large site") return [small, large];
  if (contents === "two large sites") return [small, large, { name: "other", brands }];
  if (contents === "1,000,000 brands") return [small, { name: "large", brands: 10 * brands }];
  const [count, each] = contents === "100 sites" ? [100, brands / 100] : [brands / 10, 1];
  return [small, ...Array.from({ length: count }, (_, index) => ({ name: `site-${index}`, brands: each }))];
}

/** Fills an empty database with `sites`, an operator and a session. */
export async function fill(database: string, sites: readonly SampleSite[]): Promise<FilledDatabase> {
  const { keys, rows } = fillingOf(sites);
  const engine = await openEngine(database, allResources);
  try {
    await engine.replaceAllData(rows);
    await createOperator(engine, "bench", [], Date.now());
    const { secret } = await signIn(engine, await createSignInLink(engine, "bench", Date.now()), Date.now());
    const names = sites.slice(0, keys.length).map(({ name }) => name);
    return { database, session: secret, keys: Object.fromEntries(names.map((name, at) => [name, keys[at] as string])) };
  } finally {
    await engine.close();
  }
}
