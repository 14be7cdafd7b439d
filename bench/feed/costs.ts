// Measures what waiting clients and webhooks cost other clients, and the server itself while there are no requests.

import { load, type Request } from "../load.ts";
import type { Measured } from "../process.ts";
import { toRow } from "../report.ts";
import { startStorefront } from "../site.ts";
import { toSpread } from "../statistics.ts";
import { create, type FollowedSites, lookUp } from "./sites.ts";
import { startWaiters, type Waiters } from "./waiters.ts";
import { measureWakes } from "./wakes.ts";

/** Who follows the site `followed` during the loads. */
export interface Level {
  readonly name: string;
  readonly waiters: number;
  readonly webhooks: number;
}

export interface CostSetting {
  /** How many periods each load has. */
  readonly rounds: number;
  readonly folder: string;
}

export interface CostRows {
  readonly costs: string[];
  readonly idle: string[];
  readonly wakes: string[];
}

/** A load's connections, and how many seconds one of its periods takes. */
export const connections = 32;
const seconds = 1;

/** Measures a level and adds its rows, which start with `engine`. @returns the number of failed requests */
export async function measureLevel(
  engine: string,
  level: Level,
  sites: FollowedSites,
  setting: CostSetting,
  rows: CostRows,
): Promise<number> {
  const server = await startStorefront(sites);
  const waiters = await startWaiters(server.url, "followed.test", level.waiters, sites.keys.followed);
  try {
    const measure = async () => rows.idle.push(toRow([engine, level.name, await measureIdle(server, setting.rounds)]));
    const idle = await waiters.during(measure, 0);
    console.log(rows.idle.at(-1));
    // The wakes come first, because after a load, it takes minutes until so many clients have its changes.
    const wakes = await measureWakes(server, create("followed", sites), waiters);
    if (wakes) rows.wakes.push(toRow([engine, level.name, ...wakes.cells]));
    if (wakes) console.log(rows.wakes.at(-1));
    let failures = idle.failures + (wakes?.failures ?? 0);
    for (const { cells, request } of loadsOf(level, sites)) {
      const cost = await measureCost(server, request, waiters, setting);
      failures += cost.failures;
      rows.costs.push(toRow([engine, level.name, ...cells, ...cost.cells]));
      console.log(rows.costs.at(-1));
    }
    return failures;
  } finally {
    await waiters.stop();
    await server.stop();
  }
}

/** Returns a level's loads: on both sites, or on one if nobody follows, since there's no difference then. The last one changes the followed site. */
function loadsOf({ waiters, webhooks }: Level, sites: FollowedSites) {
  const names = waiters + webhooks > 0 ? (["other", "followed"] as const) : (["other"] as const);
  return names.flatMap((site) => [
    { cells: ["look-ups", site], request: lookUp(site, sites) },
    { cells: ["creates", site], request: create(site, sites) },
  ]);
}

/** Returns a cell with the server's CPU time per second without requests, in milliseconds. */
export async function measureIdle(server: Measured, rounds: number): Promise<string> {
  const times: number[] = [];
  // A new server loads its documentation first.
  await Bun.sleep(1000);
  for (let i = 0; i < rounds; i++) {
    const before = server.cpu();
    await Bun.sleep(1000);
    times.push((server.cpu() - before) / 1000);
  }
  return toSpread(times, (time) => time.toFixed(0));
}

/**
 * Measures requests per second, and the CPU time of the server per request, with its work for long polls and webhooks. The load runs for a second before
 * the first period, and without a pause between the periods, because the first change after a pause reaches all clients at once.
 */
async function measureCost(server: Measured, request: Request, waiters: Waiters, { rounds, folder }: CostSetting) {
  const samples: { perSecond: number; p99: number; cpu: number }[] = [];
  let failed = 0;
  const { failures } = await waiters.during(async () => {
    await load(server.url, request, connections, 1, folder);
    for (let i = 0; i < rounds; i++) {
      const before = server.cpu();
      const { perSecond, p99, requests, errors } = await load(server.url, request, connections, seconds, folder);
      samples.push({ perSecond, p99, cpu: (server.cpu() - before) / (requests + connections) });
      failed += errors;
    }
  }, 0);
  const spread = (name: keyof (typeof samples)[number], digits: number) =>
    toSpread(
      samples.map((sample) => sample[name]),
      (value) => value.toFixed(digits),
    );
  return { failures: failures + failed, cells: [spread("perSecond", 0), spread("p99", 1), spread("cpu", 1)] };
}
