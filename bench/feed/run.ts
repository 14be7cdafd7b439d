// `npm run bench -- --feed` measures what long polls and webhooks cost other clients, and how soon a change reaches the long polls, on both engines.

import { join } from "node:path";
import { startPostgres } from "../../test/support/postgres/server.ts";
import { describeRun, toRow, toTable } from "../report.ts";
import { type CostRows, connections, type Level, measureLevel } from "./costs.ts";
import { fillSites } from "./sites.ts";
import { measureSteadyWrites, toCells, usual, writers } from "./steady-writes.ts";

interface FeedBenchOptions {
  /** How often each figure is measured. The report shows the median, the lowest and the highest. */
  readonly rounds: number;
  /** A short run without a report. */
  readonly smoke: boolean;
  /** Only measure engines with this text in their name. */
  readonly only: string;
}

interface Rows extends CostRows {
  readonly usual: string[];
  readonly writers: string[];
}

/** Long polls can use half of a server's connections, 9,000 with 20,000 file descriptors, so these are fewer. */
const levels: readonly Level[] = [
  { name: "nothing", waiters: 0, webhooks: 0 },
  { name: "8,000 clients", waiters: 8000, webhooks: 0 },
  { name: "100 webhooks", waiters: 0, webhooks: 100 },
];
const smokeLevels: readonly Level[] = [{ name: "100 clients, 20 webhooks", waiters: 100, webhooks: 20 }];

interface Run extends FeedBenchOptions {
  readonly folder: string;
  /** Where all webhooks point to. */
  readonly receiver: string;
  readonly rows: Rows;
}

/** @returns the number of failed requests plus the changes that didn't arrive */
export async function benchFeed(options: FeedBenchOptions, folder: string): Promise<number> {
  const { only, smoke } = options;
  const rows: Rows = { costs: [], idle: [], wakes: [], usual: [], writers: [] };
  const receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const run = { ...options, folder, rows, receiver: `http://127.0.0.1:${receiver.port}/` };
  let failures = 0;
  let databases = 0;
  if ("SQLite".includes(only))
    failures += await measureEngine("SQLite", async () => `sqlite:${join(folder, `feed-${databases++}.db`)}`, run);
  if ("PostgreSQL".includes(only)) {
    const postgres = await startPostgres({ isDurable: true });
    failures += await measureEngine("PostgreSQL", postgres.createDatabase, run).finally(postgres.remove);
  }
  await receiver.stop(true);
  if (!smoke && only === "") console.log(report(rows));
  return failures;
}

async function measureEngine(engine: string, newDatabase: () => Promise<string>, run: Run): Promise<number> {
  const { smoke, rounds, folder, receiver, rows } = run;
  let failures = 0;
  for (const level of smoke ? smokeLevels : levels) {
    const sites = await fillSites(await newDatabase(), level.webhooks, receiver);
    failures += await measureLevel(engine, level, sites, { rounds, folder }, rows);
  }
  const followers = smoke ? 100 : 1000;
  const found = await measureSteadyWrites({ newDatabase, followers, rounds, seconds: smoke ? 1 : 2, folder });
  const cells = toCells(found);
  const waiting = `${followers.toLocaleString("en-US")} clients`;
  rows.idle.push(toRow([engine, waiting, found.idle]));
  rows.wakes.push(toRow([engine, waiting, ...(found.wakes?.cells ?? [])]));
  rows.usual.push(toRow([engine, ...cells.usual]));
  rows.writers.push(toRow([engine, ...cells.writers]));
  for (const table of [rows.idle, rows.wakes, rows.usual, rows.writers]) console.log(table.at(-1));
  return failures + found.failures;
}

function report({ costs, idle, wakes, usual: usualRows, writers: writerRows }: Rows): string {
  const table = (header: readonly string[], rows: readonly string[]) => toTable(header, rows).join("\n");
  const waking = ["response to the create", "first client", "last client"].map((name) => `${name}, ms`);
  return `# Following changes

${describeRun()}

What it costs the server and its other clients when clients and webhooks follow a site, and how soon a change reaches the followers. A client follows
with long polls: it requests the next page of changes as soon as it has one, and waits if there's none. Everything runs on one machine: the server on
one core, the load and all clients on another, and PostgreSQL on either. CPU time is the server's, including its work for followers but not
PostgreSQL. Each cell has the median, with the lowest and highest measurement in parentheses.

## When nothing happens

The server's CPU time per second without requests.

${table(["engine", "waiting", "CPU, ms"], idle)}

## A change after a pause

There are no changes for a second per thousand clients, and then a create. The columns say how long it took until the create had its response, and until
the first and the last waiting client had the change.

${table(["engine", "waiting", ...waking], wakes)}

## What it costs others

${connections} connections send one kind of request without a pause, either to the followed site or to another one. Of the 100 webhooks, 20 follow the
followed site and the rest follow sites that don't change. The clients also take some CPU time from the load, which shares their core.

${table(["engine", "followers", "load", "site", "requests/s", "99 %, ms", "CPU per request, µs"], costs)}

## 1,000 clients and ${usual.perSecond} creates per second

For ${usual.seconds} s. "Behind" is how old a page's last change was when the page arrived. The goal is at most 1 s, using a third of a core.

${table(["engine", "behind, median", "behind, most", "cores"], usualRows)}

## 1,000 clients and writers that never pause

${writers} connections send creates. The clients follow in every other period. "Kept" is how much of the creates per second, and per second of CPU time,
is left while they do; the two differ if something other than the server limits the writers. The goal is 90 %.

${table(["engine", "creates/s without followers", "kept", "kept per CPU second"], writerRows)}
`;
}
