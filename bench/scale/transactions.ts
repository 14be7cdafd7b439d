// Counts the database transactions that one process needs per request on PostgreSQL, with 1 connection and with 64 connections.

import type { TestPostgres } from "../../test/support/postgres/server.ts";
import { load } from "../load.ts";
import { toRow } from "../report.ts";
import { sampleBrand } from "../scenarios.ts";
import { startStorefront } from "../site.ts";
import { headersFor } from "./requests.ts";

interface TransactionSetting {
  /** Seconds of each load. */
  readonly seconds: number;
  readonly folder: string;
  /** Fills a database with a site of a few brands. Returns the site's key. */
  readonly fill: (url: string) => Promise<string>;
}

/** @returns the rows of the table, and the number of failed requests */
export async function countTransactions(database: TestPostgres, setting: TransactionSetting) {
  const { seconds, folder, fill } = setting;
  const url = await database.createDatabase();
  const headers = headersFor(await fill(url));
  const requests = [
    { name: "look-up", method: "GET", path: "/restapi/brands/1.json", headers },
    { name: "create", method: "POST", path: "/restapi/brands.json", headers, body: JSON.stringify(sampleBrand(1)) },
  ];
  const rows: string[] = [];
  let failures = 0;
  for (const { name, ...request } of requests) {
    for (const connections of [1, 64]) {
      const before = await committed(database, url);
      const server = await startStorefront({ database: url });
      const result = await load(server.url, request, connections, seconds, folder);
      await server.stop();
      failures += result.errors;
      const each = ((await committed(database, url)) - before) / result.requests;
      rows.push(toRow([name, connections, Math.round(result.perSecond), each.toFixed(3)]));
      console.log(rows.at(-1));
    }
  }
  return { rows, failures };
}

/** Returns the transactions of a database so far. Waits before, because PostgreSQL counts those of a connection when the connection ends. */
async function committed(database: TestPostgres, url: string): Promise<number> {
  await Bun.sleep(200);
  const name = /[^/]+$/.exec(url)?.[0];
  const [row] = await database.run(`select xact_commit from pg_stat_database where datname = '${name}'`);
  return Number(row?.xact_commit);
}
