// Limits of the kernel's buffers for a client that does not read: of the requests that it sends, and of the responses.

import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Listener } from "../../src/wire/listen.ts";
import { waitUntilSettled } from "../support/time.ts";
import { openClient, toRequest, type WireClient } from "../support/wire/client.ts";
import { startListener } from "../support/wire/listener.ts";

/** Maximum bytes that a client can send before the server reads them. It is twice the requested buffer, because the kernel counts its own data too. */
const maxUnreadBytes = 2 * 64 * 1024;

let listener: Listener;
let client: WireClient;
afterEach(async () => {
  client.socket.destroy();
  await listener.stop(0);
});

/**
 * Returns the bytes of the connection that the kernel has accepted and the client has not received, and the bytes that the kernel has received and
 * the server has not read (proc(5), `tx_queue` and `rx_queue` of /proc/net/tcp).
 */
function queues(): { readonly unsent: number; readonly unread: number } {
  const hex = (port: number | undefined) => (port ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const ends = new RegExp(
    `:${hex(listener.port)} [0-9A-F]+:${hex(client.socket.localPort)} .. ([0-9A-F]+):([0-9A-F]+) `,
  );
  const [, unsent = "", unread = ""] = ends.exec(readFileSync("/proc/net/tcp", "utf8")) ?? [];
  return { unsent: Number.parseInt(unsent, 16), unread: Number.parseInt(unread, 16) };
}

test.if(process.platform === "linux")(
  "the kernel receives little of the requests that the server does not read",
  async () => {
    listener = startListener(() => new Promise(() => {}), { receiveBufferBytes: maxUnreadBytes / 2 });
    client = await openClient(listener.port);
    const requests = toRequest("GET /a HTTP/1.1").repeat(10_000);
    for (let sent = 0; sent < 40; sent++) client.socket.write(requests);
    // The kernel accepts no more bytes.
    const unread = await waitUntilSettled(() => queues().unread || undefined, "full buffers");
    expect(client.socket.writableLength).toBeGreaterThan(0);
    expect(unread).toBeLessThanOrEqual(maxUnreadBytes);
  },
);

test.if(process.platform === "linux")(
  "the kernel accepts little of a response that the client does not read",
  async () => {
    const body = Buffer.alloc(16 * 1024 * 1024, "b");
    const maxUnsentBytes = 256 * 1024;
    listener = startListener(() => ({ status: 200, headers: [], body }), { maxUnsentBytes });
    client = await openClient(listener.port);
    client.socket.pause();
    client.send(toRequest("GET /a HTTP/1.1"));
    // The kernel accepts no more bytes.
    const unsent = await waitUntilSettled(() => queues().unsent || undefined, "full buffers");
    // A write that begins below the limit may exceed it by a packet.
    expect(unsent).toBeLessThanOrEqual(maxUnsentBytes + 64 * 1024);
    client.socket.resume();
    expect((await client.responses(1))[0]?.body).toHaveLength(body.length);
  },
);
