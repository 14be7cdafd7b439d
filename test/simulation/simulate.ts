// A seeded simulation of webhook delivery: real runners on a real SQLite database, in simulated processes with a simulated clock and network. Processes are
// killed, stopped and frozen at any point, calls to the database fail or hang, receivers are slow, fail, lie and restart, and an operator keeps changing things.
// Then the failures stop, and everything must have been delivered.

import { randomBytes } from "node:crypto";
import { systemSite } from "../../src/model/system-site.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { webhook as webhookResource } from "../../src/resources/webhook.ts";
import { createTestWebhook } from "../support/webhooks/test-webhook.ts";
import type { SimulatedDatabase } from "./database.ts";
import { onSimulatedMachine } from "./machine.ts";
import { Network } from "./network.ts";
import { noFault, type PlantedFault } from "./planted-faults.ts";
import { SimulatedProcess } from "./process.ts";
import { Random } from "./random.ts";
import { Simulation, type SimulationReport } from "./simulation.ts";
import { SimulatedTime, simulatedClock } from "./time.ts";

export interface SimulationOptions {
  readonly plant?: PlantedFault;
  /** How long things keep failing. */
  readonly maxFailuresMs?: number;
}

export async function simulate(
  database: SimulatedDatabase,
  seed: number,
  options: SimulationOptions = {},
): Promise<SimulationReport> {
  const time = new SimulatedTime(Date.UTC(2030, 0, 1) + seed * 1000);
  useTime(time);
  return onSimulatedMachine(time, new Random(~seed), async () => {
    const simulation = new Simulation(database, time, new Random(seed), options.plant ?? noFault);
    await simulation.start(`s${seed}-${randomBytes(4).toString("hex")}`);
    await simulation.runWithFailures(simulation.random.between(20_000, options.maxFailuresMs ?? 120_000));
    await simulation.endFailures();
    return simulation.end();
  });
}

function useTime(time: SimulatedTime): void {
  simulatedClock.time = time;
  simulatedClock.skew = 0;
}

/** Kills a process during a request. Returns the simulated milliseconds until the other one sends. */
export async function takeOver({ engine }: SimulatedDatabase, seed: number): Promise<number> {
  const time = new SimulatedTime(Date.UTC(2031, 0, 1) + seed * 3_600_000);
  useTime(time);
  const random = new Random(seed);
  const sent: number[] = [];
  const network = new Network({ time, random, onSend: () => sent.push(time.now), onArrival: () => 200 });
  const idle = { onCommit: () => () => {}, meanwhile: async () => {} };
  const options = { engine, time, random, network, plant: noFault, ...idle };
  const site = await createSite(engine, `t${seed}-${randomBytes(4).toString("hex")}`, {}, time.now);
  const at = time.now;
  await engine.commit([
    { site: site.ID, resource: "brand", operation: "create", valuesJson: '{"Name":"a"}', actor: "sfk_x", at },
  ]);
  const webhook = await createTestWebhook(engine, site.ID, `http://127.0.0.1:${seed}/`);
  const processes = ["a", "b"].map((name) => new SimulatedProcess(name, options));
  // Both may want to send. The first one does, and dies before it can get the response.
  while (sent.length === 0) await time.pass(1);
  const state = (await engine.readWebhookStates([webhook]))[0];
  await time.pass(random.between(0, 1));
  const killedAt = time.now;
  for (const process of processes) if (process.name === state?.holder) process.life.kill();
  await time.pass(60_000);
  const stopping = Promise.all(processes.filter(({ isAlive }) => isAlive).map((process) => process.stop()));
  await time.pass(1000);
  await stopping;
  await engine.deleteWebhook(webhook);
  await engine.commit([
    {
      site: systemSite,
      resource: webhookResource.name,
      operation: "delete",
      id: webhook.webhook,
      valuesJson: "{}",
      actor: "operator",
      at,
    },
  ]);
  return (sent[1] ?? Number.POSITIVE_INFINITY) - killedAt;
}
