// `npm run bench -- --feed`: measures the cost of long polls and webhooks for other clients, and how soon a change arrives at the long polls. On both
// engines. Writes `bench/feed.md`.

import { join } from "node:path";
import { startPostgres } from "../../test/support/postgres/server.ts";
import { load, type Request } from "../load.ts";
import { type Measured, startServer } from "../process.ts";
import { describeRun, toMicros, toRow, toTable } from "../report.ts";
import { sampleBrand } from "../scenarios.ts";
import { type FollowedSites, fillSites } from "./sites.ts";
import { measureSteadyWrites } from "./steady-writes.ts";
import { startWaiters } from "./waiters.ts";

interface FeedBenchOptions {
  /** Number of measurements of each figure. The report shows their median. */
  readonly rounds: number;
  /** Whether to make a short run that writes no report. */
  readonly smoke: boolean;
  /** A text; only engines with this text in their name are measured. */
  readonly only: string;
}

interface Level {
  readonly name: string;
  readonly waiters: number;
  readonly webhooks: number;
}

interface Tables {
  readonly costs: string[];
  readonly idle: string[];
  readonly wakes: string[];
  readonly steady: string[];
}

const levels: readonly Level[] = [
  { name: "nothing", waiters: 0, webhooks: 0 },
  { name: "1,000 clients", waiters: 1000, webhooks: 0 },
  { name: "10,000 clients", waiters: 10_000, webhooks: 0 },
  { name: "100 webhooks", waiters: 0, webhooks: 100 },
];
const smokeLevels: readonly Level[] = [{ name: "100 clients, 20 webhooks", waiters: 100, webhooks: 20 }];

const program = join(import.meta.dir, "../../bin/storefront.js");
const command = ["node", program, "serve", "--port", "0"];
const connections = 32;

/** Runs the benchmark. @returns the number of failed requests */
export async function benchFeed({ rounds, smoke, only }: FeedBenchOptions, folder: string): Promise<number> {
  const tables: Tables = { costs: [], idle: [], wakes: [], steady: [] };
  let failures = 0;
  let databases = 0;
  const receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const run = async (engine: string, newDatabase: () => Promise<string>) => {
    if (!engine.includes(only)) return;
    for (const level of smoke ? smokeLevels : levels) {
      const sites = await fillSites(await newDatabase(), level.webhooks, `http://127.0.0.1:${receiver.port}/`);
      failures += await measureLevel(engine, level, sites, { rounds, folder, tables, seconds: smoke ? 1 : 3 });
    }
    const steady = {
      ...{ command, newDatabase, create: (sites: FollowedSites) => create("followed", sites) },
      ...{ followers: smoke ? 100 : 1000, rounds: smoke ? 1 : rounds, seconds: smoke ? 1 : 3, folder },
    };
    failures += await addSteadyWrites(engine, steady, tables.steady);
  };
  await run("SQLite", async () => `sqlite:${join(folder, `feed-${databases++}.db`)}`);
  if ("PostgreSQL".includes(only)) {
    const postgres = await startPostgres({ isDurable: true });
    await run("PostgreSQL", postgres.createDatabase).finally(postgres.remove);
  }
  await receiver.stop(true);
  if (!smoke && only === "") await Bun.write(join(import.meta.dir, "../feed.md"), report(tables));
  return failures;
}

interface LevelSetting {
  readonly rounds: number;
  readonly seconds: number;
  readonly folder: string;
  readonly tables: Tables;
}

async function measureLevel(
  engine: string,
  level: Level,
  sites: FollowedSites,
  setting: LevelSetting,
): Promise<number> {
  const { rounds, tables } = setting;
  const env = { STOREFRONT_DATABASE: sites.database, STOREFRONT_LOG: "warn" };
  const server = await startServer("storefront", command, env);
  let failures = 0;
  const add = (rows: string[], cells: readonly (string | number)[]) => {
    rows.push(toRow([engine, level.name, ...cells]));
    console.log(rows.at(-1));
  };
  const { waiters: count, webhooks } = level;
  const waiters = await startWaiters(server.url, "followed.test", count, sites.keys.followed);
  try {
    add(tables.idle, [`${(await measureIdle(server, rounds)).toFixed(1)} ms`]);
    // Without long polls and webhooks, both sites are alike: measure one.
    for (const site of count + webhooks > 0 ? (["other", "followed"] as const) : (["other"] as const)) {
      for (const request of [lookUp(site, sites), create(site, sites)]) {
        const cost = await measureCost(server, request, setting, (work) => waiters.during(work, 0));
        failures += cost.failures;
        const name = request.method === "GET" ? "look-ups" : "creates";
        add(tables.costs, [
          name,
          site,
          Math.round(cost.perSecond),
          `${cost.p99.toFixed(1)} ms`,
          `${toMicros(cost.cpu)} µs`,
        ]);
      }
    }
    if (count > 0) {
      const wakes: Wake[] = [];
      for (let i = 0; i < rounds; i++) {
        await untilQuiet((work) => waiters.during(work, 0));
        wakes.push(await measureWake(server, create("followed", sites), (work) => waiters.during(work, 3000)));
      }
      failures += wakes.filter(({ pages }) => pages < count).length;
      const cells = (["response", "first", "last"] as const).map((name) =>
        median(wakes.map((wake) => wake[name])).toFixed(0),
      );
      add(tables.wakes, cells);
    }
  } finally {
    await waiters.stop();
    await server.stop();
  }
  return failures;
}

/** Adds a row to `rows`. Returns the number of failed requests. */
async function addSteadyWrites(
  engine: string,
  setting: Parameters<typeof measureSteadyWrites>[0],
  rows: string[],
): Promise<number> {
  const found = await measureSteadyWrites(setting);
  const cells = [
    Math.round(found.alone),
    `${Math.round(found.kept * 100)} %`,
    `${found.catchUpSeconds.toFixed(1)} s`,
    found.catchUpPages,
    `${Math.round(found.behindMs)} ms`,
    found.cores.toFixed(2),
  ];
  rows.push(toRow([engine, `${setting.followers} clients`, ...cells]));
  console.log(rows.at(-1));
  return found.failures;
}

interface Wake {
  readonly pages: number;
  readonly response: number;
  readonly first: number;
  readonly last: number;
}

type During = (
  work: () => Promise<unknown>,
) => Promise<{ pages: number; failures: number; first: number; last: number }>;

/** Measures requests per second, and the CPU time of the server per request, including its work for long polls and webhooks. */
async function measureCost(
  server: Measured,
  request: Request,
  { rounds, seconds, folder }: LevelSetting,
  during: During,
) {
  const samples: { perSecond: number; p99: number; cpu: number }[] = [];
  let failures = 0;
  await load(server.url, request, connections, 1, folder);
  for (let i = 0; i < rounds; i++) {
    await Bun.sleep(1000);
    const before = server.cpu();
    const received = await during(async () => {
      const { perSecond, p99, requests, errors } = await load(server.url, request, connections, seconds, folder);
      samples.push({ perSecond, p99, cpu: (server.cpu() - before) / (requests + connections) });
      failures += errors;
    });
    failures += received.failures;
  }
  const medianOf = (name: "perSecond" | "p99" | "cpu") => median(samples.map((sample) => sample[name]));
  return { perSecond: medianOf("perSecond"), p99: medianOf("p99"), cpu: medianOf("cpu"), failures };
}

/** Waits at most a minute until the waiting clients have received all changes of a load. */
async function untilQuiet(during: During): Promise<void> {
  const deadline = performance.now() + 60_000;
  let pages: number;
  do ({ pages } = await during(() => Bun.sleep(1500)));
  while (pages > 0 && performance.now() < deadline);
}

/** Measures the CPU time of the server in a second without requests, in milliseconds. */
async function measureIdle(server: Measured, rounds: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const before = server.cpu();
    await Bun.sleep(2000);
    times.push((server.cpu() - before) / 2000);
  }
  return median(times);
}

/** Sends a create. Measures the milliseconds until its response arrives, and until the first and the last waiting client has received the change. */
async function measureWake(
  { url }: Measured,
  { method, path, headers, body = "" }: Request,
  during: During,
): Promise<Wake> {
  let [sent, response] = [0, 0];
  const { pages, first, last } = await during(async () => {
    await Bun.sleep(1000);
    sent = now();
    await (await fetch(url + path, { method, headers, body: body.replace("[<id>]", "wake") })).arrayBuffer();
    response = now() - sent;
  });
  return { pages, response, first: first - sent, last: last - sent };
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

function lookUp(site: "followed" | "other", sites: FollowedSites): Request {
  return { method: "GET", path: "/restapi/brands/500.json", headers: headersOf(site, sites) };
}

function create(site: "followed" | "other", sites: FollowedSites): Request {
  const body = JSON.stringify({ ...sampleBrand(1), Name: "[<id>]" });
  return { method: "POST", path: "/restapi/brands.json", headers: headersOf(site, sites), body };
}

function headersOf(site: "followed" | "other", { keys }: FollowedSites): Record<string, string> {
  return { Host: `${site}.test`, "X-API-AUTH": keys[site][0] as string, "Accept-Encoding": "identity" };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function report({ costs, idle, wakes, steady }: Tables): string {
  const costHeader = ["engine", "follow the site", "load", "on the site", "requests/s", "99 %", "CPU per request"];
  return `# Following changes

${describeRun()}

A load of ${connections} connections on the site that clients follow, or on another one. 20 of the webhooks are of the followed site, the others of sites
that do not change. The CPU time is that of the server, with what it does for those that wait. The server is kept on one core; the load and the
clients that wait share another, so with many clients on the same site the load is slower also because of them.

${toTable(costHeader, costs).join("\n")}

What the server does in a second in which nothing is requested:

${toTable(["engine", "waiting", "CPU"], idle).join("\n")}

How soon a change arrives at clients that wait, in milliseconds after the create was sent:

${toTable(["engine", "waiting", "response to the create", "first client", "last client"], wakes).join("\n")}

A site that is written to without a pause. 16 connections send creates in turns to two servers; clients follow the site of only one of them. "Kept" are
its creates per second of CPU time, as a share of those of the other. "At the end" is the time, after the last create, in which clients still received
pages. Then there are 100 creates per second: how old the last change of a page was at most when it arrived, and the CPU time of the server.

${toTable(["engine", "follow the site", "creates per CPU second, alone", "kept", "at the end", "pages until then", "behind at 100/s", "cores at 100/s"], steady).join("\n")}
`;
}
