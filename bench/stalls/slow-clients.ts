// Stalls caused by thousands of clients that read slowly, read nothing, send half of a body, or wait for a change. Each row includes a few seconds in which
// they connect, and the moment when they all leave at once.

import { readFileSync } from "node:fs";
import { connectionsWithin, descriptorLimit } from "../../src/wire/connection-places.ts";
import { type SlowKind, startSlowClients } from "../slow/clients.ts";
import { wakes } from "./following.ts";
import type { Stall } from "./scenarios.ts";
import type { Target } from "./target.ts";

/** As many as the server accepts, with room for the prober and the admin listener. */
const most = connectionsWithin(descriptorLimit()).byDefault - 100;
/** As many clients that don't read as fit before the kernel starts to save TCP memory. */
const mostUnread = Math.min(most, Math.floor(tcpPressureBytes() / 160_000));
/** At most half of the connections can be waiting. */
const mostWaiting = Math.min(Math.floor(most / 2), 9000);
/** After the last request. To let clients time out, it's longer than the idle timeout of 10 s. */
const [seconds, untilTimeoutSeconds] = [3, 12];

const list = "/restapi/brands.json";

export const slowClientStalls: readonly Stall[] = [
  {
    name: `${count(mostUnread)} clients request the list and read 4 KiB a second`,
    work: slowClients("slow", mostUnread),
  },
  { name: `${count(mostUnread)} clients request the list and read nothing`, work: slowClients("unread", mostUnread) },
  {
    name: `${count(mostUnread)} clients request a page of 1,000 and read nothing`,
    work: slowClients("unread", mostUnread, seconds, `${list}?limit=1000`),
  },
  {
    name: `${count(most)} clients send half of a body and time out`,
    work: slowClients("half", most, untilTimeoutSeconds),
  },
  { name: `feed: ${count(mostWaiting)} clients waiting, 5 changes`, work: (target) => wakes(target, mostWaiting) },
];

function slowClients(kind: SlowKind, clients: number, heldSeconds = seconds, path = list) {
  return async ({ url, keys }: Target) => {
    const key = keys.large as string;
    const slow = await startSlowClients({ url, host: "large.test", key, kind, count: clients, path });
    await Bun.sleep(heldSeconds * 1000);
    const { failures } = await slow.counts();
    await slow.stop();
    // On a busy machine, the first clients that don't read time out before the last ones have connected.
    if (failures > clients / 2) throw new Error(`${failures} of ${clients} connections failed`);
  };
}

function count(clients: number): string {
  return clients.toLocaleString("en");
}

/** Returns how many bytes sockets can use in total before the kernel saves memory (tcp(7), `tcp_mem`). */
function tcpPressureBytes(): number {
  const [, pressurePages] = readFileSync("/proc/sys/net/ipv4/tcp_mem", "utf8").split("\t");
  return Number(pressurePages) * 4096;
}
