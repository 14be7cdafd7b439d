// Handlers may allow longer bodies than the listener. Until one has decided, no more than the listener's limit is kept.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Listener } from "../../src/wire/listen.ts";
import type { WireRequest } from "../../src/wire/request.ts";
import type { RequestError } from "../../src/wire/request-error.ts";
import type { WireResponse } from "../../src/wire/response.ts";
import { waitUntil } from "../support/time.ts";
import { cut, exchangeOnce, openClient, toChunks, toRequest, type WireClient } from "../support/wire/client.ts";
import { echo, startListener, text } from "../support/wire/listener.ts";

/** The limits of the listener, and of the handler for `/long`. */
const limit = 1024 * 1024;
const longLimit = 3 * limit;

let listener: Listener;
let clients: WireClient[];
/** Functions that let the handler of `/later...` go on. */
let releases: (() => void)[];

/**
 * Responds to `/long` with the length of a body that may be long, to `/later/long` after a release, to `/unread` and `/later/unread` without the
 * body. Other bodies have the listener's limit.
 */
async function respond(request: WireRequest): Promise<WireResponse> {
  if (request.target.startsWith("/later")) await new Promise<void>((resolve) => releases.push(resolve));
  if (request.target.endsWith("/unread")) return text("unread");
  if (!request.target.endsWith("/long")) return echo(request);
  try {
    const { view } = await request.readBody(longLimit);
    return text(`${view.length} ${view.every((byte) => byte === 0x78)}`);
  } catch (error) {
    return text((error as RequestError).reason, 400);
  }
}

beforeEach(() => {
  clients = [];
  releases = [];
  listener = startListener(respond);
});
afterEach(async () => {
  for (const release of releases.splice(0)) release();
  for (const { socket } of clients) socket.destroy();
  await listener.stop(0);
});

async function open(bytes: string): Promise<WireClient> {
  const client = await openClient(listener.port);
  clients.push(client);
  client.send(bytes);
  return client;
}

const next = toRequest("GET /next HTTP/1.1");
const ofLength = (target: string, length: number, sent = length) =>
  toRequest(`POST ${target} HTTP/1.1`, [`Content-Length: ${length}`], "x".repeat(sent));
const inChunks = (target: string, length: number) =>
  toRequest(`POST ${target} HTTP/1.1`, ["Transfer-Encoding: chunked"]) + toChunks("x".repeat(length), [1, 70_000]);
const summary = (responses: readonly { status: number; body: string }[]) =>
  responses.map(({ status, body }) => `${status} ${body}`);

describe.each([
  ["of a length", ofLength],
  ["in chunks", inChunks],
])("a body %s", (_, send) => {
  test.each([
    limit,
    limit + 1,
    limit + 20_000,
    2 * limit + 77_777,
    longLimit,
  ])("%d bytes: read if the handler allows it, and then the next request", async (length) => {
    const client = await open(send("/long", length) + next);
    expect(summary(await client.responses(2))).toEqual([`200 ${length} true`, "200 GET /next "]);
  });

  test.each([
    limit + 1,
    limit + 20_000,
    longLimit,
  ])("%d bytes: waits for a handler that decides later", async (length) => {
    const client = await open(send("/later/long", length) + next);
    await waitUntil(() => releases.length === 1, "the handler");
    releases.pop()?.();
    expect(summary(await client.responses(2))).toEqual([`200 ${length} true`, "200 GET /next "]);
  });

  test.each(["/long", "/later/long"])("above the limit of the handler of %s is rejected", async (target) => {
    const client = await open(send(target, longLimit + 1) + next);
    if (target.startsWith("/later")) {
      await waitUntil(() => releases.length === 1, "the handler");
      releases.pop()?.();
    }
    expect(summary(await client.responses(2))).toEqual(["400 body-too-large", "200 GET /next "]);
  });

  test.each(["/x", "/later/x"])("above the limit of the listener is rejected for %s", async (target) => {
    const client = await open(send(target, limit + 1) + next);
    if (target.startsWith("/later")) {
      await waitUntil(() => releases.length === 1, "the handler");
      releases.pop()?.();
    }
    expect(summary(await client.responses(2))).toEqual(["400 body-too-large", "200 GET /next "]);
  });

  test("skipped if the handler doesn't read it, even if it responds later", async () => {
    const client = await open(send("/later/unread", longLimit) + next);
    await waitUntil(() => releases.length === 1, "the handler");
    releases.pop()?.();
    expect(summary(await client.responses(2))).toEqual(["200 unread", "200 GET /next "]);
  });

  test("nothing beyond the listener's limit is kept until the handler decides", async () => {
    const streams = Array.from({ length: 8 }, () => send("/later/long", longLimit));
    const opened = await Promise.all(streams.map(open));
    await waitUntil(() => releases.length === streams.length, "the handlers");
    for (let round = 0; round < 5; round++) await exchangeOnce(listener.port, next);
    // A chunked body may be in a buffer of twice its length, and the input keeps up to 576 KiB.
    expect(listener.usage().bytes).toBeLessThan(streams.length * 2 * limit);
    for (const release of releases.splice(0)) release();
    for (const client of opened) expect(summary(await client.responses(1))).toEqual([`200 ${longLimit} true`]);
    expect(listener.usage().bytes).toBe(0);
  });

  test("read to the end after the client closes its side", async () => {
    const client = await open(send("/later/long", limit + 30_000));
    client.socket.end();
    await waitUntil(() => releases.length === 1, "the handler");
    for (let round = 0; round < 5; round++) await exchangeOnce(listener.port, next);
    releases.pop()?.();
    expect(summary(await client.responses(1))).toEqual([`200 ${limit + 30_000} true`]);
  });

  test("fails without leaking memory if the client disconnects", async () => {
    const client = await open(send("/later/long", longLimit));
    await waitUntil(() => releases.length === 1, "the handler");
    client.socket.resetAndDestroy();
    releases.pop()?.();
    await waitUntil(() => listener.usage().connections === 0, "the end of the connection");
    expect(listener.usage().bytes).toBe(0);
  });
});

test("body limit: the handler's applies, for any length and pieces, whenever it decides", async () => {
  const limits = { x: 100, long: 300 };
  const small = startListener(
    async (request) => {
      const [, target = "", ticks = "0"] = request.target.split("/");
      for (let tick = 0; tick < Number(ticks); tick++) await new Promise((resolve) => setImmediate(resolve));
      if (target === "unread") return text("unread");
      return echo(request, target === "long" ? limits.long : undefined);
    },
    { maxBodyBytes: limits.x },
  );
  const property = fc.asyncProperty(
    fc.constantFrom<"x" | "long" | "unread">("x", "long", "unread"),
    fc.nat(12),
    fc.oneof(fc.nat(400), fc.constantFrom(99, 100, 101, 299, 300, 301)),
    fc.option(fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 10 }), { nil: undefined }),
    fc.array(fc.nat(), { maxLength: 6 }),
    async (target, ticks, length, sizes, cuts) => {
      const body = "y".repeat(length);
      const line = `POST /${target}/${ticks} HTTP/1.1`;
      const stream = sizes
        ? toRequest(line, ["Transfer-Encoding: chunked"]) + toChunks(body, sizes)
        : toRequest(line, [`Content-Length: ${length}`], body);
      const isAllowed = target === "unread" || length <= limits[target];
      const read = target === "unread" ? "200 unread" : `200 POST /${target}/${ticks} ${body}`;
      const responses = await exchangeOnce(small.port, cut(stream + next, cuts));
      expect(summary(responses)).toEqual([isAllowed ? read : "400 body-too-large", "200 GET /next "]);
    },
  );
  await fc.assert(property, { numRuns: 300 });
  expect(small.usage().bytes).toBe(0);
  await small.stop(0);
});

describe("a long body", () => {
  test("malformed if cut off, whether or not the handler has decided", async () => {
    for (const target of ["/long", "/later/long"]) {
      const client = await open(ofLength(target, longLimit, 2 * limit));
      client.socket.end();
      if (target.startsWith("/later")) {
        await waitUntil(() => releases.length === 1, "the handler");
        for (let round = 0; round < 5; round++) await exchangeOnce(listener.port, next);
        releases.pop()?.();
      }
      expect(summary(await client.responses(1))).toEqual(["400 malformed"]);
    }
  });

  test("Expect: 100-continue gets a 100 only if the handler allows the body", async () => {
    const expecting = (target: string) =>
      toRequest(`POST ${target} HTTP/1.1`, [`Content-Length: ${longLimit}`, "Expect: 100-continue"]);
    for (const target of ["/long", "/later/long"]) {
      const client = await open(expecting(target));
      if (target.startsWith("/later")) {
        await waitUntil(() => releases.length === 1, "the handler");
        expect(client.received).toBe("");
        releases.pop()?.();
      }
      await client.until((received) => received === "HTTP/1.1 100 Continue\r\n\r\n");
      client.send("x".repeat(longLimit));
      expect(summary(await client.responses(2))).toEqual(["100 ", `200 ${longLimit} true`]);
    }
    const rejected = await open(expecting("/x"));
    const { received } = await rejected.ended();
    expect(received).toStartWith("HTTP/1.1 400");
    expect(received).toEndWith("body-too-large");
  });

  test("takes no more memory than its Content-Length, complete or not", async () => {
    const client = await open(ofLength("/long", longLimit, longLimit - 1));
    await waitUntil(() => listener.usage().bytes > 0, "the first bytes");
    let most = 0;
    await waitUntil(() => {
      most = Math.max(most, listener.usage().bytes);
      return listener.usage().bytes === longLimit;
    }, "a buffer of the Content-Length");
    // While the last bytes are copied, the input still counts.
    expect(most).toBeLessThan(longLimit + 600 * 1024);
    client.send("x");
    expect(summary(await client.responses(1))).toEqual([`200 ${longLimit} true`]);
    expect(listener.usage().bytes).toBe(0);
  });
});
