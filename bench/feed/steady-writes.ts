// Measures a site that's written to while many clients follow it with long polls: how far the clients lag at a normal rate, and how much of their speed
// writers keep if they never pause.

import { load, type Request } from "../load.ts";
import type { Measured } from "../process.ts";
import { startStorefront } from "../site.ts";
import { median, toSpread, total } from "../statistics.ts";
import { measureIdle } from "./costs.ts";
import { create, fillSites, sendCreate } from "./sites.ts";
import { startWaiters, type Waiters } from "./waiters.ts";
import { measureWakes } from "./wakes.ts";

interface SteadySetting {
  readonly newDatabase: () => Promise<string>;
  readonly followers: number;
  /** Periods of load with followers, alternating with as many without. */
  readonly rounds: number;
  readonly seconds: number;
  readonly folder: string;
}

/** Connections that write at once. */
export const writers = 16;
/** A normal rate of writes, and how long it lasts. */
export const usual = { perSecond: 100, seconds: 4 };

interface Follower {
  readonly server: Measured;
  readonly waiters: Waiters;
  readonly request: Request;
  failures: number;
}

/** Creates per second, and per second of the server's CPU time, which includes its work for followers. */
interface WriteRate {
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

type SteadyWrites = Awaited<ReturnType<typeof measureSteadyWrites>>;

export async function measureSteadyWrites(setting: SteadySetting) {
  const { newDatabase, followers, rounds } = setting;
  const sites = await fillSites(await newDatabase(), 0, "http://127.0.0.1:1/");
  const server = await startStorefront(sites);
  const waiters = await startWaiters(server.url, "followed.test", followers, sites.keys.followed);
  const one: Follower = { server, waiters, request: create("followed", sites), failures: 0 };
  try {
    const idle = await measureIdle(server, rounds);
    const wakes = await measureWakes(server, one.request, waiters);
    // A new process compiles its functions first.
    await measureUsualRate(one);
    const behind = await measureUsualRate(one);
    const [alone, followed]: [WriteRate[], WriteRate[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      waiters.leave();
      alone.push(await loadOnce(one, setting));
      await waiters.comeBack();
      followed.push(await loadOnce(one, setting));
    }
    return { idle, wakes, behind, alone, followed, failures: one.failures + (wakes?.failures ?? 0) };
  } finally {
    await waiters.stop();
    await server.stop();
  }
}

/** Measures one period. The load starts a second earlier, because the first change after a pause reaches all clients at once. */
async function loadOnce(one: Follower, { seconds, folder }: SteadySetting): Promise<WriteRate> {
  const { server, waiters, request } = one;
  await load(server.url, request, writers, 1, folder);
  let rate: WriteRate | undefined;
  const { failures } = await waiters.during(async () => {
    const before = server.cpu();
    const { requests, perSecond, errors } = await load(server.url, request, writers, seconds, folder);
    rate = { perSecond, perCpuSecond: (requests / (server.cpu() - before)) * 1e6 };
    one.failures += errors;
  }, 0);
  one.failures += failures;
  return rate as WriteRate;
}

/** Measures how old a page's last change is when it arrives, in milliseconds, and the server's CPU time, in cores. */
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

/** Returns cells for the table with the normal rate and for the one with writers that never pause. */
export function toCells({ behind, alone, followed }: SteadyWrites) {
  const kept = (name: keyof WriteRate) =>
    toSpread(
      followed.map((rate, round) => rate[name] / (alone[round] as WriteRate)[name]),
      (share) => `${Math.round(share * 100)} %`,
    );
  return {
    usual: [`${Math.round(behind.behindMs)} ms`, `${Math.round(behind.oldestMs)} ms`, behind.cores.toFixed(2)],
    writers: [Math.round(median(alone.map((rate) => rate.perSecond))), kept("perSecond"), kept("perCpuSecond")],
  };
}
