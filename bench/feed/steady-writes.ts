// Measures a site that is written to while many clients follow it with long polls. At a usual rate, it measures how far the clients are behind; without
// a pause between writes, the share of their speed that the writers keep.

import { load, type Request } from "../load.ts";
import type { Measured } from "../process.ts";
import { startStorefront } from "../site.ts";
import { median, total } from "../statistics.ts";
import { measureIdle } from "./costs.ts";
import { create, type FollowedSites, fillSites, sendCreate } from "./sites.ts";
import { startWaiters, type Waiters } from "./waiters.ts";
import { measureWakes } from "./wakes.ts";

interface SteadySetting {
  readonly newDatabase: () => Promise<string>;
  readonly followers: number;
  /** Number of periods of load on each server, in turns, and the seconds of a period. */
  readonly rounds: number;
  readonly seconds: number;
  readonly folder: string;
}

/** Number of connections that write at once. */
export const writers = 16;
/** The usual rate: writes per second, and for how many seconds. */
export const usual = { perSecond: 100, seconds: 4 };

interface Follower {
  readonly server: Measured;
  readonly waiters: Waiters;
  readonly request: Request;
  /** Creates per second of the server's CPU time, in each period. */
  readonly rates: number[];
  failures: number;
}

type SteadyWrites = Awaited<ReturnType<typeof measureSteadyWrites>>;

/** Measures with two servers: nobody follows the site of the first one. */
export async function measureSteadyWrites(setting: SteadySetting) {
  const [alone, followed] = [await start(setting, 0), await start(setting, setting.followers)];
  try {
    const idle = await measureIdle(followed.server, setting.rounds);
    const wakes = await measureWakes(followed.server, followed.request, followed.waiters);
    // A program that has just started compiles its functions first.
    await measureUsualRate(followed);
    const behind = await measureUsualRate(followed);
    for (let round = 0; round < setting.rounds; round++)
      for (const one of [alone, followed]) await loadOnce(one, setting);
    return {
      ...{ idle, wakes, behind },
      alone: alone.rates,
      kept: followed.rates.map((rate, round) => rate / (alone.rates[round] as number)),
      failures: alone.failures + followed.failures + (wakes?.failures ?? 0),
    };
  } finally {
    for (const { server, waiters } of [alone, followed]) {
      await waiters.stop();
      await server.stop();
    }
  }
}

async function start({ newDatabase }: SteadySetting, followers: number): Promise<Follower> {
  const sites: FollowedSites = await fillSites(await newDatabase(), 0, "http://127.0.0.1:1/");
  const server = await startStorefront(sites);
  const waiters = await startWaiters(server.url, "followed.test", followers, sites.keys.followed);
  return { server, waiters, request: create("followed", sites), rates: [], failures: 0 };
}

/** Measures one period. The load begins a second before, because the first change after a pause reaches all clients at once. */
async function loadOnce(one: Follower, { seconds, folder }: SteadySetting): Promise<void> {
  await load(one.server.url, one.request, writers, 1, folder);
  const before = one.server.cpu();
  const { failures } = await one.waiters.during(async () => {
    const { requests, errors } = await load(one.server.url, one.request, writers, seconds, folder);
    one.rates.push((requests / (one.server.cpu() - before)) * 1e6);
    one.failures += errors;
  }, 0);
  one.failures += failures;
}

/** Measures how old the last change of a page is when the page arrives, in milliseconds, and the CPU time of the server, in cores. */
async function measureUsualRate(one: Follower) {
  const { server, waiters, request } = one;
  const started = performance.now();
  const cpu = server.cpu();
  let cores = 0;
  const sent: Promise<number>[] = [];
  const { usual: behindMs, oldest } = await waiters.during(async () => {
    for (let i = 0; i < usual.perSecond * usual.seconds; i++) {
      await Bun.sleep(Math.max(0, started + (i * 1000) / usual.perSecond - performance.now()));
      sent.push(sendCreate(server, request, `usual ${i}`));
    }
    one.failures += total(await Promise.all(sent));
    cores = (server.cpu() - cpu) / 1000 / (performance.now() - started);
  }, 1500);
  return { behindMs, oldestMs: oldest, cores };
}

/** Returns the cells of the table of usual rates and of the table of writers. */
export function toCells({ behind, alone, kept }: SteadyWrites) {
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  return {
    usual: [`${Math.round(behind.behindMs)} ms`, `${Math.round(behind.oldestMs)} ms`, behind.cores.toFixed(2)],
    writers: [Math.round(median(alone)), percent(median(kept)), percent(Math.min(...kept))],
  };
}
