// `npm run bench -- --feed`: measures the cost of long polls and webhooks for other clients, and how soon a change arrives at the long polls. On both
// engines.

import { join } from "node:path";
import { startPostgres } from "../../test/support/postgres/server.ts";
import { describeRun, toRow, toTable } from "../report.ts";
import { type CostRows, connections, type Level, measureLevel } from "./costs.ts";
import { fillSites } from "./sites.ts";
import { measureSteadyWrites, toCells, usual, writers } from "./steady-writes.ts";

interface FeedBenchOptions {
  /** Number of measurements of each figure. The report shows their median, and the lowest and the highest of them. */
  readonly rounds: number;
  /** Whether to make a short run without a report. */
  readonly smoke: boolean;
  /** A text; only engines with this text in their name are measured. */
  readonly only: string;
}

interface Rows extends CostRows {
  readonly usual: string[];
  readonly writers: string[];
}

/** The clients must be fewer than the places of a server for them: half of its connections, 9,000 with 20,000 file descriptors. */
const levels: readonly Level[] = [
  { name: "nothing", waiters: 0, webhooks: 0 },
  { name: "8,000 clients", waiters: 8000, webhooks: 0 },
  { name: "100 webhooks", waiters: 0, webhooks: 100 },
];
const smokeLevels: readonly Level[] = [{ name: "100 clients, 20 webhooks", waiters: 100, webhooks: 20 }];

interface Run extends FeedBenchOptions {
  readonly folder: string;
  /** The URL of all webhooks. */
  readonly receiver: string;
  readonly rows: Rows;
}

/** Runs the benchmark. @returns the number of failed requests, and of changes that did not arrive */
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

What clients and webhooks that follow a site cost the server and its other clients, and how soon they have a change. A client follows by long polls: it
requests the next page of changes as soon as it has one, and waits if there is none. Everything runs on one machine: the server on one core,
the load and all clients on another, PostgreSQL where it likes. The CPU time is that of the server without PostgreSQL, its work for the
followers included. A cell is the median, with the lowest and the highest measurement in parentheses.

## When nothing happens

The CPU time of the server in a second in which nobody requests anything.

${table(["engine", "waiting", "CPU, ms"], idle)}

## A change after a pause

A create after a second without changes for each thousand clients: until its response, until the first of the waiting clients has the change, and until the last one has it.

${table(["engine", "waiting", ...waking], wakes)}

## What it costs others

${connections} connections send one kind of request without a pause, to the site that is followed or to another one. Of the 100 webhooks, 20 follow the
followed site, the others sites that do not change. Each client costs the load some of its core too.

${table(["engine", "follow", "load", "to the site", "requests/s", "99 %, ms", "CPU per request, µs"], costs)}

## 1,000 clients and ${usual.perSecond} creates per second

For ${usual.seconds} s. Behind: how old the last change of a page was when the page arrived. The goal is at most 1 s behind, with a third of a core.

${table(["engine", "behind, median", "behind, most", "cores"], usualRows)}

## 1,000 clients and writers without a pause

${writers} connections send creates. The clients follow in every second period, and are away in the others. Kept: what is left of the creates per second while they
follow, and of the creates per second of CPU time; the two differ if something other than the server limits the writers. The goal is 90 %.

${table(["engine", "creates/s, not followed", "kept of them", "kept of those per CPU second"], writerRows)}
`;
}
