// `npm run bench -- --peers`: this server beside what users could pick in its place. Writes `bench/peers.md`.

import { join } from "node:path";
import type { Choice } from "../bare.ts";
import { measure, type Setting } from "../measure.ts";
import { type Figures, printFigures, writeReport } from "../report.ts";
import { sampleBrands } from "../scenarios.ts";
import { express, fastify, hono } from "./by-hand.ts";
import { directus } from "./directus.ts";
import { installNode, installPeer } from "./install.ts";
import { jsonServer } from "./json-server.ts";
import type { Peer, Running } from "./peer.ts";
import { type PeerScenario, scenariosFor } from "./scenarios.ts";
import { storefront } from "./storefront.ts";
import { vendure } from "./vendure.ts";

const peers: readonly Peer[] = [hono, fastify, express, jsonServer, vendure, directus];
const brands = sampleBrands(1000);

interface Started {
  readonly peer: Peer;
  readonly running: Running;
}

/**
 * Measures the peers whose name contains one of `names`; all where there are none. A peer that cannot be installed or
 * started is left out, and the report says why.
 * @returns how many requests failed
 */
export async function benchPeers({ smoke, only }: Choice, names: readonly string[], setting: Setting): Promise<number> {
  const chosen = peers.filter(({ name }) => names.length === 0 || names.some((text) => contains(name, text)));
  const scenarios = scenariosFor(brands.length).filter(({ name }) => name.includes(only));
  const skipped: string[] = [];
  const started = await startAll(chosen, setting.folder, skipped);
  const figures: Figures[] = [];
  for (const scenario of scenarios) {
    const found = await benchScenario(scenario, started, setting);
    printFigures(found);
    figures.push(...found);
  }
  const failed = figures.filter(({ errors }) => errors > 0);
  const failures = failed.map(
    ({ server, scenario, errors, requests }) => `${server}, ${scenario}: ${errors} of ${requests} requests failed.`,
  );
  const isWhole = !smoke && only === "" && names.length === 0;
  if (isWhole) await report(started, figures, [...skipped, ...failures]);
  return failed.reduce((sum, { errors }) => sum + errors, 0);
}

function contains(name: string, text: string): boolean {
  return name.toLowerCase().includes(text.toLowerCase());
}

/** This server first. What is left out is added to `skipped`. */
async function startAll(chosen: readonly Peer[], folder: string, skipped: string[]): Promise<Started[]> {
  const env = await installNode(join(folder, "node"));
  const started: Started[] = [];
  for (const [index, peer] of [storefront, ...chosen].entries()) {
    const own = join(folder, `peer-${index}`);
    try {
      console.error(`installing ${peer.name}`);
      await installPeer(own, peer, env);
      started.push({ peer, running: await peer.start({ folder: own, env, brands }) });
    } catch (error) {
      if (peer === storefront) throw error;
      skipped.push(`${peer.name} is left out: ${(error as Error).message}.`.replaceAll(folder, ""));
      console.error(skipped.at(-1));
    }
  }
  return started;
}

async function benchScenario(
  { name, connections, requestOf, check }: PeerScenario,
  started: readonly Started[],
  setting: Setting,
): Promise<Figures[]> {
  const checks = new Map<string, (answered: number) => Promise<void>>();
  for (const { running } of started) checks.set(running.server.name, await check(running));
  const contenders = started.map(({ running: { server, api } }) => ({ server, request: requestOf(api) }));
  const figures = await measure(name, connections, contenders, setting);
  for (const { server, requests, errors } of figures) await checks.get(server)?.(requests - errors);
  return figures;
}

async function report(started: readonly Started[], figures: readonly Figures[], notes: string[]): Promise<void> {
  await writeReport(join(import.meta.dir, "../peers.md"), {
    title: "Beside what else could be picked",
    introduction: `Every server holds the same ${brands.length} brands and runs on this machine, the peers that need Node on the one from its npm package. CPU is the time
of the server's whole process tree per request, the steadier figure; \`x\` is this server's CPU time divided by the other's.
Before each scenario every server's answers are checked, and after it that its writes were done.`,
    figures,
    notes: [
      "What each does with a brand:",
      started.map(({ peer }) => `- **${peer.name}**: ${peer.note}`).join("\n"),
      ...notes,
    ],
  });
}
