// The client and its key's rate limit: calls wait in order, and no longer than the caller allows.

import { afterAll, expect, test } from "bun:test";
import {
  type ClientOptions,
  createClient,
  type ResponseInfo,
  type RetryInfo,
  type StorefrontClient,
  type StorefrontFailure,
} from "../../src/client/client.ts";
import { startTestServer } from "../support/http/server.ts";
import { ticks, waitUntil } from "../support/time.ts";

const server = await startTestServer();
afterAll(() => server.stop());

interface SentRequest {
  /** The name in a create's body, or the path of any other request. */
  readonly name: string;
  respond(headers?: Record<string, string>, status?: number): void;
}

/** A client whose requests wait until the test responds to them. */
function openManualClient(options: Partial<ClientOptions> = {}) {
  const sent: SentRequest[] = [];
  const fetch = (url: string, { body }: RequestInit) =>
    new Promise<Response>((resolve) => {
      const name = body ? JSON.parse(String(body)).Name : url.replace(/.*restapi/, "");
      const content = url.includes("changes.json") ? { Changes: [], Next: "a.1", More: false } : { ID: 1, Name: name };
      sent.push({
        name,
        respond: (headers = {}, status = 200) => resolve(Response.json(content, { status, headers })),
      });
    });
  const client = createClient({ url: "http://shop.example", key: "k", retries: 0, fetch, ...options });
  /** Creates a record. The response has these header fields. */
  const createOne = async (Name: string, headers?: Record<string, string>) => {
    const [index, created] = [sent.length, client.brands.create({ Name })];
    await waitUntil(() => sent.length > index, `the request for ${Name}`);
    sent[index]?.respond(headers);
    await created;
  };
  return { client, sent, createOne, names: () => sent.map(({ name }) => name) };
}

const limited = (remaining: number, limit = 1, window = 60) => ({
  "RateLimit-Policy": `"key";q=${limit};w=${window}`,
  RateLimit: `"key";r=${remaining};t=1`,
});
const namesUpTo = (count: number) => Array.from({ length: count }, (_, index) => String(index + 1));
/** Creates records with these names, all at once. */
const createAll = (client: StorefrontClient, names: readonly string[]) =>
  names.map((Name) => client.brands.create({ Name }));

const thrownBy = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as StorefrontFailure,
  );

test("60 creates at once on a key with 40 per second succeed, in the order of the calls", async () => {
  const sent: string[] = [];
  const client = createClient({
    url: server.url,
    key: await server.issueKey({ rate: 40 }),
    retries: 0,
    fetch: (url, init) => {
      sent.push(JSON.parse(String(init.body)).Name);
      return fetch(url, init);
    },
  });
  const started = performance.now();
  await Promise.all(createAll(client, namesUpTo(60)));
  // 40 tokens are available, and 20 more take half a second.
  expect(performance.now() - started).toBeGreaterThan(480);
  expect([...new Set(sent)]).toEqual(namesUpTo(60));
});

test("two programs using the same key at once both succeed", async () => {
  const key = await server.issueKey({ rate: 100 });
  const clients = [1, 2].map(() => createClient({ url: server.url, key, retries: 0 }));
  await Promise.all(clients.flatMap((client) => createAll(client, namesUpTo(100))));
  expect((await clients[0]?.brands.list({ filter: { Name: "100" } }))?.total).toBe(2);
});

test("without a limit, no call waits after the first response", async () => {
  const { client, sent } = openManualClient();
  const calls = createAll(client, namesUpTo(60));
  await ticks(3);
  expect(sent).toHaveLength(4);
  sent[0]?.respond();
  await waitUntil(() => sent.length === 60, "the other requests");
  for (const { respond } of sent) respond();
  await Promise.all(calls);
});

test("calls obey the last response's limit, and a waiting call ends with its signal", async () => {
  const { client, createOne, names } = openManualClient();
  await createOne("first");
  await createOne("second", limited(0));
  const aborted = new AbortController();
  const waiting = [client.brands.create({ Name: "third" }), client.brands.list({}, { signal: aborted.signal })];
  await ticks(3);
  aborted.abort(new Error("the user left"));
  await expect(waiting[1]).rejects.toThrow("the user left");
  expect(names()).toEqual(["first", "second"]);
});

test("a call that would wait longer than maxRateLimitWait fails at once, unsent", async () => {
  const { client, createOne, names } = openManualClient({ maxRateLimitWait: 59_000 });
  await createOne("first", limited(0));
  const failure = await thrownBy(client.brands.create({ Name: "second" }));
  expect(failure).toMatchObject({ name: "StorefrontFailure", reason: "rate-limit", cause: undefined });
  expect(failure?.message).toContain("59000 ms");
  expect(names()).toEqual(["first"]);
});

test("a call fails after maxRateLimitWait if the limit is still unknown", async () => {
  const { client, sent } = openManualClient({ maxRateLimitWait: 20 });
  const calls = createAll(client, namesUpTo(5));
  expect(await thrownBy(calls[4] as Promise<unknown>)).toMatchObject({ reason: "rate-limit" });
  expect(sent).toHaveLength(4);
});

test("rejected calls are sent again before later ones, even if they can't otherwise be retried", async () => {
  const retries: RetryInfo[] = [];
  const { client, sent, names } = openManualClient({ onRetry: (info) => void retries.push(info) });
  const calls = createAll(client, namesUpTo(6));
  await ticks(3);
  for (const { respond } of sent.toReversed()) respond({ ...limited(0, 100, 1), "Retry-After": "0" }, 429);
  await waitUntil(() => sent.length === 10, "the requests after the pause");
  expect(names()).toEqual(["1", "2", "3", "4", "1", "2", "3", "4", "5", "6"]);
  for (const { respond } of sent.slice(4)) respond(limited(50, 100, 1));
  await Promise.all(calls);
  expect(retries.map(({ attempt, error }) => [attempt, error.name])).toEqual(
    Array.from({ length: 4 }, () => [1, "StorefrontProblem"]),
  );
  for (const { wait } of retries) expect(wait).toBeGreaterThan(0);
});

test("a rejection asking to wait longer than maxRetryAfter is thrown", async () => {
  const { client, sent } = openManualClient();
  const call = thrownBy(client.brands.create({ Name: "first" }));
  await ticks(3);
  sent[0]?.respond({ ...limited(0), "Retry-After": "61" }, 429);
  expect(await call).toMatchObject({ status: 429 });
});

test("with maxRateLimitWait 0, requests are sent at once and rejections thrown", async () => {
  const { client, sent } = openManualClient({ maxRateLimitWait: 0 });
  const calls = createAll(client, namesUpTo(10)).map(thrownBy);
  await ticks(3);
  expect(sent).toHaveLength(10);
  for (const { respond } of sent) respond({ ...limited(0), "Retry-After": "0" }, 429);
  expect((await Promise.all(calls)).map((error) => (error as { status?: number })?.status)).toEqual(
    Array.from({ length: 10 }, () => 429),
  );
});

test("after a batch with more operations than the key has tokens, calls wait out the debt", async () => {
  // The bucket of 10 tokens fills in 1 s and is 20 s short, so the next token comes after 19.1 s.
  const debt = { "RateLimit-Policy": '"key";q=10;w=1', RateLimit: '"key";r=0;t=20' };
  const openWithDebt = async (maxRateLimitWait: number) => {
    const opened = openManualClient({ maxRateLimitWait });
    await opened.createOne("first", debt);
    return opened;
  };
  const impatient = await openWithDebt(19_000);
  expect(await thrownBy(impatient.client.brands.create({ Name: "second" }))).toMatchObject({ reason: "rate-limit" });
  const { client, names } = await openWithDebt(19_500);
  const aborted = new AbortController();
  const waiting = client.brands.list({}, { signal: aborted.signal });
  await ticks(3);
  aborted.abort(new Error("the user left"));
  await expect(waiting).rejects.toThrow("the user left");
  expect(names()).toEqual(["first"]);
});

test("long polls don't delay other calls while the limit is unknown", async () => {
  const { client, sent } = openManualClient();
  const polls = Array.from({ length: 5 }, () => client.changes({ since: "a.1" }).next());
  await waitUntil(() => sent.length === 5, "the polls");
  const list = client.brands.list({ filter: { Name: "x" } });
  await waitUntil(() => sent.length === 6, "the list");
  void [polls, list];
});

test("a response says what the key's limit is", async () => {
  const seen: ResponseInfo[] = [];
  const key = await server.issueKey({ rate: 7 });
  await createClient({ url: server.url, key, onResponse: (info) => void seen.push(info) }).locations.list();
  expect(seen[0]?.rateLimit).toEqual({ limit: 7, window: 1000, remaining: 6, reset: 1000 });
});
