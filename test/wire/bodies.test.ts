// Request bodies that are chunked, incomplete, unread, or wait for `100 Continue`.

import { heapStats } from "bun:jsc";
import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ConnectionMemoryBudget, MemoryShare } from "../../src/wire/connection-memory.ts";
import type { WireRequest } from "../../src/wire/request.ts";
import { RequestBody } from "../../src/wire/request-body.ts";
import type { WireResponse } from "../../src/wire/response.ts";
import { cut, exchangeOnce, openClient, toChunks, toRequest } from "../support/wire/client.ts";
import { echo, startListener, text } from "../support/wire/listener.ts";

/** Functions that respond to the requests for `/later`, in the order of the requests. */
const later: ((response: WireResponse) => void)[] = [];

function respond(request: WireRequest): WireResponse | Promise<WireResponse> {
  if (request.target === "/later") return new Promise((resolve) => later.push(resolve));
  if (request.target === "/unread") return text("unread");
  return echo(request);
}

const listener = startListener(respond);
afterAll(() => listener.stop(0));

const next = toRequest("GET /next HTTP/1.1");
const chunked = (target: string) => toRequest(`POST ${target} HTTP/1.1`, ["Transfer-Encoding: chunked"]);
const bodiesOf = async (bytes: string | string[]) => (await exchangeOnce(listener.port, bytes)).map(({ body }) => body);

describe("a chunked body", () => {
  test("same in any chunks and pieces", async () => {
    const bytes = fc.string({ unit: "binary-ascii", maxLength: 200 });
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 10 });
    const cuts = fc.array(fc.nat(), { maxLength: 12 });
    const property = fc.asyncProperty(bytes, sizes, cuts, async (body, sizes, cuts) => {
      const stream = chunked("/x") + toChunks(body, sizes) + next;
      expect(await bodiesOf(cut(stream, cuts))).toEqual([`POST /x ${body}`, "GET /next "]);
    });
    await fc.assert(property, { numRuns: 150 });
  });

  test("byte by byte", async () => {
    const stream = chunked("/x") + toChunks("hello world", [1, 2, 3], ";a=b", "T: railer\r\n") + next;
    expect(await bodiesOf([...stream])).toEqual(["POST /x hello world", "GET /next "]);
  });

  test("a million one-byte chunks take one buffer", async () => {
    const framing = { length: 0, isChunked: true, isGzip: false, awaitsContinue: false, keepsAlive: undefined };
    const share = new MemoryShare(new ConnectionMemoryBudget(2 ** 30, () => {}), () => {});
    const body = new RequestBody(framing, 2 ** 20, share, { sendContinue() {}, schedule() {} }, false);
    const stream = Buffer.from(`${"1\r\nx\r\n".repeat(2 ** 20)}0\r\n\r\n`);
    Bun.gc(true);
    const before = heapStats().objectCount;
    expect(body.receive(stream, 0, stream.length)).toBe(stream.length);
    Bun.gc(true);
    expect(heapStats().objectCount - before).toBeLessThan(10_000);
    expect((await body.readWholeBody()).length).toBe(2 ** 20);
  });

  test("later bytes don't continue a malformed one, even before a late response", async () => {
    const client = await openClient(listener.port);
    client.send(chunked("/later"));
    client.send("zz\r\n");
    await arrive();
    client.send(`0\r\n\r\n${toRequest("GET /smuggled HTTP/1.1")}`);
    await arrive();
    later.pop()?.(text("late"));
    client.socket.end();
    const { received } = await client.ended();
    expect(received).toContain("Connection: close");
    expect(received).not.toContain("smuggled");
    client.socket.destroy();
  });
});

/** Waits until everything that was sent has arrived: an exchange on another connection ends after it. */
async function arrive(): Promise<void> {
  for (let count = 0; count < 3; count++) await exchangeOnce(listener.port, next);
}

describe("an unread body", () => {
  test.each([
    ["of a length", toRequest("POST /unread HTTP/1.1", ["Content-Length: 200000"], "x".repeat(200_000))],
    ["in chunks", chunked("/unread") + toChunks("x".repeat(200_000), [1000, 50_000])],
    [
      "above the maximum length",
      toRequest("POST /unread HTTP/1.1", ["Content-Length: 2000000"], "x".repeat(2_000_000)),
    ],
  ])("%s is skipped", async (_, stream) => {
    expect(await bodiesOf(stream + next)).toEqual(["unread", "GET /next "]);
  });

  test("ends the connection after the response if malformed", async () => {
    const client = await openClient(listener.port);
    client.send(chunked("/unread"));
    await client.responses(1);
    client.send(`zz\r\n0\r\n\r\n${next}`);
    const { received } = await client.ended();
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
    client.socket.destroy();
  });
});

describe("Expect: 100-continue", () => {
  const expecting = (version: string, more: string[] = []) =>
    toRequest(`POST /x HTTP/${version}`, ["Content-Length: 5", "Expect: 100-Continue", ...more]);

  test("one 100, and the connection stays open", async () => {
    const client = await openClient(listener.port);
    client.send(expecting("1.1"));
    await client.until((received) => received === "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hello");
    await client.responses(2);
    client.send(next);
    expect((await client.responses(3)).map(({ status, body }) => `${status} ${body}`)).toEqual([
      "100 ",
      "200 POST /x hello",
      "200 GET /next ",
    ]);
    client.socket.destroy();
  });

  test("no 100 if the body came with the headers", async () => {
    expect(await bodiesOf(`${expecting("1.1")}hello${next}`)).toEqual(["POST /x hello", "GET /next "]);
  });

  test("no 100 in HTTP/1.0", async () => {
    const client = await openClient(listener.port);
    client.send(expecting("1.0"));
    await arrive();
    expect(client.received).toBe("");
    client.send("hello");
    expect((await client.responses(1)).map(({ body }) => body)).toEqual(["POST /x hello"]);
    client.socket.destroy();
  });

  test("no 100 for an unread body, and the connection ends, because a body or another request may follow", async () => {
    const client = await openClient(listener.port);
    client.send(toRequest("POST /unread HTTP/1.1", ["Content-Length: 5", "Expect: 100-continue"]));
    const { received } = await client.ended();
    expect(received).toStartWith("HTTP/1.1 200");
    expect(received).toContain("Connection: close");
    client.socket.destroy();
  });

  test("no 100 for a body that's too large", async () => {
    const client = await openClient(listener.port);
    client.send(toRequest("POST /x HTTP/1.1", ["Content-Length: 9999999", "Expect: 100-continue"]));
    const { received } = await client.ended();
    expect(received).toStartWith("HTTP/1.1 400");
    expect(received).toEndWith("body-too-large");
    client.socket.destroy();
  });
});

describe("a body that's cut off", () => {
  test.each([
    ["of a length", toRequest("POST /x HTTP/1.1", ["Content-Length: 5"], "hell")],
    ["in the middle of a chunk", `${chunked("/x")}5\r\nhell`],
    ["before the last chunk", `${chunked("/x")}5\r\nhello\r\n`],
    ["in the middle of the last chunk", `${chunked("/x")}5\r\nhello\r\n0\r\n`],
  ])("%s gets a 400 if the client still reads", async (_, stream) => {
    const responses = await exchangeOnce(listener.port, stream);
    expect(responses.map(({ status, body }) => `${status} ${body}`)).toEqual(["400 malformed"]);
  });
});
