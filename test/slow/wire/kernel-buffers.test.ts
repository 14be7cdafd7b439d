// Limits of the kernel's buffers for a client that does not read: of the requests that it sends, and of the responses.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Listener } from "../../../src/wire/listen.ts";
import { waitUntil, waitUntilSettled } from "../../support/time.ts";
import { limitReceiving, openClient, toRequest, type WireClient } from "../../support/wire/client.ts";
import { startListener } from "../../support/wire/listener.ts";

/** Maximum bytes that a client can send before the server reads them. It is twice the requested buffer, because the kernel counts its own data too. */
const maxUnreadBytes = 2 * 64 * 1024;

const [smaller, small, large] = [16 * 1024, 128 * 1024, 1024 * 1024];
/** Connections above which new ones have the smaller limit. */
const many = 6;
/** A write that begins below a limit may exceed it by a packet. */
const packetBytes = 64 * 1024;
const body = Buffer.alloc(16 * 1024 * 1024, "b");

let listener: Listener;
let clients: WireClient[];
beforeEach(() => {
  clients = [];
});
afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await listener.stop(0);
});

async function open(): Promise<WireClient> {
  const client = await openClient(listener.port);
  clients.push(client);
  return client;
}

/**
 * Returns the bytes of the connection that the kernel has accepted and the client has not received, and the bytes that the kernel has received and
 * the server has not read (proc(5), `tx_queue` and `rx_queue` of /proc/net/tcp).
 */
function queues(client: WireClient): { readonly unsent: number; readonly unread: number } {
  const hex = (port: number | undefined) => (port ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const ends = new RegExp(
    `:${hex(listener.port)} [0-9A-F]+:${hex(client.socket.localPort)} .. ([0-9A-F]+):([0-9A-F]+) `,
  );
  const [, unsent = "", unread = ""] = ends.exec(readFileSync("/proc/net/tcp", "utf8")) ?? [];
  return { unsent: Number.parseInt(unsent, 16), unread: Number.parseInt(unread, 16) };
}

/** Returns the unsent bytes of a client that does not read, when the kernel accepts no more. */
const unsentBytes = (client: WireClient) => waitUntilSettled(() => queues(client).unsent || undefined, "full buffers");

function startWithLimits(places: number): void {
  const unsentLimits = { small, smaller, many, large, places };
  listener = startListener(() => ({ status: 200, headers: [], body }), { unsentLimits });
}

/** Opens a client that requests the body, reads about a quarter of it, and stops reading. */
async function openStopping(): Promise<WireClient> {
  const client = await open();
  limitReceiving(client);
  let received = 0;
  const stop = (part: Buffer) => {
    received += part.length;
    if (received > body.length / 4) client.socket.off("data", stop).pause();
  };
  client.socket.on("data", stop);
  client.send(toRequest("GET /a HTTP/1.1"));
  await waitUntil(() => client.socket.isPaused(), "a quarter of the body");
  return client;
}

/** Lets a client read on. Returns the length of the body that it receives. */
async function readOn(client: WireClient): Promise<number | undefined> {
  client.socket.resume();
  return (await client.responses(1))[0]?.body.length;
}

test.if(process.platform === "linux")(
  "the kernel receives little of the requests that the server does not read",
  async () => {
    listener = startListener(() => new Promise(() => {}), { receiveBufferBytes: maxUnreadBytes / 2 });
    const client = await open();
    const requests = toRequest("GET /a HTTP/1.1").repeat(10_000);
    for (let sent = 0; sent < 40; sent++) client.socket.write(requests);
    // The kernel accepts no more bytes.
    const unread = await waitUntilSettled(() => queues(client).unread || undefined, "full buffers");
    expect(client.socket.writableLength).toBeGreaterThan(0);
    expect(unread).toBeLessThanOrEqual(maxUnreadBytes);
  },
);

describe.if(process.platform === "linux")("of a response, the kernel accepts", () => {
  test("little if the client does not read, and the client gets all of it later", async () => {
    startWithLimits(8);
    const client = await open();
    client.socket.pause();
    client.send(toRequest("GET /a HTTP/1.1"));
    expect(await unsentBytes(client)).toBeLessThanOrEqual(small + packetBytes);
    expect(await readOn(client)).toBe(body.length);
  });

  test("less if there are many connections, and the client gets all of it later", async () => {
    startWithLimits(8);
    for (let count = 0; count < many; count++) await open();
    const client = await open();
    client.socket.pause();
    client.send(toRequest("GET /a HTTP/1.1"));
    expect(await unsentBytes(client)).toBeLessThanOrEqual(smaller + packetBytes);
    expect(await readOn(client)).toBe(body.length);
  });

  test("more if the client has read, and the client gets all of it later", async () => {
    startWithLimits(8);
    const client = await openStopping();
    const unsent = await unsentBytes(client);
    expect(unsent).toBeGreaterThan(3 * small);
    expect(unsent).toBeLessThanOrEqual(large + packetBytes);
    expect(await readOn(client)).toBe(body.length);
  });

  test("more for as many clients as there are places, and little for others", async () => {
    startWithLimits(2);
    const unsent: number[] = [];
    for (let count = 0; count < 5; count++) unsent.push(await unsentBytes(await openStopping()));
    expect(unsent.filter((bytes) => bytes > small + packetBytes)).toHaveLength(2);
    for (const client of clients) expect(await readOn(client)).toBe(body.length);
  });

  test("more as soon as another client has read everything", async () => {
    startWithLimits(1);
    const first = await openStopping();
    expect(await unsentBytes(first)).toBeGreaterThan(3 * small);
    await readOn(first);
    expect(await unsentBytes(await openStopping())).toBeGreaterThan(3 * small);
  });

  test("more as soon as another client has disconnected", async () => {
    startWithLimits(1);
    const first = await openStopping();
    expect(await unsentBytes(first)).toBeGreaterThan(3 * small);
    first.socket.resetAndDestroy();
    await waitUntil(() => listener.usage().connections === 0, "the end of the connection");
    expect(await unsentBytes(await openStopping())).toBeGreaterThan(3 * small);
  });
});
