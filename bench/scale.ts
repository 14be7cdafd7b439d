// `npm run bench:scale [-- --smoke]`: measures how costs grow with the data. Measures each size on both databases, each with two servers: one server
// writes, and the other (the follower) reads the changes. Writes `bench/scale.md`.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { allResources } from "../src/resources/all.ts";
import { openEngine } from "../src/store/open.ts";
import { startPostgres, type TestPostgres } from "../test/support/postgres/server.ts";
import { load } from "./load.ts";
import { type Measured, startServer } from "./process.ts";
import { fillingOf } from "./scale-data.ts";
import { sampleBrand } from "./scenarios.ts";

const { values: flags } = parseArgs({ options: { smoke: { type: "boolean" } } });
/** The number of sites, and of brands in each. */
interface Size {
  readonly sites: number;
  readonly brands: number;
}

const sizes: Size[] = flags.smoke
  ? [
      { sites: 1, brands: 100 },
      { sites: 100, brands: 10 },
    ]
  : [
      { sites: 1, brands: 100 },
      { sites: 1, brands: 10_000 },
      { sites: 1, brands: 100_000 },
      { sites: 100, brands: 100 },
      { sites: 10_000, brands: 10 },
      { sites: 100_000, brands: 2 },
    ];
const rounds = flags.smoke ? 5 : 50;

const folder = mkdtempSync(join(tmpdir(), "storefront-scale-"));
const server = await startPostgres({ isDurable: true });
const lines: string[] = [];
try {
  for (const [name, newDatabase] of Object.entries({
    SQLite: async ({ sites, brands }: Size) => `sqlite:${join(folder, `${sites}-${brands}.db`)}`,
    PostgreSQL: () => server.createDatabase(),
  })) {
    for (const size of sizes) await benchSize(name, size, await newDatabase(size));
  }
  const queries = await countQueries(server);
  if (!flags.smoke) await Bun.write(join(import.meta.dir, "scale.md"), report(queries));
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}

async function benchSize(name: string, size: Size, url: string): Promise<void> {
  const [key] = await fill(url, size);
  const writer = await start(url);
  const follower = await start(url);
  try {
    const call = (to: Measured, method: string, path: string, body?: object) =>
      timed(to, method, path, key as string, body);
    const idle = follower.memory();
    const first = await call(follower, "GET", "/restapi/brands/1.json");
    await call(writer, "GET", "/restapi/brands/1.json");
    const lookUp = await median(() => call(follower, "GET", "/restapi/brands/1.json"));
    const firstList = await call(follower, "GET", "/restapi/brands.json");
    const list = await median(() => call(follower, "GET", "/restapi/brands.json"), 10);
    const change = () => call(writer, "PUT", "/restapi/brands/2.json", { Name: `changed ${performance.now()}` });
    const write = await median(change);
    const catchUp = await median(async () => {
      await change();
      return call(follower, "GET", "/restapi/brands/2.json");
    });
    const listAfter = await median(async () => {
      await change();
      return call(follower, "GET", "/restapi/brands.json");
    }, 10);
    const memory = [idle, follower.memory()].map((bytes) => Math.round(bytes / 2 ** 20));
    const times = [first, lookUp, firstList, list, write, catchUp, listAfter].map((ms) => ms.toFixed(2));
    const cells = [name, size.sites, size.brands, ...memory, ...times];
    lines.push(`| ${cells.join(" | ")} |`);
    console.log(lines.at(-1));
  } finally {
    await writer.stop();
    await follower.stop();
  }
}

/** Counts the database transactions per request, with 1 connection and with 64 connections. */
async function countQueries(database: TestPostgres): Promise<string[]> {
  const url = await database.createDatabase();
  const [key] = await fill(url, { sites: 1, brands: 100 });
  const name = /[^/]+$/.exec(url)?.[0];
  const headers = headersFor(key as string);
  const requests = [
    { name: "look-up", method: "GET", path: "/restapi/brands/1.json", headers },
    { name: "create", method: "POST", path: "/restapi/brands.json", headers, body: JSON.stringify(sampleBrand(1)) },
  ];
  // Wait, because PostgreSQL counts the transactions of a connection when the connection ends.
  const transactions = async () => {
    await Bun.sleep(200);
    const [row] = await database.run(`select xact_commit from pg_stat_database where datname = '${name}'`);
    return Number(row?.xact_commit);
  };
  const found: string[] = [];
  for (const { name: what, ...request } of requests) {
    for (const connections of [1, 64]) {
      const before = await transactions();
      const shop = await start(url);
      const result = await load(shop.url, request, connections, flags.smoke ? 1 : 3, folder);
      await shop.stop();
      if (result.errors > 0) throw new Error(`${result.errors} requests failed`);
      const each = ((await transactions()) - before) / result.requests;
      found.push(`| ${what} | ${connections} | ${Math.round(result.perSecond)} | ${each.toFixed(3)} |`);
      console.log(found.at(-1));
    }
  }
  return found;
}

async function fill(url: string, { sites, brands }: Size): Promise<readonly string[]> {
  const engine = await openEngine(url, allResources);
  const { keys, rows } = fillingOf(Array.from({ length: sites }, (_, index) => ({ name: `s${index + 1}`, brands })));
  await engine.replaceAllData(rows);
  await engine.close();
  return keys;
}

function start(url: string): Promise<Measured> {
  const env = { STOREFRONT_DATABASE: url, STOREFRONT_LOG: "warn" };
  return startServer("storefront", ["node", "bin/storefront.js", "serve", "--port", "0"], env);
}

/** Sends a request. Returns the milliseconds until the whole response was read. */
async function timed(to: Measured, method: string, path: string, key: string, body?: object): Promise<number> {
  const started = performance.now();
  const init = { method, headers: headersFor(key), ...(body ? { body: JSON.stringify(body) } : {}) };
  const response = await fetch(to.url + path, init);
  await response.arrayBuffer();
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status}`);
  return performance.now() - started;
}

function headersFor(key: string): Record<string, string> {
  return { Host: "s1.test", "X-API-AUTH": key, "Accept-Encoding": "identity" };
}

async function median(measure: () => Promise<number>, times = rounds): Promise<number> {
  const all: number[] = [];
  for (let i = 0; i < Math.min(times, rounds); i++) all.push(await measure());
  return all.sort((a, b) => a - b)[Math.floor(all.length / 2)] as number;
}

function report(queries: readonly string[]): string {
  return `# How costs grow with the data

\`npm run bench:scale\` on ${cpus().length} cores (${cpus()[0]?.model}), Bun ${Bun.version}, everything on one machine, one request after the
other. A brand is ${JSON.stringify(sampleBrand(1)).length} bytes of JSON. Memory is in MiB, for the follower, before its first request and at the end. Times are in
milliseconds: medians, except the first request and the first list. "Catch-up" is the follower's look-up right after a write by
the other process.

| database | sites | brands in each | memory idle | memory | first request | look-up | first list | list | write | catch-up | list after a write |
|---|---|---|---|---|---|---|---|---|---|---|---|
${lines.join("\n")}

The load that one process puts on PostgreSQL. Every request asks whether its snapshot is up to date; a create also shares the transaction
of its batch.

| request | connections | per second | database transactions per request |
|---|---|---|---|
${queries.join("\n")}
`;
}
