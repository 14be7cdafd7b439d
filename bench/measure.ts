// Servers under load, in turn.

import { load, type Request } from "./load.ts";
import type { Measured } from "./process.ts";
import { type Figures, type Sample, toFigures } from "./report.ts";

export interface Setting {
  /** How often each is measured. */
  readonly rounds: number;
  /** For how long each time. */
  readonly seconds: number;
  /** Whether a load of a second comes first. */
  readonly warmUp: boolean;
  /** For the load tool's own files. */
  readonly folder: string;
}

export interface Contender {
  readonly server: Measured;
  readonly request: Request;
}

/** Each server in turn, `rounds` times; medians. */
export async function measure(
  scenario: string,
  connections: number,
  contenders: readonly Contender[],
  setting: Setting,
): Promise<Figures[]> {
  const { rounds, seconds, warmUp, folder } = setting;
  const samples = new Map(contenders.map((contender) => [contender, [] as Sample[]]));
  if (warmUp) {
    for (const { server, request } of contenders) {
      await load(server.url, request, connections, 1, folder);
      await settle(server);
    }
  }
  for (let round = 0; round < rounds; round++) {
    for (const [contender, taken] of samples) taken.push(await sample(contender, connections, seconds, folder));
  }
  return [...samples].map(([{ server }, taken]) => toFigures(scenario, server.name, taken));
}

async function sample(
  { server, request }: Contender,
  connections: number,
  seconds: number,
  folder: string,
): Promise<Sample> {
  const before = server.usage();
  const { requests, perSecond, p99, errors } = await load(server.url, request, connections, seconds, folder);
  await settle(server);
  const after = server.usage();
  // When the load ends, one request is under way on each connection: the server works on it, nobody counts it.
  const served = requests + connections;
  const user = (after.user - before.user) / served;
  const system = (after.system - before.system) / served;
  const isSlow = requests < connections;
  return {
    requests,
    perSecond,
    cpu: user + system,
    user,
    system,
    p99: isSlow ? Number.POSITIVE_INFINITY : p99,
    memory: server.memory(),
    errors,
  };
}

/**
 * Waits until the server is done with what was under way, for a minute at most: idle for a quarter of a second, because
 * one that waits for the disk is not done.
 */
async function settle(server: Measured): Promise<void> {
  const deadline = performance.now() + 60_000;
  let [before, now] = [-1, server.cpu()];
  while (now !== before && performance.now() < deadline) {
    await Bun.sleep(250);
    [before, now] = [now, server.cpu()];
  }
}
