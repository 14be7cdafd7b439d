// Brands and keys in SQLite, for the servers written by hand. Each write is a transaction of its own, and there's no journal. Runs in Bun and in Node.

import { readFileSync } from "node:fs";

/** What `bun:sqlite` and `node:sqlite` have in common. */
interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
}

interface Statement {
  get(...values: (string | number)[]): unknown;
  all(...values: (string | number)[]): unknown[];
  run(...values: (string | number)[]): unknown;
}

interface Row {
  readonly id: number;
  readonly body: string;
}

interface Brand {
  readonly ID: number;
  readonly [field: string]: unknown;
}

/** For all responses. */
export const readHeaders = {
  "Cache-Control": "no-cache, no-store, must-revalidate",
  Pragma: "no-cache",
  Expires: "-1",
  "Access-Control-Allow-Origin": "*",
};

/** Stores KEY, the only valid key, and the brands in the file SEED. @param digest returns a key's SHA-256 as text */
export function openBrands(database: Database, digest: (key: string) => string) {
  database.exec("pragma journal_mode = wal");
  database.exec("pragma synchronous = full");
  database.exec("create table if not exists keys (digest text primary key, site integer)");
  database.exec("create table if not exists brands (id integer primary key, site integer, body text)");
  database.prepare("insert or replace into keys values (?, 1)").run(digest(process.env.KEY as string));
  const keyOf = database.prepare("select site from keys where digest = ?");
  const one = database.prepare("select id, body from brands where site = ? and id = ?");
  const all = database.prepare("select id, body from brands where site = ? order by id");
  const insert = database.prepare("insert into brands (site, body) values (?, ?) returning id");
  const change = database.prepare("update brands set body = ? where site = ? and id = ?");
  if (process.env.SEED) {
    database.exec("begin");
    for (const { ID: _, ...body } of JSON.parse(readFileSync(process.env.SEED, "utf8")))
      insert.get(1, JSON.stringify(body));
    database.exec("commit");
  }

  function find(site: number, id: number): Brand | undefined {
    const row = one.get(site, id) as Row | undefined | null;
    return row ? toBrand(row) : undefined;
  }

  return {
    /** Returns the key's site. */
    siteOf: (key = ""): number | undefined => (keyOf.get(digest(key)) as { site: number } | undefined | null)?.site,
    list: (site: number): Brand[] => (all.all(site) as Row[]).map(toBrand),
    find,
    create(site: number, brand: object): Brand {
      const { id } = insert.get(site, JSON.stringify(brand)) as Row;
      return { ID: id, ...brand };
    },
    update(site: number, { ID, ...changes }: Brand): Brand | undefined {
      const brand = find(site, ID);
      if (!brand) return undefined;
      const { ID: _, ...body } = { ...brand, ...changes };
      change.run(JSON.stringify(body), site, ID);
      return { ID, ...body };
    },
  };
}

function toBrand({ id, body }: Row): Brand {
  return { ID: id, ...JSON.parse(body) };
}
