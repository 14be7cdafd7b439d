// Measures several servers under the same load, in rounds.

import { load, type Request } from "./load.ts";
import type { Measured } from "./process.ts";
import { type Figures, type Sample, toFigures } from "./report.ts";

export interface Setting {
  /** How often each server is measured. */
  readonly rounds: number;
  /** Per measurement. */
  readonly seconds: number;
  /**
   * Whether only errors matter, not the figures. All servers then get their load at the same time, with no warm-up and without waiting for idle servers.
   */
  readonly smoke: boolean;
  /** For the load tool's files. */
  readonly folder: string;
}

export interface Contender {
  readonly server: Measured;
  readonly request: Request;
}

/** Measures all servers in `rounds` rounds, one at a time unless `smoke`. Returns each server's medians. */
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
  // When the load ends, each connection has one more request, which the server handles but the load tool doesn't count.
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
 * Waits up to a minute until the server has used no CPU time for a quarter of a second. In a shorter pause, it may be waiting for the disk.
 */
export async function settle(server: Measured): Promise<void> {
  const deadline = performance.now() + 60_000;
  let [before, now] = [-1, server.cpu()];
  while (now !== before && performance.now() < deadline) {
    await Bun.sleep(250);
    [before, now] = [now, server.cpu()];
  }
}
