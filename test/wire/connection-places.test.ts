// Which connection makes way for a new one at the limit (src/wire/connection-places.ts). Tests control the listener's clock.

import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import type { Listener } from "../../src/wire/listen.ts";
import type { Incident, WireRequest } from "../../src/wire/request.ts";
import type { WireResponse } from "../../src/wire/response.ts";
import { openClient, toRequest, type WireClient } from "../support/wire/client.ts";
import { advanceClockAfterArrival, waitForArrival } from "../support/wire/clock.ts";
import { echo, startListener, text } from "../support/wire/listener.ts";

const limit = 6;
/** More than the kernel buffers of both sides plus the bytes that any of the tests reads. */
const large = Buffer.alloc(64 * 2 ** 20, "l");
let listener: Listener;
/** A listener without a limit. An exchange with it shows that earlier bytes have arrived. */
let other: Listener;
let incidents: Incident[];
let releases: (() => void)[];
/** Functions that respond to `/waiting`, in the order of the requests. `makeRoom` calls the first. */
let waiting: (() => void)[];
let clients: WireClient[];

function respond(request: WireRequest): WireResponse | Promise<WireResponse> {
  if (request.target === "/large") return { status: 200, headers: [], body: large };
  if (request.target === "/read-and-later") return echo(request).then((response) => respondLater(releases, response));
  if (request.target === "/later") return respondLater(releases, text("later"));
  if (request.target === "/waiting") return respondLater(waiting, text("waited"));
  return echo(request);
}

/** Returns a promise of `response`, and adds the function that fulfils the promise to `queue`. */
function respondLater(queue: (() => void)[], response: WireResponse): Promise<WireResponse> {
  return new Promise<void>((resolve) => queue.push(resolve)).then(() => response);
}

function makeRoom(): boolean {
  const next = waiting.shift();
  // Respond some ticks later, like a server that ends many requests.
  if (next) setImmediate(() => setImmediate(next));
  return next !== undefined;
}

beforeEach(() => {
  jest.useFakeTimers();
  [incidents, releases, waiting, clients] = [[], [], [], []];
  other = startListener(echo);
  const logIncident = (incident: Incident) => void incidents.push(incident);
  listener = startListener(respond, { connections: limit, idleTimeoutSeconds: 60 }, { logIncident, makeRoom });
});
afterEach(async () => {
  jest.useRealTimers();
  for (const { socket } of clients) socket.destroy();
  await Promise.all([listener.stop(0), other.stop(0)]);
});

const arrive = () => waitForArrival(other.port);
const advanceClock = (seconds: number) => advanceClockAfterArrival(other.port, seconds);

/** Opens `count` connections that send `bytes`, one after the other. Clients that request `/large` do not read. */
async function openAll(count: number, bytes = ""): Promise<WireClient[]> {
  const opened: WireClient[] = [];
  for (let index = 0; index < count; index++) {
    const client = await openClient(listener.port);
    if (bytes === get("/large")) client.socket.pause();
    if (bytes !== "") client.send(bytes);
    opened.push(client);
    await arrive();
  }
  clients.push(...opened);
  return opened;
}

/** Returns whether a new client gets a response. Its connection stays open. */
async function isServed(): Promise<boolean> {
  const [client] = await openAll(1, get("/new"));
  return (client as WireClient).responses(1).then(
    () => true,
    () => false,
  );
}

/** Lets the client read about `bytes`, and then waits a second. */
async function read({ socket }: WireClient, bytes: number): Promise<void> {
  let left = bytes;
  const count = (part: Buffer) => {
    left -= part.length;
    if (left <= 0) socket.pause();
  };
  socket.on("data", count);
  socket.resume();
  await advanceClock(1);
  socket.off("data", count);
  socket.pause();
}

/** Returns for each client whether its connection is open. */
async function areOpen(some: readonly WireClient[]): Promise<boolean[]> {
  await arrive();
  // A client that does not read notices the end only when it sends.
  for (const client of some) client.send("x");
  await arrive();
  return some.map(({ socket }) => !socket.readableEnded && !socket.destroyed);
}

const get = (target: string) => toRequest(`GET ${target} HTTP/1.1`);
const halfBody = toRequest("POST / HTTP/1.1", ["Content-Length: 99"], "half of a body");
const busy = get("/later");

describe("at the limit, a new connection pushes out", () => {
  test.each<[string, string]>([
    ["does not read its response", get("/large")],
    ["does not send all of its body", halfBody],
    ["does not send its body in chunks", toRequest("POST / HTTP/1.1", ["Transfer-Encoding: chunked"], "9\r\nhalf")],
    [
      "got 100 and does not send its body",
      toRequest("POST / HTTP/1.1", ["Content-Length: 99", "Expect: 100-continue"]),
    ],
  ])("a client that %s, after two seconds", async (_, bytes) => {
    await openAll(limit, bytes);
    expect(await isServed()).toBe(false);
    expect(incidents).toEqual(["connection rejected"]);
    await advanceClock(4);
    for (let count = 0; count < 3; count++) expect(await isServed()).toBe(true);
    expect(incidents.slice(1, 2)).toEqual(["slow connection ended"]);
    expect(listener.usage().connections).toBe(limit);
  });

  test("a client that doesn't read, even if the server was too busy to try another write", async () => {
    await openAll(limit, get("/large"));
    await advanceClock(1);
    // Advance the clock in one step, without a tick in between.
    jest.advanceTimersByTime(4000);
    expect(await isServed()).toBe(true);
    expect(incidents).toEqual(["slow connection ended"]);
  });

  test("the slowest reader, even if it has read much before", async () => {
    const [first, later] = (await openAll(2, get("/large"))) as [WireClient, WireClient];
    const others = await openAll(limit - 2, busy);
    await read(first, 9_000_000);
    for (let second = 0; second < 25; second++) await read(later, 200_000);
    expect(await isServed()).toBe(true);
    expect(incidents).toEqual(["slow connection ended"]);
    for (const release of releases) release();
    expect(await areOpen([first, later, ...others])).toEqual([false, true, true, true, true, true]);
  });

  test("the client that's slowest to send its body", async () => {
    const body = toRequest("POST / HTTP/1.1", ["Content-Length: 500000"], "a body");
    const all = await openAll(limit, body);
    for (let second = 0; second < 5; second++) {
      all.forEach((client, index) => {
        client.send("x".repeat(index === 3 ? 10 : 1000));
      });
      await advanceClock(1);
    }
    expect(await isServed()).toBe(true);
    expect(await areOpen(all)).toEqual([true, true, true, false, true, true]);
  });

  test("a waiting request, after its response, if no client is slow", async () => {
    const [first, second] = await openAll(2, get("/waiting"));
    await openAll(limit - 2, busy);
    await advanceClock(4);
    const [late] = (await openAll(1)) as [WireClient];
    expect(incidents).toEqual(["waiting request ended"]);
    const [response] = await (first as WireClient).responses(1);
    expect([response?.body, response?.headers.connection]).toEqual(["waited", "close"]);
    expect(listener.usage().connections).toBe(limit);
    late.send(get("/late"));
    expect((await late.responses(1))[0]?.body).toBe("GET /late ");
    expect(waiting.length).toBe(1);
    expect(await areOpen([second as WireClient])).toEqual([true]);
  });

  test("an idle client, before all others", async () => {
    const slow = await openAll(limit - 1, get("/large"));
    const [idle] = (await openAll(1, get("/used"))) as [WireClient];
    await idle.responses(1);
    await advanceClock(4);
    expect(await isServed()).toBe(true);
    expect(incidents).toEqual(["idle connection ended"]);
    expect(await areOpen([idle, ...slow])).toEqual([false, true, true, true, true, true]);
  });
});

describe("at the limit of connections", () => {
  test("requests in progress and new connections stay", async () => {
    const working = await openAll(2, toRequest("POST /read-and-later HTTP/1.1", ["Content-Length: 4"], "body"));
    const dropping = await openAll(1, toRequest("GET /later HTTP/1.1", ["Content-Length: 4"], "bo"));
    const slow = await openAll(limit - 4, get("/large"));
    await advanceClock(4);
    const [newborn] = await openAll(1);
    // Each of these connections is busy when the next connection arrives.
    for (let count = 0; count < slow.length; count++) await openAll(1, busy);
    expect(incidents).toEqual(slow.map(() => "slow connection ended"));
    expect(await isServed()).toBe(false);
    expect(incidents.at(-1)).toBe("connection rejected");
    for (const release of releases) release();
    expect(await areOpen([newborn as WireClient, ...working, ...dropping])).toEqual([true, true, true, true]);
    expect((await (working[0] as WireClient).responses(1))[0]?.body).toBe("POST /read-and-later body");
  });

  test("a connection without a request stays for two seconds", async () => {
    await openAll(limit - 2, toRequest("GET /later HTTP/1.1"));
    const [newborn] = (await openAll(1)) as [WireClient];
    await openAll(1, toRequest("GET /later HTTP/1.1"));
    await advanceClock(2);
    expect(await isServed()).toBe(false);
    expect(await areOpen([newborn])).toEqual([true]);
    await advanceClock(1);
    expect(await isServed()).toBe(true);
    expect(await areOpen([newborn])).toEqual([false]);
    for (const release of releases) release();
  });

  test("a client that opens many connections doesn't cost others their responses", async () => {
    const slow = await openAll(limit / 2, get("/large"));
    await advanceClock(4);
    await openAll(4 * limit);
    expect(new Set(incidents)).toEqual(new Set(["idle connection ended"]));
    expect(await areOpen(slow)).toEqual(slow.map(() => true));
  });
});
