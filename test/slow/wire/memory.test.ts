// The limit of the memory that the server uses for all clients together.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ConnectionMemoryBudget, MemoryShare } from "../../../src/wire/connection-memory.ts";
import type { Listener } from "../../../src/wire/listen.ts";
import type { Incident, WireRequest } from "../../../src/wire/request.ts";
import type { WireResponse } from "../../../src/wire/response.ts";
import { waitUntil } from "../../support/time.ts";
import { limitReceiving, openClient, toRequest, type WireClient } from "../../support/wire/client.ts";
import { echo, startListener } from "../../support/wire/listener.ts";

const large = 12 * 2 ** 20;
const shared = Buffer.alloc(large, "s");
/** Two versions of a list, which share their first part. Both are in two buffers. */
const lists = { older: [shared, Buffer.alloc(large, "o")], newer: [shared, Buffer.alloc(large, "n")] };
let listener: Listener;
let clients: WireClient[];
let incidents: Incident[];
let releases: (() => void)[];

/**
 * Responds to `/own` and `/longer` with new bytes, and to `/shared` and to the lists always with the same bytes. `/waiting` waits until a function in `releases` is called.
 * The body of `/unread` is not read.
 */
function respond(request: WireRequest): WireResponse | Promise<WireResponse> {
  if (request.target === "/own") return { status: 200, headers: [], body: Buffer.alloc(large, "o") };
  if (request.target === "/longer") return { status: 200, headers: [], body: Buffer.alloc(3 * large, "l") };
  if (request.target === "/unread") return { status: 200, headers: [], body: null };
  if (request.target === "/shared") return { status: 200, headers: [], body: shared };
  if (request.target === "/list/older") return { status: 200, headers: [], body: lists.older };
  if (request.target === "/list/newer") return { status: 200, headers: [], body: lists.newer };
  if (request.target !== "/waiting") return echo(request);
  return new Promise<void>((resolve) => releases.push(resolve)).then(() => echo(request));
}

function start(memory: number): void {
  const logIncident = (incident: Incident) => void incidents.push(incident);
  listener = startListener(respond, { memory }, { logIncident });
}

beforeEach(() => {
  clients = [];
  incidents = [];
  releases = [];
  // Memory for two and a half large responses.
  start(2.5 * large);
});
afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await listener.stop(0);
});

const get = (target: string) => toRequest(`GET ${target} HTTP/1.1`);

/** Opens a client that sends `bytes` and reads nothing. */
async function openSilent(bytes: string): Promise<WireClient> {
  const client = await openClient(listener.port);
  clients.push(client);
  client.socket.pause();
  client.send(bytes);
  await arrive();
  return client;
}

/** Waits until everything that was sent has arrived: an exchange on another connection ends after it. */
async function arrive(): Promise<void> {
  const other = await openClient(listener.port);
  for (let count = 1; count <= 2; count++) {
    other.send(get("/x"));
    await other.responses(count);
  }
  other.socket.destroy();
}

/** Lets the client read, and returns whether it gets its whole response. */
async function isWhole(client: WireClient): Promise<boolean> {
  client.socket.resume();
  return client.responses(1).then(
    () => true,
    () => false,
  );
}

const areWhole = async () => {
  const whole: boolean[] = [];
  for (const client of clients) whole.push(await isWhole(client));
  return whole;
};

describe("above the limit of memory", () => {
  test("the clients that have read nothing for the longest time are cut off", async () => {
    for (let count = 0; count < 4; count++) await openSilent(get("/own"));
    expect(incidents).toEqual(["connection cut off", "connection cut off"]);
    expect(await areWhole()).toEqual([false, false, true, true]);
  });

  test("a client that reads nothing is cut off before a client that reads slowly", async () => {
    await listener.stop(0);
    // Memory for the longer response and two and a half large responses.
    start(5.5 * large);
    const slow = await openSilent(get("/longer"));
    limitReceiving(slow);
    await openSilent(get("/own"));
    slow.socket.resume();
    // More than the kernel buffers of both sides, so that the connection has made progress.
    await slow.until((received) => received.length > large);
    slow.socket.pause();
    await arrive();
    for (let count = 0; count < 2; count++) await openSilent(get("/own"));
    expect(incidents).toEqual(["connection cut off"]);
    expect(await areWhole()).toEqual([true, false, true, true]);
  });

  test("a connection without progress is ended before a connection with progress", () => {
    const ended: string[] = [];
    const memory = new ConnectionMemoryBudget(25, () => {});
    const share = (name: string) => {
      const bytes = new Uint8Array(10);
      const made = new MemoryShare(memory, () => {
        ended.push(name);
        made.release(bytes);
      });
      made.retain(bytes);
      return made;
    };
    const first = share("first");
    share("second");
    first.markProgress();
    share("third");
    expect([ended, memory.bytes]).toEqual([["second"], 20]);
  });

  test("a buffer that several connections retain counts once, until the last connection releases it", () => {
    const memory = new ConnectionMemoryBudget(100, () => {});
    const bytes = new Uint8Array(10);
    const shares = Array.from({ length: 3 }, () => new MemoryShare(memory, () => {}));
    const counted: number[] = [];
    for (const share of shares) {
      share.retain(bytes);
      counted.push(memory.bytes);
    }
    for (const share of shares) {
      share.release(bytes);
      counted.push(memory.bytes);
    }
    expect(counted).toEqual([10, 10, 10, 10, 10, 0]);
  });

  test("a buffer that is sent to many clients counts once", async () => {
    for (let count = 0; count < 6; count++) await openSilent(get("/shared"));
    expect(incidents).toEqual([]);
    expect(await areWhole()).toEqual(new Array(6).fill(true));
  });

  test("lists that share buffers count each buffer once, until the last client of the buffer disconnects", async () => {
    await listener.stop(0);
    start(10 * large);
    const older = await openSilent(get("/list/older"));
    const same = await openSilent(get("/list/older"));
    expect(listener.usage().bytes).toBe(2 * large);
    const newer = await openSilent(get("/list/newer"));
    expect(listener.usage().bytes).toBe(3 * large);
    const counted: number[] = [];
    for (const { socket } of [older, same, newer]) {
      const open = listener.usage().connections;
      socket.resetAndDestroy();
      await waitUntil(() => listener.usage().connections < open, "the end of the connection");
      counted.push(listener.usage().bytes / large);
    }
    expect(counted).toEqual([3, 2, 0]);
  });

  test("pipelined requests that wait count, and a client with one request is served", async () => {
    await listener.stop(0);
    start(2 ** 20);
    const stream = get("/waiting") + get("/behind").repeat(20_000);
    for (let count = 0; count < 40; count++) await openSilent(stream);
    expect(incidents.length).toBeGreaterThan(0);
    const other = await openClient(listener.port);
    other.send(get("/other"));
    expect((await other.responses(1))[0]?.body).toBe("GET /other ");
    other.socket.destroy();
  });

  test("bodies that stall count", async () => {
    const body = toRequest("POST /x HTTP/1.1", ["Content-Length: 1000000"], "x".repeat(900_000));
    for (let count = 0; count < 40; count++) await openSilent(body);
    expect(incidents.length).toBeGreaterThan(0);
  });

  // The beginning is a part of the buffer in which it arrived, and keeps the whole buffer in memory.
  test.each<[string, string]>([
    ["header", "GET /x HT"],
    ["body", toRequest("POST /x HTTP/1.1", ["Content-Length: 100"], "x")],
  ])("the beginning of a %s that arrived with other bytes counts as the whole buffer", async (_, rest) => {
    await listener.stop(0);
    start(2 ** 20);
    const body = toRequest("POST /unread HTTP/1.1", ["Content-Length: 50000"], "x".repeat(50_000));
    for (let count = 0; count < 40; count++) await openSilent(body + rest);
    expect(incidents.length).toBeGreaterThan(0);
  });

  test("bodies that the handler does not read do not count", async () => {
    const body = toRequest("POST /unread HTTP/1.1", ["Content-Length: 1000000"], "x".repeat(900_000));
    for (let count = 0; count < 40; count++) await openSilent(body);
    expect(incidents).toEqual([]);
  });

  test("connections that are closed do not count", async () => {
    const streams = [
      get("/own"),
      get("/waiting") + get("/x").repeat(20_000),
      toRequest("POST /x HTTP/1.1", ["Content-Length: 99999"], "x".repeat(90_000)),
    ];
    for (let round = 0; round < 10; round++) {
      for (const stream of streams) (await openSilent(stream)).socket.resetAndDestroy();
      for (const release of releases.splice(0)) release();
      await arrive();
    }
    expect(incidents).toEqual([]);
    clients = [];
    for (let count = 0; count < 2; count++) await openSilent(get("/own"));
    expect(incidents).toEqual([]);
    expect(await areWhole()).toEqual([true, true]);
  });
});
