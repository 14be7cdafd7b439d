// Gzipped bodies are decompressed while they arrive, and the limit applies to their decompressed size.

import { afterAll, describe, expect, test } from "bun:test";
import { deflateRawSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { ConnectionMemoryBudget, MemoryShare } from "../../src/wire/connection-memory.ts";
import { RequestBody } from "../../src/wire/request-body.ts";
import type { RequestError } from "../../src/wire/request-error.ts";
import { waitUntil } from "../support/time.ts";
import { cut, exchangeOnce, openClient, toChunks, toRequest } from "../support/wire/client.ts";
import { startListener, text } from "../support/wire/listener.ts";

const limit = 1024 * 1024;

/** The handler asks for the body at once, or for `/later` when `release` is called. */
let release: () => void = () => {};
const listener = startListener(async (request) => {
  if (request.target === "/later") await new Promise<void>((resolve) => (release = resolve));
  if (request.target === "/unread") return text("unread");
  try {
    const { view } = await request.readBody();
    return text(view.length > 1000 ? `${view.length} bytes` : Buffer.from(view).toString("latin1"));
  } catch (error) {
    const { reason, message } = error as RequestError;
    return text(`${reason}: ${message}`, 400);
  }
});
afterAll(() => listener.stop(0));

const gzip = (content: string | Uint8Array) => gzipSync(content).toString("latin1");
const next = toRequest("GET /next HTTP/1.1");
const coding = "Content-Encoding: gzip";
const ofLength = (body: string, target = "/x", line = coding) =>
  toRequest(`POST ${target} HTTP/1.1`, [line, `Content-Length: ${body.length}`], body);
const inChunks = (body: string, sizes: number[] = [], target = "/x") =>
  toRequest(`POST ${target} HTTP/1.1`, [coding, "Transfer-Encoding: chunked"]) + toChunks(body, sizes);
const bodiesOf = async (bytes: string | string[]) => (await exchangeOnce(listener.port, bytes)).map(({ body }) => body);

describe("a gzip body", () => {
  test("same in any pieces and chunks, and with several members", async () => {
    const contents = fc.array(fc.string({ unit: "binary-ascii", maxLength: 100 }), { minLength: 1, maxLength: 3 });
    const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 10 });
    const cuts = fc.array(fc.nat(), { maxLength: 8 });
    const property = fc.asyncProperty(contents, fc.boolean(), sizes, cuts, async (members, isChunked, sizes, cuts) => {
      const body = members.map(gzip).join("");
      const stream = isChunked ? inChunks(body, sizes) : ofLength(body);
      expect(await bodiesOf(cut(stream + next, cuts))).toEqual([members.join(""), ""]);
    });
    await fc.assert(property, { numRuns: 150 });
  });

  test.each(["gzip", "GZip", "x-gzip", "gzip, identity", ",gzip"])("is read with the coding %s", async (name) => {
    expect(await bodiesOf(ofLength(gzip("hello"), "/x", `Content-Encoding: ${name}`))).toEqual(["hello"]);
  });

  test.each(["identity", "utf-8", "", "br", "gzip, gzip"])("is read as it is with the coding %s", async (name) => {
    expect(await bodiesOf(ofLength("hello", "/x", `Content-Encoding: ${name}`))).toEqual(["hello"]);
  });

  test("no bytes at all", async () => {
    expect(await bodiesOf(ofLength("") + inChunks("") + next)).toEqual(["", "", ""]);
  });

  test("arrives before the handler asks, or is never read", async () => {
    const client = await openClient(listener.port);
    client.send(ofLength(gzip("hello"), "/later") + ofLength(gzip("x"), "/unread") + next);
    await exchangeOnce(listener.port, next);
    release();
    expect((await client.responses(3)).map(({ body }) => body)).toEqual(["hello", "unread", ""]);
    client.socket.destroy();
  });

  test("100 Continue", async () => {
    const body = gzip("hello");
    const client = await openClient(listener.port);
    const lines = [coding, `Content-Length: ${body.length}`, "Expect: 100-continue"];
    client.send(toRequest("POST /x HTTP/1.1", lines));
    await client.until((received) => received.includes("100 Continue\r\n\r\n"));
    client.send(body);
    expect((await client.responses(2)).map((response) => response.body)).toEqual(["", "hello"]);
    client.socket.destroy();
  });

  test.each([limit - 1, limit])("of %d bytes when decompressed is read", async (length) => {
    const random = Buffer.from(crypto.getRandomValues(new Uint8Array(length / 4)).buffer).toString("hex");
    const content = random.padEnd(length, "x");
    expect(await bodiesOf([ofLength(gzip(content)), inChunks(gzip(content), [1, 70_000]), next])).toEqual([
      `${length} bytes`,
      `${length} bytes`,
      "",
    ]);
  });

  const valid = gzip('{"Name":"x"}');
  const withBit = (at: number) => {
    const bytes = Buffer.from(valid, "latin1");
    bytes[bytes.length + at] = (bytes.at(at) as number) ^ 1;
    return bytes.toString("latin1");
  };

  test.each<[string, string, string]>([
    ["that is not compressed", '{"Name":"x"}', "isn't gzip, although Content-Encoding says so"],
    ["without the header of gzip", deflateRawSync("hello").toString("latin1"), "isn't gzip"],
    ["that ends in the header", valid.slice(0, 5), "is cut off"],
    ["that ends in the data", valid.slice(0, 15), "is cut off"],
    ["that ends in the checksum", valid.slice(0, -1), "is cut off"],
    ["that ends in the second member", valid + valid.slice(0, 1), "is cut off"],
    ["with a wrong checksum", withBit(-6), "is damaged (incorrect data check)"],
    ["with a wrong length", withBit(-2), "is damaged (incorrect length check)"],
    ["with an invalid block", `${valid.slice(0, 10)}\xff${valid.slice(11)}`, "is damaged"],
    ["and then other bytes", `${valid}xyz`, "other bytes follow"],
    ["and then zeros", `${valid}\0\0\0`, "other bytes follow"],
    ["and then zeros and another member", `${valid}\0${valid}`, "other bytes follow"],
  ])("%s: malformed however it arrives, and the next request is read", async (_, body, detail) => {
    for (const stream of [ofLength(body) + next, inChunks(body, [1, 2, 3, 5, 8]) + next]) {
      for (const pieces of [[stream], [...stream]]) {
        const [malformed, last] = await exchangeOnce(listener.port, pieces);
        expect([malformed?.status, malformed?.body.startsWith("malformed: "), last?.status]).toEqual([400, true, 200]);
        expect(malformed?.body).toContain(detail);
      }
    }
  });

  test("too large once decompressed: rejected as soon as that's known", async () => {
    const bomb = gzip(Buffer.alloc(100 * limit));
    const client = await openClient(listener.port);
    client.send(ofLength(bomb).slice(0, -bomb.length + 5000));
    const [early] = await client.responses(1);
    expect(early?.body).toBe(`body-too-large: the body has more than ${limit} bytes when decompressed`);
    client.send(bomb.slice(5000) + next);
    expect((await client.responses(2))[1]?.status).toBe(200);
    client.socket.destroy();
  });

  test("too large while compressed", async () => {
    const content = crypto.getRandomValues(Buffer.alloc(limit + 1, 0).subarray(0, 65536));
    const body = gzip(Buffer.concat(Array(17).fill(content)));
    const [response] = await exchangeOnce(listener.port, ofLength(body.padEnd(limit + 1, "x")) + next);
    expect(response?.body).toBe(`body-too-large: the body has more than ${limit} bytes`);
  });
});

test("gzip memory: counts the decoder until the body is complete", async () => {
  const budget = new ConnectionMemoryBudget(2 ** 30, () => {});
  const share = new MemoryShare(budget, () => {});
  const content = crypto.getRandomValues(Buffer.alloc(40_000));
  const stream = gzipSync(content, { level: 1 });
  const framing = {
    length: stream.length,
    isChunked: false,
    isGzip: true,
    awaitsContinue: false,
    keepsAlive: undefined,
  };
  let scheduled = 0;
  const owner = { sendContinue() {}, schedule: () => void scheduled++ };
  const whole = new RequestBody(framing, limit, share, owner, false);
  const discarded = new RequestBody(framing, limit, share, owner, false);
  for (const body of [whole, discarded]) {
    body.readWholeBody().catch(() => {});
    expect(body.receiveStep(stream, 0)).toBe(16 * 1024);
    expect([body.isPaused, body.receiveStep(stream, 16 * 1024)]).toEqual([true, 0]);
  }
  await waitUntil(() => scheduled === 2, "two steps");
  expect(budget.bytes).toBeGreaterThanOrEqual(2 * 64 * 1024);
  discarded.discard();
  whole.receive(stream, 16 * 1024, stream.length);
  expect(budget.bytes).toBe(0);
  expect(Buffer.from((await whole.readWholeBody()).view).equals(content)).toBe(true);
});
