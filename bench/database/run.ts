// `npm run bench -- --database`: measures what the console's search in many sites and a single create cost the server and its database, on both engines,
// and how long reads of sites that are not in memory take to fail while PostgreSQL hangs. Writes `bench/database.md`.

import { join } from "node:path";
import { allResources } from "../../src/resources/all.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { openEngine } from "../../src/store/open.ts";
import { startPostgres, type TestPostgres } from "../../test/support/postgres/server.ts";
import { sum, usageOf } from "../proc.ts";
import { describeRun, toRow, toTable } from "../report.ts";
import { sampleBrand } from "../scenarios.ts";
import { fill } from "../stalls/databases.ts";
import { ask, operate, startTarget, type Target } from "../stalls/target.ts";
import { messagesOf } from "./messages.ts";

interface DatabaseBenchOptions {
  /** Number of searches, and a hundredth of the number of creates. */
  readonly rounds: number;
  /** A text; only rows with this text in their engine and name are measured. */
  readonly only: string;
  /** Whether to make a short run that writes no report. */
  readonly smoke: boolean;
}

interface Call {
  readonly name: string;
  /** Number of calls per round. */
  readonly times: number;
  readonly call: (target: Target) => Promise<unknown>;
}

const siteCount = 1000;
const brandsPerSite = 10;
/** Number of sites that are read while the database hangs. */
const coldSites = 24;

const calls: readonly Call[] = [
  { name: "a search that finds nothing", times: 1, call: (target) => operate(target, "GET", "/find?text=nothing") },
  { name: "a search for a town", times: 1, call: (target) => operate(target, "GET", "/find?text=Newcastle") },
  { name: "a create", times: 100, call: create },
];

async function create(target: Target): Promise<void> {
  const init = { method: "POST", body: JSON.stringify(sampleBrand(1)) };
  const response = await ask(target, "/restapi/brands.json", init, "s1");
  await response.arrayBuffer();
  if (response.status !== 201) throw new Error(`create: ${response.status}`);
}

/** Runs the benchmark. @returns the number of failures; always 0, because a failure throws */
export async function benchDatabase(options: DatabaseBenchOptions, folder: string): Promise<number> {
  const { only, smoke } = options;
  const rows: string[] = [];
  const postgres = await startPostgres({ isDurable: true });
  try {
    await measureEngine("SQLite", `sqlite:${join(folder, "database.db")}`, { ...options, folder, rows });
    await measureEngine("PostgreSQL", await postgres.createDatabase(), { ...options, folder, rows, postgres });
    const hanging = "PostgreSQL: reads while it hangs".includes(only) ? await measureHanging(postgres) : "";
    if (!smoke && only === "") await Bun.write(join(import.meta.dir, "../database.md"), report(rows, hanging));
  } finally {
    await postgres.remove();
  }
  return 0;
}

interface EngineSetting extends DatabaseBenchOptions {
  readonly folder: string;
  readonly rows: string[];
  readonly postgres?: TestPostgres;
}

async function measureEngine(engine: string, database: string, setting: EngineSetting): Promise<void> {
  const measured = calls.filter(({ name }) => `${engine}: ${name}`.includes(setting.only));
  if (measured.length === 0) return;
  const sites = Array.from({ length: siteCount }, (_, at) => ({ name: `s${at + 1}`, brands: brandsPerSite }));
  const filled = await fill(database, sites);
  const target = await startTarget(filled, { flags: [], folder: setting.folder, csv: "", brands: brandsPerSite });
  try {
    for (const call of measured) {
      setting.rows.push(toRow([engine, call.name, ...(await measureCall(target, call, setting))]));
      console.log(setting.rows.at(-1));
    }
  } finally {
    await target.server.stop();
  }
}

/** Returns the CPU time of the server and of PostgreSQL per call, the fastest twentieth and the median of the durations, and the messages. */
async function measureCall(target: Target, { times, call }: Call, { rounds, postgres }: EngineSetting) {
  for (let i = 0; i < 2 * times; i++) await call(target);
  const count = rounds * times;
  const backEnds = postgres ? await backEndsOf(postgres) : [];
  const databaseCpu = () => total(sum(backEnds.map(usageOf)));
  const before = [target.server.cpu(), databaseCpu()] as const;
  const durations: number[] = [];
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    await call(target);
    durations.push(performance.now() - started);
  }
  const cpu = target.server.cpu() - before[0];
  const ofDatabase = databaseCpu() - before[1];
  durations.sort((a, b) => a - b);
  const at = (share: number) => toMs(durations[Math.floor(durations.length * share)] as number);
  return [
    toMs(cpu / count / 1000),
    postgres ? toMs(ofDatabase / count / 1000) : "",
    at(0.05),
    at(0.5),
    postgres ? ((await messagesOf(postgres, () => call(target))) ?? "") : "",
  ];
}

async function backEndsOf(postgres: TestPostgres): Promise<number[]> {
  const rows = await postgres.run("select pid from pg_stat_activity where application_name = 'storefront'");
  return rows.map(({ pid }) => Number(pid));
}

/** Reads whole sites while the server hangs. Returns a sentence with the seconds until the first and the last read has failed. */
async function measureHanging(postgres: TestPostgres): Promise<string> {
  const database = await postgres.createDatabase();
  await fill(
    database,
    Array.from({ length: coldSites }, (_, at) => ({ name: `s${at + 1}`, brands: 1 })),
  );
  const engine = await openEngine(database, allResources);
  await engine.openConnections();
  const seconds: number[] = [];
  await postgres.signal("SIGSTOP");
  const started = performance.now();
  const reads = Array.from({ length: coldSites }, (_, at) =>
    readAllRows(engine, at + 1).catch(() => seconds.push((performance.now() - started) / 1000)),
  );
  await Promise.all(reads).finally(() => postgres.signal("SIGCONT"));
  await engine.close();
  if (seconds.length !== coldSites) throw new Error(`${coldSites - seconds.length} reads did not fail`);
  const [first, last] = [seconds[0], seconds.at(-1)].map((one) => one?.toFixed(2));
  const sentence = `Of ${coldSites} reads of whole sites, the first failed after ${first} s and the last after ${last} s.`;
  console.log(sentence);
  return sentence;
}

function total({ user, system }: { readonly user: number; readonly system: number }): number {
  return user + system;
}

function toMs(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 10 ? 2 : 0);
}

function report(rows: readonly string[], hanging: string): string {
  const columns = ["engine", "call", "CPU", "CPU of PostgreSQL", "fastest twentieth", "median", "messages"];
  return `# Calls that consist of round trips to the database

${describeRun()}

${siteCount} sites with ${brandsPerSite} brands each, one connection, one call after the other. CPU time is per call, in milliseconds: of the server, and of the
sessions that it has in PostgreSQL. A search is the console's search in all sites. The elapsed times, in milliseconds, depend on what else the machine
does; the fastest twentieth of the calls least. Messages are those to PostgreSQL per call, without the notification after a commit: statements that
are sent together without waiting are several messages.

${toTable(columns, rows).join("\n")}

While PostgreSQL hangs, with its time limit of 2 s: ${hanging}
`;
}
