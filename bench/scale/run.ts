// `npm run bench -- --scale`: measures how costs grow with the data. Measures each size on both engines, each with two servers: one server writes, and
// the other (the follower) reads the changes. Writes `bench/scale.md`.

import { join } from "node:path";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { startPostgres, type TestPostgres } from "../../test/support/postgres/server.ts";
import type { Measured } from "../process.ts";
import { describeRun, toRow, toTable } from "../report.ts";
import { fillingOf } from "../sample-rows.ts";
import { sampleBrand } from "../scenarios.ts";
import { startStorefront } from "../site.ts";
import { repeat, timed, toMs } from "./requests.ts";
import { countTransactions } from "./transactions.ts";

interface ScaleBenchOptions {
  /** A text; only engines with this text in their name are measured. */
  readonly only: string;
  /** Whether to make a short run that writes no report. */
  readonly smoke: boolean;
}

/** The number of sites, and of brands in each. */
interface Size {
  readonly sites: number;
  readonly brands: number;
}

const sizes: readonly Size[] = [
  { sites: 1, brands: 100 },
  { sites: 1, brands: 10_000 },
  { sites: 1, brands: 100_000 },
  { sites: 1, brands: 1_000_000 },
  { sites: 100, brands: 100 },
  { sites: 10_000, brands: 10 },
  { sites: 100_000, brands: 2 },
];
const smokeSizes: readonly Size[] = [
  { sites: 1, brands: 100 },
  { sites: 100, brands: 10 },
];
/** Maximum number of brands of a site with a journal. */
const maxJournaled = 100_000;

interface Run extends ScaleBenchOptions {
  readonly folder: string;
  readonly starts: string[];
  readonly requests: string[];
}

/** Runs the benchmark. @returns the number of failed requests of loads; another failure throws */
export async function benchScale(options: ScaleBenchOptions, folder: string): Promise<number> {
  const { only, smoke } = options;
  const run: Run = { ...options, folder, starts: [], requests: [] };
  if ("SQLite".includes(only)) await benchEngine("SQLite", async (name) => `sqlite:${join(folder, `${name}.db`)}`, run);
  if (!"PostgreSQL".includes(only)) return 0;
  const postgres = await startPostgres({ isDurable: true });
  try {
    await benchEngine("PostgreSQL", postgres.createDatabase, run);
    const transactions = await benchTransactions(postgres, run);
    if (!smoke && only === "") await Bun.write(join(import.meta.dir, "../scale.md"), report(run, transactions.rows));
    return transactions.failures;
  } finally {
    await postgres.remove();
  }
}

async function benchEngine(engine: string, newDatabase: (name: string) => Promise<string>, run: Run): Promise<void> {
  for (const size of run.smoke ? smokeSizes : sizes) {
    const { sites, brands } = size;
    const url = await newDatabase(`${sites}-${brands}`);
    const key = await fill(url, size);
    const writer = await startStorefront({ database: url });
    const begun = performance.now();
    const follower = await startStorefront({ database: url });
    const startMs = performance.now() - begun;
    try {
      const cells = [engine, sites.toLocaleString("en-US"), brands.toLocaleString("en-US")];
      run.starts.push(toRow([...cells, toMs(startMs), ...(await measureFirst(follower, key))]));
      console.log(run.starts.at(-1));
      run.requests.push(toRow([...cells, ...(await measureRequests(writer, follower, key, size))]));
      console.log(run.requests.at(-1));
    } finally {
      await writer.stop();
      await follower.stop();
    }
  }
}

/** Measures the memory and the CPU time of a server that has just started, its first request, and its first list, which loads the site. */
async function measureFirst(server: Measured, key: string): Promise<string[]> {
  const state = () => [String(Math.round(server.memory() / 2 ** 20)), toMs(server.cpu() / 1000)];
  const started = state();
  const first = await timed(server, "GET", "/restapi/brands/1.json", key);
  const before = server.cpu();
  const list = await timed(server, "GET", "/restapi/brands.json", key);
  const cpu = server.cpu() - before;
  return [...started, toMs(first), toMs(list), toMs(cpu / 1000), state()[0] as string];
}

async function measureRequests(writer: Measured, follower: Measured, key: string, { brands }: Size): Promise<string[]> {
  const get = (path: string) => timed(follower, "GET", path, key);
  const change = () =>
    timed(writer, "PUT", "/restapi/brands.json", key, { ID: 2, Name: `changed ${performance.now()}` });
  const afterChange = (path: string) => async () => {
    await change();
    return get(path);
  };
  await timed(writer, "GET", "/restapi/brands/1.json", key);
  return [
    await repeat(50, () => get("/restapi/brands/1.json")),
    await repeat(10, () => get("/restapi/brands.json")),
    brands > maxJournaled ? "" : await repeat(50, () => get("/restapi/changes.json?since=0.0")),
    await repeat(50, change),
    await repeat(50, afterChange("/restapi/brands/2.json")),
    await repeat(10, afterChange("/restapi/brands.json")),
  ];
}

function benchTransactions(postgres: TestPostgres, { smoke, folder }: Run) {
  const fillSmall = (url: string) => fill(url, { sites: 1, brands: 100 });
  return countTransactions(postgres, { seconds: smoke ? 1 : 3, folder, fill: fillSmall });
}

/** Returns the key of the first site. */
async function fill(url: string, { sites, brands }: Size): Promise<string> {
  const isJournaled = brands <= maxJournaled;
  const names = Array.from({ length: sites }, (_, index) => ({ name: `s${index + 1}`, brands, isJournaled }));
  const { keys, rows } = fillingOf(names);
  const engine = await openEngine(url, allResources);
  await engine.replaceAllData(rows).finally(() => engine.close());
  return keys[0] as string;
}

function report({ starts, requests }: Run, transactions: readonly string[]): string {
  const size = ["engine", "sites", "brands in each"];
  const ofStart = [
    "start, ms",
    "memory, MiB",
    "CPU, ms",
    "first request, ms",
    "first list, ms",
    "its CPU, ms",
    "memory then, MiB",
  ];
  const ofRequests = ["look-up", "list", "page of changes", "write", "catch-up", "list after a write"];
  const ofLoads = ["request", "connections", "requests/s", "database transactions per request"];
  return `# How costs grow with the data

${describeRun()}

Two servers have the same database, on one machine with it: one is written to, the other (the follower) is measured, with one request after the other.
A brand is ${JSON.stringify(sampleBrand(1)).length} bytes of JSON. Requests are to the first site. All sites have a key, and a journal of their creates, except the site of
1,000,000 brands. Servers and PostgreSQL share the machine's cores; each server is kept on one.

## Start and first requests

The follower from its start until it listens: time, memory and CPU time. Then its first look-up, and its first list, which loads the site. A list of 1,000,000 brands is 340 MB, and the time includes its transfer.

${toTable([...size, ...ofStart], starts).join("\n")}

## Requests

Milliseconds: the median / the longest of up to 50 requests (10 lists), but at most two seconds of each kind. A list has all brands of the site, a page
of changes the first 100 of the journal. A write is a change of one brand, sent to the other server. Catch-up is a look-up at the follower right after
such a write.

${toTable([...size, ...ofRequests], requests).join("\n")}

## The load that one process puts on PostgreSQL

Every request asks whether its snapshot is up to date; a create also shares the transaction of its batch.

${toTable(ofLoads, transactions).join("\n")}
`;
}
