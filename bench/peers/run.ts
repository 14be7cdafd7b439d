// `npm run bench -- --peers` compares this server with alternatives, and writes `bench/peers.md`, which the README quotes.

import { join } from "node:path";
import { measure, type Setting } from "../measure.ts";
import { type Figures, printFigures, writeReport } from "../report.ts";
import type { Choice } from "../results/run.ts";
import { sampleBrands } from "../scenarios.ts";
import { directus } from "./directus.ts";
import { installNode, installPeer } from "./install.ts";
import type { Peer, Running } from "./peer.ts";
import { elysia, fastify, hono, storefront } from "./same-interface.ts";
import { type PeerScenario, scenariosFor } from "./scenarios.ts";
import { vendure } from "./vendure.ts";

const peers: readonly Peer[] = [hono, elysia, fastify, directus, vendure];
const brands = sampleBrands(1000);

interface Started {
  readonly peer: Peer;
  readonly running: Running;
}

/**
 * Skips a peer that can't be installed or started, or that responds wrongly, and says why in the report.
 * @param names only measure peers with one of these texts in their name; empty for all
 * @returns the number of failed requests
 */
export async function benchPeers({ smoke, only }: Choice, names: readonly string[], setting: Setting): Promise<number> {
  const chosen = peers.filter(({ name }) => names.length === 0 || names.some((text) => contains(name, text)));
  const scenarios = scenariosFor(brands.length).filter(({ name }) => name.includes(only));
  const notes: string[] = [];
  const started = await startAll(chosen, setting.folder, notes);
  const figures: Figures[] = [];
  for (const scenario of scenarios) {
    const found = await benchScenario(scenario, started, setting, notes);
    printFigures(found);
    figures.push(...found);
  }
  const failed = figures.filter(({ errors }) => errors > 0);
  for (const { server, scenario, errors, requests } of failed) {
    notes.push(`${server}, ${scenario}: ${errors} of ${requests} requests failed.`);
  }
  const isWhole = !smoke && only === "" && names.length === 0;
  const printable = notes.map((note) => note.replaceAll(setting.folder, "..."));
  if (isWhole) await report(started, figures, printable);
  return failed.reduce((sum, { errors }) => sum + errors, 0);
}

function contains(name: string, text: string): boolean {
  return name.toLowerCase().includes(text.toLowerCase());
}

/** This server first, then the peers. */
async function startAll(chosen: readonly Peer[], folder: string, notes: string[]): Promise<Started[]> {
  const env = await installNode(join(folder, "node"));
  const started: Started[] = [];
  for (const [index, peer] of [storefront, ...chosen].entries()) {
    const own = join(folder, `peer-${index}`);
    console.error(`installing ${peer.name}`);
    const running = await attempt(peer, notes, async () => {
      await installPeer(own, peer, env);
      return peer.start({ folder: own, env, brands });
    });
    if (running) started.push({ peer, running });
  }
  return started;
}

async function benchScenario(
  { name, connections, requestOf, check }: PeerScenario,
  started: readonly Started[],
  setting: Setting,
  notes: string[],
): Promise<Figures[]> {
  const checks: { peer: Peer; running: Running; checkAfter: (completed: number) => Promise<void> }[] = [];
  for (const { peer, running } of started) {
    const checkAfter = await attempt(peer, notes, () => check(running));
    if (checkAfter) checks.push({ peer, running, checkAfter });
  }
  const contenders = checks.map(({ running: { server, api } }) => ({ server, request: requestOf(api) }));
  const right: Figures[] = [];
  for (const [index, figures] of (await measure(name, connections, contenders, setting)).entries()) {
    const { peer, checkAfter } = checks[index] as (typeof checks)[number];
    const checked = await attempt(peer, notes, async () => {
      await checkAfter(figures.requests - figures.errors);
      return figures;
    });
    if (checked) right.push(checked);
  }
  return right;
}

/** If `work` fails, adds a note with the reason and returns undefined. @throws the error if it's this server's */
async function attempt<Result>(peer: Peer, notes: string[], work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (peer === storefront) throw error;
    const note = `${peer.name} was left out: ${(error as Error).message}.`;
    notes.push(note);
    console.error(note);
    return undefined;
  }
}

async function report(
  started: readonly Started[],
  figures: readonly Figures[],
  notes: readonly string[],
): Promise<void> {
  await writeReport(join(import.meta.dir, "../peers.md"), {
    title: "Comparison with alternatives",
    introduction: `Every server has the same ${brands.length} brands and runs on this machine. Those that need Node use the one from npm's \`node\` package. CPU is the
CPU time that all of a server's processes spend on one request, which varies least between runs; \`x\` is our CPU time divided by theirs. The
benchmark checks every server's responses before each scenario, and afterwards that every confirmed write was stored.`,
    figures,
    notes: [
      "How each server stores brands:",
      started.map(({ peer }) => `- **${peer.name}**: ${peer.note}`).join("\n"),
      ...notes,
    ],
  });
}
