// A stopping listener finishes requests in flight and waits for nothing else.

import { beforeEach, describe, expect, test } from "bun:test";
import { handshakeMs, type Listener } from "../../src/wire/listen.ts";
import type { WireRequest } from "../../src/wire/request.ts";
import type { WireResponse } from "../../src/wire/response.ts";
import { waitForNothing } from "../support/time.ts";
import { openClient, toRequest, type WireClient } from "../support/wire/client.ts";
import { echo, startListener, text } from "../support/wire/listener.ts";

const large = "l".repeat(12 * 2 ** 20);
let listener: Listener;
let releases: (() => void)[];

function respond(request: WireRequest): WireResponse | Promise<WireResponse> {
  if (request.target === "/large") return text(large);
  if (request.target !== "/waiting") return echo(request);
  return new Promise<void>((resolve) => releases.push(resolve)).then(() => echo(request));
}

beforeEach(() => {
  releases = [];
  listener = startListener(respond);
});

const get = (target: string) => toRequest(`GET ${target} HTTP/1.1`);

/** Opens a connection and completes one request on it. */
async function openUsed(): Promise<WireClient> {
  const client = await openClient(listener.port);
  client.send(get("/first"));
  await client.responses(1);
  return client;
}

/** Waits until everything that was sent has arrived: an exchange on another connection ends after it. */
const arrive = async () => (await openUsed()).socket.destroy();

describe("a stopping listener", () => {
  test("ends idle connections", async () => {
    const clients = [await openUsed(), await openClient(listener.port)];
    await listener.stop(60);
    for (const client of clients) expect((await client.ended()).isReset).toBe(false);
  });

  test("accepts no more connections", async () => {
    await listener.stop(60);
    await expect(openClient(listener.port)).rejects.toThrow();
  });

  test("responds to requests sent before it started to stop", async () => {
    const client = await openUsed();
    client.send(get("/sent"));
    const stopped = listener.stop(60);
    const { received } = await client.ended();
    expect(received).toContain("Connection: close");
    expect(received).toEndWith("GET /sent ");
    await stopped;
  });

  test("finishes the request in flight with Connection: close", async () => {
    const client = await openUsed();
    client.send(get("/waiting") + get("/behind"));
    await arrive();
    const stopped = listener.stop(60);
    releases.pop()?.();
    const { received } = await client.ended();
    expect(received).toEndWith("GET /waiting ");
    expect(received.match(/Connection: close/g)).toHaveLength(1);
    await stopped;
  });

  test("finishes a request whose body is still arriving", async () => {
    const client = await openUsed();
    client.send(toRequest("POST /x HTTP/1.1", ["Content-Length: 6"], "abc"));
    await arrive();
    const stopped = listener.stop(60);
    client.send("def");
    expect((await client.ended()).received).toEndWith("POST /x abcdef");
    await stopped;
  });

  test("finishes a large response to a late reader", async () => {
    const client = await openUsed();
    client.socket.pause();
    client.send(get("/large"));
    await arrive();
    const stopped = listener.stop(60);
    client.socket.resume();
    const { received, isReset } = await client.ended();
    expect({ isReset, length: received.length }).toEqual({
      isReset: false,
      length: received.indexOf("lll") + large.length,
    });
    await stopped;
  });

  test("lets the client read what the kernel has accepted", async () => {
    const client = await openUsed();
    client.socket.pause();
    client.send(toRequest("POST /x HTTP/1.1", ["Content-Length: 1000000"], "m".repeat(1_000_000)));
    await arrive();
    await listener.stop(60);
    client.socket.resume();
    const { received, isReset } = await client.ended();
    expect(isReset).toBe(false);
    expect(received).toEndWith("m".repeat(1_000_000));
  });

  test("accepts connections from the kernel's queue", async () => {
    let received = "";
    const ended = Promise.withResolvers<void>();
    const data = (_: unknown, part: Buffer) => {
      received += part.toString();
    };
    // The kernel connects at once, before the tick in which the listener could accept.
    const handlers = { data, end: () => ended.resolve(), close: () => ended.resolve() };
    const opening = Bun.connect({ hostname: "127.0.0.1", port: listener.port, socket: handlers });
    const stopped = listener.stop(60, 60);
    (await opening).write(get("/queued"));
    await ended.promise;
    expect(received).toEndWith("GET /queued ");
    await stopped;
  });

  test.if(process.platform === "linux")("leaves all new connections to its successor on the port", async () => {
    const own = startListener(() => text("predecessor"), { reusePort: true });
    const successor = startListener(() => text("successor"), { reusePort: true, port: own.port });
    const stopped = own.stop(60, 60);
    const served = Array.from({ length: 20 }, async () => {
      const client = await openClient(own.port);
      client.send(get("/"));
      const [response] = await client.responses(1);
      client.socket.destroy();
      return response?.body;
    });
    expect(await Promise.all(served)).toEqual(served.map(() => "successor"));
    await stopped;
    await successor.stop(0);
  });

  test("serves one more request per idle connection in the given time, and stops after the last", async () => {
    const clients = [await openUsed(), await openClient(listener.port)];
    const stopped = listener.stop(60, 60);
    await waitForNothing(handshakeMs);
    for (const client of clients) {
      client.send(get("/last") + get("/behind"));
      const { received, isReset } = await client.ended();
      expect(isReset).toBe(false);
      expect(received).toContain("Connection: close");
      expect(received).toEndWith("GET /last ");
    }
    await stopped;
  });

  test("ends idle connections when time is up", async () => {
    const client = await openUsed();
    await listener.stop(60, 0.2);
    expect((await client.ended()).isReset).toBe(false);
  });

  test("ends idle connections right away if stopped again without a time", async () => {
    const client = await openUsed();
    const first = listener.stop(60, 60);
    await listener.stop(60);
    expect((await client.ended()).isReset).toBe(false);
    await first;
  });

  test("waits no longer than the given time", async () => {
    const client = await openClient(listener.port);
    client.send(get("/waiting"));
    const late = await openClient(listener.port);
    late.socket.pause();
    late.send(get("/large"));
    await arrive();
    await listener.stop(0.1);
    await client.ended();
    late.socket.resume();
    await late.ended();
    expect(late.received.length).toBeLessThan(large.length);
  });
});
