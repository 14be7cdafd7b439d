// Measures the CPU time of a list right after a write, and of a list without a write before it, on one connection.

import type { Measured } from "../process.ts";

/** CPU time of the server per list, in microseconds. */
export interface AfterWrite {
  /** Without a write before the list. */
  readonly kept: number;
  /** Right after a write. */
  readonly afterWrite: number;
}

export async function measureAfterWrite(server: Measured, key: string, rounds: number): Promise<AfterWrite> {
  const headers = { "X-API-AUTH": key, "Accept-Encoding": "identity" };
  const list = async () => void (await (await fetch(`${server.url}/restapi/brands.json`, { headers })).arrayBuffer());
  const write = async (i: number) => {
    const body = JSON.stringify({ ID: 1 + (i % 1000), Name: `Changed ${i}` });
    await (await fetch(`${server.url}/restapi/brands.json`, { method: "PUT", headers, body })).arrayBuffer();
  };
  const cpuOf = async (work: (i: number) => Promise<void>) => {
    const before = server.cpu();
    for (let i = 0; i < rounds; i++) await work(i);
    return (server.cpu() - before) / rounds;
  };
  await list();
  const kept = await cpuOf(list);
  const writes = await cpuOf(write);
  const both = await cpuOf(async (i) => {
    await write(rounds + i);
    await list();
  });
  return { kept, afterWrite: both - writes };
}
