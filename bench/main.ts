// `npm run bench`: this server beside servers that do nothing and one written by hand, in turn, in the same run.
//   --smoke      a short run that fails on errors, never on time
//   --rounds N   how often each is measured (default 5); the medians count
//   --only TEXT  only the scenarios whose name contains it

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureAfterWrite } from "./after-write.ts";
import { load } from "./load.ts";
import { type Measured, startServer } from "./process.ts";
import { type Figures, printFigures, toFigures, writeReport } from "./report.ts";
import { type Scenario, sampleBrand, sampleCsv, scenariosFor } from "./scenarios.ts";

const { values: flags } = parseArgs({
  options: { smoke: { type: "boolean" }, rounds: { type: "string" }, only: { type: "string" } },
});
const rounds = flags.smoke ? 1 : Number(flags.rounds ?? 5);
const seconds = flags.smoke ? 1 : 3;
const root = join(import.meta.dir, "..");
const folder = mkdtempSync(join(tmpdir(), "storefront-bench-"));

const figures: Figures[] = [];
const notes: string[] = [];
let errors = 0;
try {
  for (const count of flags.smoke ? [1000] : [1000, 10_000]) await benchSite(count);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (!flags.smoke && !flags.only) writeReport(figures, notes);
if (errors > 0) {
  console.error(`${errors} requests failed`);
  process.exit(1);
}

/** Measures everything on a site of `count` brands. */
async function benchSite(count: number): Promise<void> {
  const { database, key } = await makeSite(count);
  const product = await startServer("storefront", ["node", "bin/storefront.js", "serve", "--port", "0"], {
    STOREFRONT_DATABASE: database,
    STOREFRONT_LOG: "warn",
  });
  const scenarios = scenariosFor(count, key).filter(
    ({ name, smoke }) => name.includes(flags.only ?? "") && (smoke || !flags.smoke),
  );
  const replies = join(folder, `replies-${count}.json`);
  const expected = await recordReplies(product.url, scenarios, replies);
  const seed = join(folder, `seed-${count}.json`);
  writeFileSync(seed, JSON.stringify(Array.from({ length: count }, (_, i) => ({ ID: i + 1, ...sampleBrand(i + 1) }))));
  const others = [
    await startServer("bare Bun.serve", [process.execPath, join(root, "bench/servers/bare-bun.ts")], {
      REPLIES: replies,
    }),
    await startServer("bare node:http", ["node", join(root, "bench/servers/bare-node.mjs")], { REPLIES: replies }),
    await startServer("Hono + bun:sqlite by hand", [process.execPath, join(root, "bench/servers/hono-sqlite.ts")], {
      FILE: join(folder, `hand-${count}.db`),
      KEY: key,
      SEED: seed,
    }),
  ];
  try {
    // Before anything is created, so that the list is as long as its name says.
    if (!flags.smoke && !flags.only) notes.push(await describeAfterWrite(count, product, key));
    for (const scenario of scenarios) {
      for (const other of others.slice(0, 2)) await checkSame(other, scenario, expected);
      await benchScenario(scenario, [product, ...others.filter((_, i) => i < 2 || scenario.byHand)]);
    }
  } finally {
    for (const server of [product, ...others]) await server.stop();
  }
}

async function describeAfterWrite(count: number, server: Measured, key: string): Promise<string> {
  const { kept, afterWrite } = await measureAfterWrite(server, key, 300);
  const ratio = (afterWrite / kept).toFixed(2);
  const note = `The list of ${count} right after a write: ${Math.round(afterWrite)} µs of CPU, ${ratio} times a kept one (${Math.round(kept)} µs).`;
  console.log(note);
  return note;
}

/** Each server in turn, `rounds` times; medians. */
async function benchScenario(scenario: Scenario, servers: readonly Measured[]): Promise<void> {
  const samples = new Map(servers.map((server) => [server, [] as Parameters<typeof toFigures>[2][number][]]));
  if (!flags.smoke)
    for (const server of servers) await load(server.url, scenario.request, scenario.connections, 1, folder);
  for (let round = 0; round < rounds; round++) {
    for (const server of servers) {
      const before = server.cpu();
      const result = await load(server.url, scenario.request, scenario.connections, seconds, folder);
      errors += result.errors;
      const cpu = (server.cpu() - before) / result.requests;
      samples.get(server)?.push({ perSecond: result.perSecond, cpu, p99: result.p99, memory: server.memory() });
    }
  }
  const measured = servers.map((server) => toFigures(scenario.name, server.name, samples.get(server) ?? []));
  printFigures(measured);
  figures.push(...measured);
}

/** A database made as an operator makes one. */
async function makeSite(count: number): Promise<{ database: string; key: string }> {
  const database = `sqlite:${join(folder, `site-${count}.db`)}`;
  const csv = join(folder, `${count}.csv`);
  writeFileSync(csv, sampleCsv(count));
  await storefront(database, ["site", "add", "shop", "--default"]);
  await storefront(database, ["import", "--site", "shop", "brands", csv]);
  const key = await storefront(database, ["key", "create", "--site", "shop"]);
  return { database, key: key.trim() };
}

async function storefront(database: string, args: readonly string[]): Promise<string> {
  const cmd = ["node", join(root, "bin/storefront.js"), ...args, "--database", database];
  const child = Bun.spawn({ cmd, stdio: ["ignore", "pipe", "pipe"] });
  const [out, problem] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`storefront ${args.join(" ")}: ${problem}`);
  return out;
}

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** In base64. */
  readonly body: string;
}

/** What this server answers, for the bare ones to repeat. They tell scenarios on one path apart by a number in the query. */
async function recordReplies(url: string, scenarios: Scenario[], file: string): Promise<Map<Scenario, Reply>> {
  const replies = new Map<Scenario, Reply>();
  for (const [index, scenario] of scenarios.entries()) {
    const { request } = scenario;
    const mark = `${request.path.includes("?") ? "&" : "?"}_=${index}`;
    const marked = { ...scenario, request: { ...request, path: request.path + mark } };
    scenarios[index] = marked;
    replies.set(marked, await ask(url, marked));
  }
  const byPath = [...replies].map(([{ request }, reply]) => [`${request.method} ${request.path}`, reply]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(byPath)));
  return replies;
}

async function ask(url: string, { request }: Scenario): Promise<Reply> {
  const { method, path, headers, body } = request;
  const init = { method, headers, ...(body ? { body } : {}), decompress: false } as RequestInit;
  const response = await fetch(url + path, init);
  if (response.status >= 400) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  const {
    date: _,
    "content-length": __,
    connection: ___,
    "keep-alive": ____,
    ...others
  } = Object.fromEntries(response.headers);
  return {
    status: response.status,
    headers: others,
    body: Buffer.from(await response.arrayBuffer()).toString("base64"),
  };
}

/** @throws when a bare server does not answer with the same status, headers and bytes */
async function checkSame(server: Measured, scenario: Scenario, expected: ReadonlyMap<Scenario, Reply>): Promise<void> {
  const [theirs, ours] = [await ask(server.url, scenario), expected.get(scenario)];
  if (!Bun.deepEquals(theirs, ours)) throw new Error(`${server.name} answers ${scenario.name} differently`);
}
