// Many clients that connect, or time out, at the same time. Their requests are handled in many ticks, so that other clients are served between them.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Listener } from "../../../src/wire/listen.ts";
import type { WireResponse } from "../../../src/wire/response.ts";
import { openClient, toRequest, type WireClient } from "../../support/wire/client.ts";
import { echo, startListener, text } from "../../support/wire/listener.ts";

let listener: Listener;
let clients: WireClient[];
/** The current tick of the event loop, and the tick of each request whose handling took a millisecond. */
let tick: number;
let ticks: number[];
let isCounting: boolean;

beforeEach(() => {
  clients = [];
  tick = 0;
  ticks = [];
  isCounting = true;
  const count = () => {
    tick++;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
});
afterEach(async () => {
  isCounting = false;
  for (const { socket } of clients) socket.destroy();
  await listener.stop(0);
});

/** Takes a millisecond of the tick, longer than the kernel needs to free the buffers of a client that does not read. */
function work(): void {
  ticks.push(tick);
  for (const end = performance.now() + 1; performance.now() < end; );
}

/** Lets new clients send the same bytes at once. Returns the statuses of the responses. */
async function requestAtOnce(bytes: string, count = 30): Promise<(number | undefined)[]> {
  clients = await Promise.all(Array.from({ length: count }, () => openClient(listener.port)));
  for (const client of clients) client.send(bytes);
  const responses = await Promise.all(clients.map((client) => client.responses(1)));
  return responses.map(([response]) => response?.status);
}

const respondToFailure = () => {
  work();
  return text("timeout", 408);
};

test("header sections that time out at once are answered in many ticks", async () => {
  listener = startListener(echo, { idleTimeoutSeconds: 1 }, { respondToFailure });
  expect(await requestAtOnce("GET /")).toEqual(Array(30).fill(408));
  expect(new Set(ticks).size).toBeGreaterThan(10);
});

test("bodies that time out at once are answered in several ticks, although the handler responds after the steps", async () => {
  const respond = (request: Parameters<typeof echo>[0]) => request.readBody().then(() => text(""), respondToFailure);
  listener = startListener(respond, { idleTimeoutSeconds: 1 });
  const request = toRequest("POST /x HTTP/1.1", ["Content-Length: 10"], "half");
  expect(await requestAtOnce(request)).toEqual(Array(30).fill(408));
  expect(new Set(ticks).size).toBeGreaterThan(2);
});

test("responses that many new clients have waited for are sent in many ticks, and that of a client that is known at once", async () => {
  const workBefore: number[] = [];
  let waiting = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  listener = startListener(async ({ target }): Promise<WireResponse> => {
    if (target === "/first") return text("");
    if (++waiting === 301) resolve();
    await promise;
    return {
      status: 200,
      headers: [],
      get body() {
        if (target === "/known") workBefore.push(ticks.length);
        else work();
        return "x";
      },
    };
  });
  const known = await openClient(listener.port);
  known.send(toRequest("GET /first HTTP/1.1"));
  await known.responses(1);
  const statuses = requestAtOnce(toRequest("GET /x HTTP/1.1"), 300);
  while (waiting < 300) await new Promise(setImmediate);
  known.send(toRequest("GET /known HTTP/1.1"));
  await known.responses(2);
  known.socket.destroy();
  expect(await statuses).toEqual(Array(300).fill(200));
  expect(new Set(ticks).size).toBeGreaterThan(10);
  expect(workBefore[0]).toBeLessThan(30);
});

test("the first requests of many clients are handled in many ticks, and those of a client that is known at once", async () => {
  listener = startListener(({ target }) => {
    if (target !== "/known") work();
    return text(`${target} after ${ticks.length}`);
  });
  const known = await openClient(listener.port);
  known.send(toRequest("GET /known HTTP/1.1"));
  await known.responses(1);
  const statuses = requestAtOnce(toRequest("GET /new HTTP/1.1"));
  while (ticks.length === 0) await new Promise(setImmediate);
  known.send(toRequest("GET /known HTTP/1.1"));
  const [, second] = await known.responses(2);
  known.socket.destroy();
  expect(await statuses).toEqual(Array(30).fill(200));
  expect(new Set(ticks).size).toBeGreaterThan(10);
  expect(Number(second?.body.split(" ").at(-1))).toBeLessThan(25);
});
