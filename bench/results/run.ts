// `npm run bench -- --results` measures this server, bare servers that do nothing, and one written by hand, and writes `bench/results.md`.

import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { load, type Request } from "../load.ts";
import { type Contender, measure, type Setting } from "../measure.ts";
import { type Measured, startServer } from "../process.ts";
import { type Figures, printFigures, writeReport } from "../report.ts";
import { checkSame, recordResponses } from "../responses.ts";
import { type Scenario, sampleBrands, scenariosFor } from "../scenarios.ts";
import { makeSite, startStorefront } from "../site.ts";
import { measureBatches } from "./batches.ts";

export interface Choice {
  readonly smoke: boolean;
  /** Only measure scenarios with this text in their name. */
  readonly only: string;
}

const servers = join(import.meta.dir, "../servers");
const introduction = `CPU is the CPU time that all of a server's processes spend on one request, which varies least between runs. It's the median of several rounds, with the lowest and highest in parentheses. \`x\` is our CPU time divided by the other server's.
Each server runs on one core with all its threads, and the load on another, except in rows with "on all cores". The bare servers send fixed bytes with the same headers, and neither check nor store anything.
In the rows about batches, one connection sends batch requests. Requests and CPU are per record, and p99 is the slowest batch.`;

/** @returns the number of failed requests */
export async function benchBare({ smoke, only }: Choice, setting: Setting): Promise<number> {
  const figures: Figures[] = [];
  const notes: string[] = [];
  const isWhole = !smoke && only === "";
  const counts = smoke ? [1000] : [1000, 10_000];
  for (const count of counts) {
    const found = await benchSite(
      count,
      ({ name, smoke: isShort }) => name.includes(only) && (isShort || !smoke),
      setting,
      isWhole ? notes : undefined,
      count === counts.at(-1) ? only : undefined,
    );
    figures.push(...found);
  }
  if (isWhole) {
    const report = { title: "Benchmark", introduction, figures, notes };
    await writeReport(join(import.meta.dir, "../results.md"), report);
  }
  return figures.reduce((sum, { errors }) => sum + errors, 0);
}

/** Starts a bare `Bun.serve` that sends the responses recorded in the file `responses`. */
export function startBareBun(responses: string): Promise<Measured> {
  return startServer("bare Bun.serve", [process.execPath, join(servers, "bare-bun.ts")], { RESPONSES: responses });
}

/**
 * Runs the scenarios on a site of `count` brands.
 * @param notes collects notes about lists after a write and look-ups under write load; undefined to skip these
 * @param batches only measure batch scenarios with this text in their name; undefined to skip them all
 */
async function benchSite(
  count: number,
  isWanted: (scenario: Scenario) => boolean,
  setting: Setting,
  notes: string[] | undefined,
  batches: string | undefined,
): Promise<Figures[]> {
  const { folder } = setting;
  const site = await makeSite(folder, count);
  const product = await startStorefront(site);
  const file = join(folder, `responses-${count}.json`);
  const responses = await recordResponses(product.url, scenariosFor(count, site).filter(isWanted), file);
  const bare = [
    await startBareBun(file),
    await startServer("bare node:http", ["node", join(servers, "bare-node.mjs")], { RESPONSES: file }),
  ];
  const byHand = await startByHand(folder, count, site.key);
  const figures: Figures[] = [];
  try {
    // Measure this before the first create, while the list still has the length in its name.
    if (notes) notes.push(await describeAfterWrite(count, product, site.key));
    for (const [scenario, response] of responses) {
      for (const other of bare) await checkSame(other, scenario, response);
      const contenders = [product, ...bare, ...(scenario.byHand ? [byHand] : [])].map((server) => ({
        server,
        request: scenario.request,
      }));
      const runs = [await measure(scenario.name, scenario.connections, contenders, setting)];
      if (scenario.onAllCores) runs.push(await measureOnAllCores(scenario, contenders, setting));
      runs.forEach(printFigures);
      figures.push(...runs.flat());
    }
    if (notes && count === 1000)
      notes.push(...(await describeUnderWrites([product, ...bare, byHand], [...responses.keys()], setting)));
    if (batches !== undefined) figures.push(...(await measureBatches(product, site.key, count, batches, setting)));
    return figures;
  } finally {
    for (const server of [product, ...bare, byHand]) await server.stop();
  }
}

/** Measures a scenario with each server on all cores. In all other measurements, a server and its threads stay on one. */
async function measureOnAllCores(
  { name, connections }: Scenario,
  contenders: readonly Contender[],
  setting: Setting,
): Promise<Figures[]> {
  const useCores = (count: number) => contenders.forEach(({ server }) => void server.useCores(count));
  useCores(availableParallelism());
  try {
    return await measure(`${name}, on all cores`, connections, contenders, setting);
  } finally {
    useCores(1);
  }
}

function startByHand(folder: string, count: number, key: string): Promise<Measured> {
  const seed = join(folder, `seed-${count}.json`);
  writeFileSync(seed, JSON.stringify(sampleBrands(count)));
  const env = { FILE: join(folder, `hand-${count}.db`), KEY: key, SEED: seed };
  return startServer("Hono + bun:sqlite by hand", [process.execPath, join(servers, "hono-sqlite.ts")], env);
}

/** Measures look-ups on every server while other clients write as fast as they can. */
async function describeUnderWrites(
  servers: readonly Measured[],
  scenarios: readonly Scenario[],
  { folder, seconds }: Setting,
): Promise<string[]> {
  const requestOf = (start: string) => scenarios.find(({ name }) => name.startsWith(start))?.request as Request;
  const [lookUp, create] = [requestOf("look-up, JSON"), requestOf("create")];
  const notes: string[] = [];
  for (const { name, url } of servers) {
    await load(url, lookUp, 32, 1, folder);
    const quiet = await load(url, lookUp, 32, seconds, folder);
    // The two loads share a core.
    const writing = load(url, create, 64, seconds + 2, folder);
    await Bun.sleep(1000);
    const busy = await load(url, lookUp, 32, seconds, folder);
    const writes = await writing;
    const kept = Math.round((busy.perSecond / quiet.perSecond) * 100);
    const note = `Look-ups under full write load, ${name}: ${kept}% of ${Math.round(quiet.perSecond)}/s, p99 ${busy.p99.toFixed(2)} ms (${quiet.p99.toFixed(2)} ms without writes), with ${Math.round(writes.perSecond)} creates/s at the same time.`;
    console.log(note);
    notes.push(note);
  }
  return notes;
}

/** Measures the CPU time of a list right after a write, and without one, on one connection. */
async function describeAfterWrite(count: number, server: Measured, key: string): Promise<string> {
  const rounds = 300;
  const headers = { "X-API-AUTH": key, "Accept-Encoding": "identity" };
  const list = async () => void (await (await fetch(`${server.url}/restapi/brands.json`, { headers })).arrayBuffer());
  const write = async (i: number) => {
    const body = JSON.stringify({ ID: 1 + (i % 1000), Name: `Changed ${i}` });
    await (await fetch(`${server.url}/restapi/brands.json`, { method: "PUT", headers, body })).arrayBuffer();
  };
  const cpuOf = async (work: (i: number) => Promise<void>) => {
    const before = server.cpu();
    for (let i = 0; i < rounds; i++) await work(i);
    return (server.cpu() - before) / rounds;
  };
  await list();
  const kept = await cpuOf(list);
  const writes = await cpuOf(write);
  const both = await cpuOf(async (i) => {
    await write(rounds + i);
    await list();
  });
  const afterWrite = both - writes;
  const ratio = (afterWrite / kept).toFixed(2);
  const note = `The list of ${count} right after a write takes ${Math.round(afterWrite)} µs of CPU, ${ratio} times as much as without a write (${Math.round(kept)} µs).`;
  console.log(note);
  return note;
}
