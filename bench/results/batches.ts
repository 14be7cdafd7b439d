// Measures batch requests: the CPU time per record, and how long a batch takes.

import { createsBody, matchedUpdatesBody } from "../batch-bodies.ts";
import { type Setting, settle } from "../measure.ts";
import type { Measured } from "../process.ts";
import { type Figures, printFigures, type Sample, toFigures } from "../report.ts";

/** Batch requests per measurement, one after another. */
const batches = 3;

interface BatchScenario {
  readonly name: string;
  readonly path: string;
  /** @param index the request's number */
  bodyOf(index: number): string;
}

/** For batches of `size` operations, on a site of at least as many brands. Updates come first, because they match by a field. */
function batchScenarios(size: number): BatchScenario[] {
  const [json, xml] = [createsBody(size, "json"), createsBody(size, "xml")];
  const name = (operations: string) => `record in a batch of ${size} ${operations}`;
  return [
    {
      name: name("matched updates"),
      path: "/restapi/batch.json?match=AccountNumber",
      bodyOf: (index) => matchedUpdatesBody(size, `Changed ${index}`),
    },
    { name: name("creates, JSON"), path: "/restapi/batch.json", bodyOf: () => json },
    { name: name("creates, XML"), path: "/restapi/batch.xml", bodyOf: () => xml },
  ];
}

/**
 * Sends a server batches of `size` operations, one after another on one connection. In the figures, a request is a record, and `p99` is the slowest batch.
 * @param only only measure scenarios with this text in their name
 */
export async function measureBatches(
  server: Measured,
  key: string,
  size: number,
  only: string,
  { rounds, smoke }: Setting,
): Promise<Figures[]> {
  const figures: Figures[] = [];
  for (const { name, path, bodyOf } of batchScenarios(size)) {
    if (!name.includes(only)) continue;
    let sent = 0;
    const send = () => sendBatch(`${server.url}${path}`, key, bodyOf(sent++));
    if (!smoke) await send();
    const samples: Sample[] = [];
    for (let round = 0; round < rounds; round++) samples.push(await sample(server, size, send, smoke));
    const measured = toFigures(name, server.name, samples);
    printFigures([measured]);
    figures.push(measured);
  }
  return figures;
}

async function sample(server: Measured, size: number, send: () => Promise<number>, smoke: boolean): Promise<Sample> {
  if (!smoke) await settle(server);
  const before = server.usage();
  const durations: number[] = [];
  for (let i = 0; i < batches; i++) durations.push(await send());
  if (!smoke) await settle(server);
  const after = server.usage();
  const records = batches * size;
  const user = (after.user - before.user) / records;
  const system = (after.system - before.system) / records;
  const seconds = durations.reduce((sum, ms) => sum + ms, 0) / 1000;
  return {
    requests: records,
    perSecond: records / seconds,
    cpu: user + system,
    user,
    system,
    p99: Math.max(...durations),
    memory: server.memory(),
    errors: 0,
  };
}

/** Returns how long a batch request took, in milliseconds. @throws Error if an operation wasn't stored */
async function sendBatch(url: string, key: string, body: string): Promise<number> {
  const headers = { "X-API-AUTH": key, "Accept-Encoding": "identity" };
  const begun = performance.now();
  const response = await fetch(url, { method: "POST", headers, body });
  const text = await response.text();
  const duration = performance.now() - begun;
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text.slice(0, 300)}`);
  return duration;
}
