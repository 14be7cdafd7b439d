// What a client can send ahead of the responses that it reads.

import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Listener } from "../../src/wire/listen.ts";
import { openClient, toRequest, type WireClient } from "../support/wire-client.ts";
import { startListener } from "../support/wire-listener.ts";

/** As many bytes as a client may have sent unread: twice what is asked of the system, which counts its own records too. */
const most = 2 * 64 * 1024;

let listener: Listener;
let client: WireClient;
afterEach(async () => {
  client.socket.destroy();
  await listener.stop(0);
});

/** Bytes that the system has received of the client and that were not read yet (proc(5), `rx_queue` of /proc/net/tcp). */
function unread(): number {
  const hex = (port: number | undefined) => (port ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const ends = new RegExp(`:${hex(listener.port)} [0-9A-F]+:${hex(client.socket.localPort)} .. [0-9A-F]+:([0-9A-F]+) `);
  return Number.parseInt(ends.exec(readFileSync("/proc/net/tcp", "utf8"))?.[1] ?? "", 16);
}

test.if(process.platform === "linux")("the system receives little of requests that are not read yet", async () => {
  listener = startListener(() => new Promise(() => {}), { receiveBuffer: most / 2 });
  client = await openClient(listener.port);
  const requests = toRequest("GET /a HTTP/1.1").repeat(10_000);
  for (let sent = 0; sent < 40; sent++) client.socket.write(requests);
  // Until it takes no more.
  let left: number;
  do {
    left = client.socket.writableLength;
    await Bun.sleep(100);
  } while (client.socket.writableLength < left);
  expect(left).toBeGreaterThan(0);
  expect(unread()).toBeGreaterThan(0);
  expect(unread()).toBeLessThanOrEqual(most);
});
