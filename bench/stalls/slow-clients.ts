// Stalls by thousands of clients that are slow: that read slowly, read nothing, send half of a body, or wait for a change. Each row includes the time
// in which they connect, some seconds, and the end of all of them at once.

import { readFileSync } from "node:fs";
import { connectionsWithin, descriptorLimit } from "../../src/wire/connection-places.ts";
import { type SlowKind, startSlowClients } from "../slow/clients.ts";
import { wakes } from "./following.ts";
import type { Stall } from "./scenarios.ts";
import type { Target } from "./target.ts";

/** The most clients that the server accepts, with room for the prober and the admin listener. */
const most = connectionsWithin(descriptorLimit()).byDefault - 100;
/** Clients that do not read their responses: as many as fit below the mark at which the kernel begins to save memory for TCP. */
const mostUnread = Math.min(most, Math.floor(tcpPressureBytes() / 160_000));
/** At most half of the connections can wait. */
const mostWaiting = Math.min(Math.floor(most / 2), 9000);
/** Seconds after the last request; longer than the idle timeout of 10 s for clients that are to time out. */
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
    name: `${count(most)} clients send half of a body, and time out`,
    work: slowClients("half", most, untilTimeoutSeconds),
  },
  { name: `feed: ${count(mostWaiting)} clients wait, 5 changes`, work: (target) => wakes(target, mostWaiting) },
];

function slowClients(kind: SlowKind, clients: number, heldSeconds = seconds, path = list) {
  return async ({ url, keys }: Target) => {
    const key = keys.large as string;
    const slow = await startSlowClients({ url, host: "large.test", key, kind, count: clients, path });
    await Bun.sleep(heldSeconds * 1000);
    const { failures } = await slow.counts();
    await slow.stop();
    // On a busy machine, the first clients that do not read time out before the last ones have connected.
    if (failures > clients / 2) throw new Error(`${failures} of ${clients} connections failed`);
  };
}

function count(clients: number): string {
  return clients.toLocaleString("en");
}

/** Returns the bytes of all sockets above which the kernel saves memory (tcp(7), `tcp_mem`). */
function tcpPressureBytes(): number {
  const [, pressurePages] = readFileSync("/proc/sys/net/ipv4/tcp_mem", "utf8").split("\t");
  return Number(pressurePages) * 4096;
}
