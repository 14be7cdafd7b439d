// What the system keeps for a client that does not read: requests that it sends all the same, and responses.

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

/**
 * Bytes of the connection that the system has accepted and the client's side has not received, and bytes that it has received and that were not
 * read yet (proc(5), `tx_queue` and `rx_queue` of /proc/net/tcp).
 */
function queues(): { readonly unsent: number; readonly unread: number } {
  const hex = (port: number | undefined) => (port ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const ends = new RegExp(
    `:${hex(listener.port)} [0-9A-F]+:${hex(client.socket.localPort)} .. ([0-9A-F]+):([0-9A-F]+) `,
  );
  const [, unsent = "", unread = ""] = ends.exec(readFileSync("/proc/net/tcp", "utf8")) ?? [];
  return { unsent: Number.parseInt(unsent, 16), unread: Number.parseInt(unread, 16) };
}

test.if(process.platform === "linux")("the system receives little of requests that are not read yet", async () => {
  listener = startListener(() => new Promise(() => {}), { receiveBufferBytes: most / 2 });
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
  expect(queues().unread).toBeGreaterThan(0);
  expect(queues().unread).toBeLessThanOrEqual(most);
});

test.if(process.platform === "linux")(
  "the system accepts little of a response that the client does not read",
  async () => {
    const body = Buffer.alloc(16 * 1024 * 1024, "b");
    const maxUnsentBytes = 256 * 1024;
    listener = startListener(() => ({ status: 200, headers: [], body }), { maxUnsentBytes });
    client = await openClient(listener.port);
    client.socket.pause();
    client.send(toRequest("GET /a HTTP/1.1"));
    // Until it takes no more.
    let before: number;
    let now = 0;
    do {
      before = now;
      await Bun.sleep(200);
      now = queues().unsent;
    } while (now === 0 || now > before);
    expect(now).toBeGreaterThan(0);
    // A write that begins below the bound may end above it, by a packet.
    expect(now).toBeLessThanOrEqual(maxUnsentBytes + 64 * 1024);
    client.socket.resume();
    expect((await client.responses(1))[0]?.body).toHaveLength(body.length);
  },
);
