// Measures a site that is written to without a pause while many clients follow it with long polls: how far the clients are behind at a usual rate,
// what writers without a pause keep, and how soon the clients are at the end when the writes stop.

import { load, type Request } from "../load.ts";
import { type Measured, startServer } from "../process.ts";
import { type FollowedSites, fillSites } from "./sites.ts";
import { startWaiters, type Waiters } from "./waiters.ts";

interface SteadySetting {
  /** The command that starts a server. */
  readonly command: readonly string[];
  readonly newDatabase: () => Promise<string>;
  /** Returns the request that the writers send. */
  readonly create: (sites: FollowedSites) => Request;
  readonly followers: number;
  /** Number of periods of load on each server, in turns. */
  readonly rounds: number;
  /** Seconds of a period. */
  readonly seconds: number;
  readonly folder: string;
}

export interface SteadyWrites {
  /** Creates per second of the server's CPU time: without followers, and with followers as a share of that. */
  readonly alone: number;
  readonly kept: number;
  /** After the end of the load: seconds until no client received a change any more, and the pages until then. */
  readonly catchUpSeconds: number;
  readonly catchUpPages: number;
  /** At 100 writes per second: the most that a page was behind, in milliseconds, and the CPU time of the server, in cores. */
  readonly behindMs: number;
  readonly cores: number;
  readonly failures: number;
}

/** Number of connections that write at once. */
const writers = 16;
/** The usual rate: writes per second, and for how many seconds. */
const usual = { perSecond: 100, seconds: 4 };

interface Follower {
  readonly server: Measured;
  readonly waiters: Waiters;
  readonly request: Request;
  requests: number;
  cpu: number;
  failures: number;
}

/** Measures with two servers: nobody follows the site of the first one. */
export async function measureSteadyWrites(setting: SteadySetting): Promise<SteadyWrites> {
  const [alone, followed] = [await start(setting, 0), await start(setting, setting.followers)];
  try {
    // A program that has just started compiles its functions first.
    await measureUsualRate(followed);
    const behind = await measureUsualRate(followed);
    for (let round = 0; round < setting.rounds; round++)
      for (const one of [alone, followed]) await loadOnce(one, setting);
    const perCpu = ({ requests, cpu }: Follower) => requests / (cpu / 1e6);
    const catchUp = await untilAtEnd(followed.waiters);
    return {
      alone: perCpu(alone),
      kept: perCpu(followed) / perCpu(alone),
      ...catchUp,
      ...behind,
      failures: alone.failures + followed.failures,
    };
  } finally {
    for (const { server, waiters } of [alone, followed]) {
      await waiters.stop();
      await server.stop();
    }
  }
}

async function start({ command, newDatabase, create }: SteadySetting, followers: number): Promise<Follower> {
  const sites = await fillSites(await newDatabase(), 0, "http://127.0.0.1:1/");
  const env = { STOREFRONT_DATABASE: sites.database, STOREFRONT_LOG: "warn" };
  const server = await startServer("storefront", command, env);
  const waiters = await startWaiters(server.url, "followed.test", followers, sites.keys.followed);
  const request = create(sites);
  return { server, waiters, request, requests: 0, cpu: 0, failures: 0 };
}

/** Measures one period. The load begins a second before, because the first change after a pause reaches all clients at once. */
async function loadOnce(one: Follower, { seconds, folder }: SteadySetting): Promise<void> {
  await load(one.server.url, one.request, writers, 1, folder);
  const before = one.server.cpu();
  const { failures } = await one.waiters.during(async () => {
    const { requests, errors } = await load(one.server.url, one.request, writers, seconds, folder);
    one.requests += requests;
    one.failures += errors;
  }, 0);
  one.cpu += one.server.cpu() - before;
  one.failures += failures;
}

/** Waits, at most two minutes, until no client has received a change for half a second. */
async function untilAtEnd(waiters: Waiters): Promise<Pick<SteadyWrites, "catchUpSeconds" | "catchUpPages">> {
  const started = performance.now();
  let catchUpPages = 0;
  let pages: number;
  do {
    ({ pages } = await waiters.during(() => Bun.sleep(500), 0));
    catchUpPages += pages;
  } while (pages > 0 && performance.now() - started < 120_000);
  return { catchUpSeconds: (performance.now() - started) / 1000, catchUpPages };
}

async function measureUsualRate({
  server,
  waiters,
  request: { method, path, headers, body = "" },
}: Follower): Promise<Pick<SteadyWrites, "behindMs" | "cores">> {
  const started = performance.now();
  const cpu = server.cpu();
  let cores = 0;
  const { behind } = await waiters.during(async () => {
    for (let i = 0; i < usual.perSecond * usual.seconds; i++) {
      await Bun.sleep(Math.max(0, started + (i * 1000) / usual.perSecond - performance.now()));
      const sent = fetch(server.url + path, { method, headers, body: body.replace("[<id>]", `usual ${i}`) });
      void sent.then((response) => response.arrayBuffer());
    }
    cores = (server.cpu() - cpu) / 1000 / (performance.now() - started);
  }, 3000);
  return { behindMs: behind, cores };
}
