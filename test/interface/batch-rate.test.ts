// Rate limit of batch requests (contract sections 9 and 14): one token admits the request, and every 100 operations then cost one more.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type BatchOperation, sendBatch, toDelete } from "../support/http/batch.ts";
import { startTestServer, type TestResponse, type TestServer } from "../support/http/server.ts";

describe("rate limit: a batch on a key with 10 requests per second", () => {
  let server: TestServer;
  let clock = Date.parse("2026-01-01T00:00:00Z");
  beforeAll(async () => {
    server = await startTestServer({ now: () => clock });
  });
  afterAll(() => server.stop());

  const operations = (count: number): BatchOperation[] => Array.from({ length: count }, () => toDelete(9999));
  const newKey = () => server.issueKey({ rate: 10 });
  const limitIn = ({ headers }: TestResponse) => headers.get("RateLimit");
  const lookUp = (key: string) => server.call("GET", "/restapi/brands.json", { key });

  test.each([
    [0, '"key";r=9;t=1'],
    [99, '"key";r=9;t=1'],
    [100, '"key";r=8;t=1'],
    [250, '"key";r=7;t=1'],
    [900, '"key";r=0;t=1'],
    [1000, '"key";r=0;t=2'],
    [10_000, '"key";r=0;t=11'],
  ])("costs its operations (%i)", async (count, limit) => {
    const response = await sendBatch(server, operations(count), { key: await newKey(), query: "atomic=0" });
    expect([response.status, limitIn(response)]).toEqual([200, limit]);
    expect(response.headers.get("RateLimit-Policy")).toBe('"key";q=10;w=1');
  });

  test("is also charged as a dry run, as a replay, and with errors (as far as it was read)", async () => {
    const key = await newKey();
    const headers = { "Idempotency-Key": "a" };
    const sent = { key, headers, query: "atomic=0" };
    expect(limitIn(await sendBatch(server, operations(100), sent))).toStartWith('"key";r=8;');
    const replayed = await sendBatch(server, operations(100), sent);
    expect([replayed.headers.has("Idempotency-Replayed"), limitIn(replayed)]).toEqual([true, '"key";r=6;t=1']);
    expect(limitIn(await sendBatch(server, operations(100), { key, query: "dryRun=1&atomic=0" }))).toBe(
      '"key";r=4;t=1',
    );
    const faulty = await sendBatch(server, operations(100), { key });
    expect([faulty.status, limitIn(faulty)]).toEqual([404, '"key";r=2;t=1']);
    const malformed = await sendBatch(server, [...operations(100), { Method: "x", Resource: "brands" }], { key });
    expect([malformed.status, limitIn(malformed)]).toEqual([400, '"key";r=0;t=1']);
  });

  test("leaves a debt: 429 with Retry-After until a token has refilled", async () => {
    const key = await newKey();
    await sendBatch(server, operations(5000), { key, query: "atomic=0" });
    // 51 tokens are spent, and a full bucket has 10.
    const rejected = await lookUp(key);
    expect([rejected.status, rejected.headers.get("Retry-After"), limitIn(rejected)]).toEqual([
      429,
      "5",
      '"key";r=0;t=6',
    ]);
    expect(rejected.json.detail).toBe(
      "this API key is limited to 10 requests per second, and batch operations count too",
    );
    clock += 4100;
    const sooner = await lookUp(key);
    expect([sooner.status, sooner.headers.get("Retry-After")]).toEqual([429, "1"]);
    clock += 100;
    const admitted = await lookUp(key);
    expect([admitted.status, limitIn(admitted)]).toEqual([200, '"key";r=0;t=1']);
    clock += 1000;
    expect(limitIn(await lookUp(key))).toBe('"key";r=9;t=1');
  });

  test("has no rate limit header if the key has no limit", async () => {
    const response = await sendBatch(server, operations(1000), { query: "atomic=0" });
    expect([response.status, limitIn(response)]).toEqual([200, null]);
  });
});
