// Measures several servers under the same load, in rounds.

import { load, type Request } from "./load.ts";
import type { Measured } from "./process.ts";
import { type Figures, type Sample, toFigures } from "./report.ts";

export interface Setting {
  /** Number of measurements of each server. */
  readonly rounds: number;
  /** Duration of each measurement, in seconds. */
  readonly seconds: number;
  /**
   * Whether only errors matter, and not the figures. Then all servers get their load at the same time, without load before the first measurement and
   * without waits for idle servers.
   */
  readonly smoke: boolean;
  /** Folder for the files of the load tool. */
  readonly folder: string;
}

export interface Contender {
  readonly server: Measured;
  readonly request: Request;
}

/** Measures all servers, one after the other unless `smoke`, in each of `rounds` rounds. Returns the medians of each server. */
export async function measure(
  scenario: string,
  connections: number,
  contenders: readonly Contender[],
  setting: Setting,
): Promise<Figures[]> {
  const { rounds, smoke, folder } = setting;
  if (smoke) {
    const each = contenders.map(async (contender) => {
      const taken = await sample(contender, connections, setting);
      return toFigures(scenario, contender.server.name, [taken]);
    });
    return Promise.all(each);
  }
  const samples = new Map(contenders.map((contender) => [contender, [] as Sample[]]));
  for (const { server, request } of contenders) {
    await load(server.url, request, connections, 1, folder);
    await settle(server);
  }
  for (let round = 0; round < rounds; round++) {
    for (const [contender, taken] of samples) taken.push(await sample(contender, connections, setting));
  }
  return [...samples].map(([{ server }, taken]) => toFigures(scenario, server.name, taken));
}

async function sample(
  { server, request }: Contender,
  connections: number,
  { seconds, smoke, folder }: Setting,
): Promise<Sample> {
  const before = server.usage();
  const { requests, perSecond, p99, errors } = await load(server.url, request, connections, seconds, folder);
  if (!smoke) await settle(server);
  const after = server.usage();
  // Add one request per connection: when the load ends, each connection has a request that the server handles but the load tool does not count.
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
 * Waits until the server has used no CPU time for a quarter of a second, but at most a minute. A shorter pause may be a wait for the disk.
 */
export async function settle(server: Measured): Promise<void> {
  const deadline = performance.now() + 60_000;
  let [before, now] = [-1, server.cpu()];
  while (now !== before && performance.now() < deadline) {
    await Bun.sleep(250);
    [before, now] = [now, server.cpu()];
  }
}
