// The client on a failing network: which requests it retries, and which it doesn't.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type ClientOptions,
  createClient,
  type ResponseInfo,
  type RetryInfo,
  type StorefrontClient,
  StorefrontFailure,
  StorefrontProblem,
} from "../../../src/client/client.ts";
import { waitAfter } from "../../../src/client/wait.ts";
import { startTestServer, type TestServer } from "../../support/http/server.ts";
import { ticks, waitUntil } from "../../support/time.ts";
import { type FlakyProxy, startFlakyProxy } from "../../support/wire/flaky-proxy.ts";

let server: TestServer;
let proxy: FlakyProxy;
let client: StorefrontClient;
beforeAll(async () => {
  server = await startTestServer();
  proxy = await startFlakyProxy(server.url);
  client = createClient({ url: server.url, key: server.key });
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

const throughProxy = (options: Partial<ClientOptions> = {}) =>
  createClient({ url: proxy.url, key: server.key, ...options });

/** A client that gets `responses` in turn, repeating the last one. `urls` has its requests, `waits` its waits. */
function scripted(responses: readonly (() => Response | Promise<Response>)[], options: Partial<ClientOptions> = {}) {
  const waits: number[] = [];
  const urls: string[] = [];
  const scriptedClient = createClient({
    url: "http://shop.example",
    key: "k",
    fetch: async (url) => {
      urls.push(url);
      return (responses[urls.length - 1] ?? responses.at(-1) ?? Response.error)();
    },
    onRetry: ({ wait }) => void waits.push(wait),
    ...options,
  });
  return { client: scriptedClient, waits, urls };
}

const thrownBy = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
const busy = (headers: Record<string, string> = {}) => new Response("busy", { status: 503, headers });

describe("a failing network", () => {
  test.each([
    "lose the response",
    "cut the response short",
  ] as const)("writes happen once when proxies %s", async (how) => {
    const distant = throughProxy();
    const before = await client.brands.list();
    proxy.misbehave(how, how);
    const brand = await distant.brands.create({ Name: "Once" });
    expect((await client.brands.list()).length).toBe(before.length + 1);
    proxy.misbehave(how);
    const renamed = await distant.brands.update(brand, { Name: "Twice" });
    expect(renamed.Name).toBe("Twice");
    proxy.misbehave(how);
    expect((await distant.brands.delete(renamed)).Name).toBe("Twice");
    proxy.misbehave(how);
    expect((await distant.brands.list()).length).toBe(before.length);
  });

  test("once the retries are used up, the call fails with the cause", async () => {
    const attempts: RetryInfo[] = [];
    const unreachable = createClient({
      url: "http://127.0.0.1:1",
      key: "k",
      retries: 1,
      onRetry: (info) => void attempts.push(info),
    });
    const failure = (await thrownBy(unreachable.brands.list())) as StorefrontFailure;
    expect(failure).toBeInstanceOf(StorefrontFailure);
    expect(failure).toMatchObject({ name: "StorefrontFailure", reason: "network", cause: expect.any(Error) });
    expect(attempts).toHaveLength(1);
    expect(attempts[0]).toMatchObject({ method: "GET", url: "http://127.0.0.1:1/restapi/brands.json", attempt: 1 });
    expect(attempts[0]?.error).toBeInstanceOf(StorefrontFailure);
  });

  test("a request that times out is retried, then fails", async () => {
    proxy.misbehave("dawdle");
    expect(await throughProxy({ timeout: 1000 }).orderStatuses.list()).toEqual(expect.any(Array));
    proxy.misbehave("dawdle");
    const failure = await thrownBy(throughProxy({ retries: 0 }).brands.list({}, { timeout: 100 }));
    expect(failure).toMatchObject({ name: "StorefrontFailure", reason: "timeout", cause: { name: "TimeoutError" } });
  });

  test("a call ends with its signal's reason: before, during and between attempts", async () => {
    const [reason, distant] = [new Error("the user left"), throughProxy()];
    await expect(distant.brands.list({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const [before, during] = [proxy.seen.length, new AbortController()];
    proxy.misbehave("dawdle");
    const ended = thrownBy(distant.brands.list({}, { signal: during.signal }));
    await waitUntil(() => proxy.seen.length > before, "the request");
    during.abort(reason);
    expect(await ended).toBe(reason);
    expect(proxy.seen.length).toBe(before + 1);
    // The wait would be five minutes.
    for (const abort of [
      (controller: AbortController) => ticks(2).then(() => controller.abort(reason)),
      (controller: AbortController) => controller.abort(reason),
    ]) {
      const controller = new AbortController();
      const { client: leaving, urls } = scripted([() => busy({ "Retry-After": "300" })], {
        maxRetryAfter: 600_000,
        onRetry: () => void abort(controller),
      });
      await expect(leaving.brands.list({}, { signal: controller.signal })).rejects.toBe(reason);
      expect(urls).toHaveLength(1);
    }
  });

  test("a call isn't retried if its signal's reason is another call's problem", async () => {
    const controller = new AbortController();
    const problem = new StorefrontProblem(busy(), {}, "");
    const {
      client: leaving,
      urls,
      waits,
    } = scripted([
      () => {
        controller.abort(problem);
        return Promise.reject(problem);
      },
    ]);
    await expect(leaving.brands.list({}, { signal: controller.signal })).rejects.toBe(problem);
    expect([urls.length, waits]).toEqual([1, []]);
  });
});

describe("an error response", () => {
  const permanent = [400, 401, 403, 404, 405, 412, 413, 415, 421, 422, 431, 500, 501];
  const cases: [number, string, boolean][] = [
    ...permanent.map((status): [number, string, boolean] => [status, "not retried", false]),
    ...[409, 429, 502, 503, 504].map((status): [number, string, boolean] => [status, "retried", true]),
  ];
  test.each(cases)("with status %d is %s", async (status, _, isRetried) => {
    const { client, urls } = scripted([() => new Response("no", { status })], { retries: 1 });
    const problem = await thrownBy(client.brands.get(1));
    expect(problem).toBeInstanceOf(StorefrontProblem);
    expect(problem).toMatchObject({ status, code: undefined, errors: [], type: "about:blank" });
    expect(urls).toHaveLength(isRetried ? 2 : 1);
  });

  test("is retried after Retry-After plus a random wait", async () => {
    const { client: waiting, waits } = scripted([() => busy({ "Retry-After": "1" }), () => Response.json([])]);
    const started = performance.now();
    expect(await waiting.brands.list()).toHaveLength(0);
    expect(performance.now() - started).toBeGreaterThan(990);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeGreaterThan(1000);
    expect(waits[0]).toBeLessThan(1400);
  });

  test("is thrown at once if it asks to wait too long", async () => {
    for (const retryAfter of ["61", new Date(Date.now() + 120_000).toUTCString()]) {
      const { client: hurried, urls } = scripted([() => busy({ "Retry-After": retryAfter })]);
      const problem = (await thrownBy(hurried.brands.list())) as StorefrontProblem;
      expect(problem.retryAfter).toBeGreaterThan(60_000);
      expect(problem.retryAfter).toBeLessThanOrEqual(120_000);
      expect(urls).toHaveLength(1);
    }
  });

  const headers: [string, number | undefined][] = [
    ["0", 0],
    ["7", 7000],
    ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
    ["soon", undefined],
    ["1.5x", undefined],
  ];
  test.each(headers)("with Retry-After: %s has retryAfter %p", async (header, expected) => {
    const { client } = scripted([() => busy({ "Retry-After": header })], { retries: 0 });
    expect(((await thrownBy(client.brands.list())) as StorefrontProblem).retryAfter).toBe(expected);
  });
});

describe("waits between attempts", () => {
  const failure = new StorefrontFailure("network", "gone");
  const problem = (status: number, retryAfter?: string) =>
    new StorefrontProblem(
      new Response("", { status, headers: retryAfter ? { "Retry-After": retryAfter } : {} }),
      {},
      "",
    );
  /** The minimum and maximum of many draws. */
  const range = (draw: () => number | undefined) => {
    const drawn = Array.from({ length: 500 }, () => draw() as number);
    return [Math.min(...drawn), Math.max(...drawn)] as [number, number];
  };

  test("double with each attempt up to 15 seconds, and half of each is random", () => {
    for (const [attempt, base] of [
      [1, 200],
      [2, 400],
      [3, 800],
      [6, 6400],
      [7, 10_000],
      [20, 10_000],
    ] as const) {
      for (const error of [failure, problem(502)]) {
        const [min, max] = range(() => waitAfter(error, attempt, 0));
        expect(min).toBeGreaterThanOrEqual(base * 0.5);
        expect(min).toBeLessThan(base * 0.75);
        expect(max).toBeGreaterThan(base * 1.25);
        expect(max).toBeLessThan(base * 1.5);
      }
    }
  });

  test("start when Retry-After is over, and end when the caller's time is up", () => {
    const [min, max] = range(() => waitAfter(problem(429, "2"), 1, 2000));
    expect(min).toBeGreaterThanOrEqual(2100);
    expect(max).toBeLessThan(2300);
    expect(waitAfter(problem(429, "2"), 1, 1999)).toBeUndefined();
    expect(waitAfter(problem(400, "2"), 1, 60_000)).toBeUndefined();
    for (const reason of ["redirect", "unreadable"] as const) {
      expect(waitAfter(new StorefrontFailure(reason, ""), 1, 60_000)).toBeUndefined();
    }
    expect(waitAfter(new StorefrontFailure("timeout", ""), 1, 0)).toBeGreaterThan(0);
  });
});

describe("a response that isn't the interface's", () => {
  const bodies = ["<html>Welcome to the hotel</html>", "", "null", '"text"', "5", "true"];
  test.each(bodies)("such as %p is an immediate failure", async (text) => {
    const { client: misled, urls } = scripted([() => new Response(text)]);
    for (const call of [
      () => misled.brands.list(),
      () => misled.brands.get(1),
      () => misled.brands.create({ Name: "x" }),
    ]) {
      expect(await thrownBy(call())).toMatchObject({ name: "StorefrontFailure", reason: "unreadable" });
    }
    expect(urls).toHaveLength(3);
  });

  test("such as a record instead of a list, or the reverse, is a failure", async () => {
    expect(await thrownBy(scripted([() => Response.json({ ID: 1 })]).client.brands.list())).toMatchObject({
      reason: "unreadable",
    });
    expect(await thrownBy(scripted([() => Response.json([])]).client.brands.get(1))).toMatchObject({
      reason: "unreadable",
    });
  });

  test("such as a redirect isn't followed, so the key goes nowhere else and no POST becomes a GET", async () => {
    const visits: string[] = [];
    const stranger = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ method }) => {
        visits.push(method);
        return Response.json([]);
      },
    });
    const moved = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => Response.redirect(`${stranger.url}restapi/brands.json`, 301),
    });
    const distant = createClient({ url: moved.url.href, key: "k" });
    for (const call of [() => distant.brands.list(), () => distant.brands.create({ Name: "x" })]) {
      const failure = (await thrownBy(call())) as StorefrontFailure;
      expect(failure).toMatchObject({ name: "StorefrontFailure", reason: "redirect" });
      expect(failure.message).toContain(stranger.url.href);
    }
    expect(visits).toEqual([]);
    await Promise.all([stranger.stop(true), moved.stop(true)]);
  });
});

describe("a programming mistake is thrown unchanged, not retried", () => {
  const bug = JSON.parse("{}") as { headers: { x: string } };
  const circular: Record<string, unknown> = { Name: "x" };
  circular.Self = circular;
  // biome-ignore lint/suspicious/noExplicitAny: JavaScript callers can pass anything
  const mistakes: [string, (client: any) => Promise<unknown>][] = [
    ["an ID that escapes its path", ({ brands }) => brands.delete("../orderstatuses/50")],
    ["the same in a record", ({ brands }) => brands.delete({ ID: "../orderstatuses/50" }, { ifMatch: "*" })],
    ["the same in an update", ({ brands }) => brands.update("../orderstatuses/50", { Name: "x" })],
    ["the same in a look-up", ({ brands }) => brands.get("../orderstatuses/50")],
    ["an ID with a query", ({ brands }) => brands.get("1.json?x=")],
    ...[0, -1, 1.5, Number.NaN, 2 ** 53, "1", undefined, null, {}, [1], true, 1n].map(
      // biome-ignore lint/suspicious/noExplicitAny: as above
      (id): [string, (client: any) => Promise<unknown>] => [
        `the ID ${typeof id} ${String(id)}`,
        ({ brands }) => brands.get(id),
      ],
    ),
    ["an unknown member of a query", ({ brands }) => brands.list({ Name: "Acme" })],
    ["a filter that is undefined", ({ brands }) => brands.list({ filter: { Name: undefined } })],
    ["a filter that is null", ({ brands }) => brands.list({ filter: { Name: null } })],
    ["an unknown kind of filter", ({ brands }) => brands.list({ filter: { Name: { startsWith: "A" } } })],
    ["a filter by an invalid ID", ({ brands }) => brands.list({ filter: { ID: { in: [1, "2,3"] } } })],
    ["a limit of 0", ({ brands }) => brands.list({ limit: 0 })],
    ["a limit of 1001", ({ brands }) => brands.list({ limit: 1001 })],
    ["an offset that is negative", ({ brands }) => brands.list({ offset: -1 })],
    ["all() in another order", ({ brands }) => brands.all({ sort: "Name" }).next()],
    ["a page of 1", ({ brands }) => brands.all({}, { pageSize: 1 }).next()],
    ["a page of 1001", ({ brands }) => brands.all({}, { pageSize: 1001 }).next()],
    ["an invalid timeout", ({ brands }) => brands.list({}, { timeout: Number.NaN })],
    ["an invalid signal", ({ brands }) => brands.list({}, { signal: {} })],
    ["a value that JSON can't represent", ({ brands }) => brands.create(circular)],
    ["a header that cannot be sent", ({ brands }) => brands.create({ Name: "x" }, { idempotencyKey: "a\nb" })],
    ["an ETag that cannot be sent", ({ brands }) => brands.update(1, { Name: "x" }, { ifMatch: "a\nb" })],
  ];
  test.each(mistakes)("in the call: %s", async (_, call) => {
    const { client: careless, urls, waits } = scripted([() => Response.json([])]);
    const error = await thrownBy(Promise.resolve().then(() => call(careless)));
    expect(error).toBeInstanceOf(TypeError);
    expect([urls.length, waits]).toEqual([0, []]);
  });

  const throwing: [string, Partial<ClientOptions>][] = [
    ["in the caller's own fetch", { fetch: async () => Response.json(bug.headers.x) }],
    ["in one that isn't async", { fetch: () => Response.json(bug.headers.x) as unknown as Promise<Response> }],
    ["in one that returns no response", { fetch: async () => ({}) as Response }],
    ["in one that calls an undefined function", { fetch: async () => missing() }],
    ["in onResponse", { onResponse: () => void bug.headers.x }],
    ["in onRetry", { fetch: async () => busy(), onRetry: () => void bug.headers.x }],
  ];
  test.each(throwing)("%s", async (_, options) => {
    const waits: number[] = [];
    const { client: careless } = scripted([() => Response.json([])], {
      onRetry: ({ wait }) => void waits.push(wait),
      ...options,
    });
    const error = (await thrownBy(careless.brands.list())) as Error;
    expect([TypeError, ReferenceError].some((kind) => error instanceof kind)).toBe(true);
    expect(waits).toEqual([]);
  });

  test("but the platform's errors for network failures are retried, in every form", async () => {
    const thrown = [
      new TypeError("Failed to fetch"),
      new TypeError("NetworkError when attempting to fetch resource."),
      new TypeError("Load failed"),
      new TypeError("terminated"),
      new TypeError("x", { cause: new Error("ECONNRESET") }),
      Object.assign(new TypeError("x"), { code: "ConnectionClosed" }),
      Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }),
      new DOMException("The operation was aborted.", "AbortError"),
      "a text",
    ];
    for (const error of thrown) {
      const { client: unlucky, urls } = scripted([() => Promise.reject(error), () => Response.json([])]);
      expect(await unlucky.brands.list()).toHaveLength(0);
      expect(urls).toHaveLength(2);
    }
  });

  // biome-ignore lint/suspicious/noExplicitAny: JavaScript callers can pass anything
  const options: [string, any][] = [
    ["an invalid address", { url: "shop.example" }],
    ["an address with another protocol", { url: "ftp://shop.example" }],
    ["an address with a password", { url: "https://me:secret@shop.example" }],
    ["an address with a query", { url: "https://shop.example/?a=1" }],
    ["an address with a fragment", { url: "https://shop.example/#a" }],
    ["no key", { key: undefined }],
    ["an empty key", { key: " " }],
    ["a key that cannot be sent", { key: "a\nb" }],
    ["a timeout of 0", { timeout: 0 }],
    ["a timeout that is a string", { timeout: "10" }],
    ["a timeout that no timer takes", { timeout: 2 ** 31 }],
    ["endless retries", { retries: Number.POSITIVE_INFINITY }],
    ["21 retries", { retries: 21 }],
    ["a negative maxRetryAfter", { maxRetryAfter: -1 }],
    ["an endless maxRateLimitWait", { maxRateLimitWait: Number.POSITIVE_INFINITY }],
    ["a fetch that isn't a function", { fetch: "fetch" }],
  ];
  test.each(options)("in the client's options: %s", (_, change) => {
    expect(() => createClient({ url: "http://shop.example", key: "k", ...change })).toThrow(TypeError);
  });

  test("the least and greatest value of each option is accepted", () => {
    for (const change of [
      { timeout: 1, retries: 0, maxRetryAfter: 0, maxRateLimitWait: 0 },
      { timeout: 2 ** 31 - 1, retries: 20, maxRetryAfter: 2 ** 31 - 1, maxRateLimitWait: 2 ** 31 - 1 },
    ])
      expect(() => createClient({ url: "http://shop.example", key: "k", ...change })).not.toThrow();
  });
});

describe("hooks", () => {
  test("receive every response with its request ID and what's left of the key's rate limit", async () => {
    const seen: ResponseInfo[] = [];
    const key = await server.issueKey({ rate: 50 });
    const watched = createClient({ url: server.url, key, onResponse: (info) => void seen.push(info) });
    const { ID } = await watched.brands.create({ Name: "Acme" });
    const problem = (await thrownBy(watched.brands.get(999_999))) as StorefrontProblem;
    await watched.brands.delete(ID);
    const path = `${server.url}/restapi/brands`;
    expect(seen).toMatchObject([
      {
        method: "POST",
        url: `${path}.json`,
        attempt: 1,
        status: 201,
        requestId: expect.any(String),
        rateLimit: { limit: 50, window: 1000, remaining: 49 },
      },
      { method: "GET", url: `${path}/999999.json`, attempt: 1, status: 404, requestId: problem.instance },
      { method: "DELETE", url: `${path}/${ID}.json`, attempt: 1, status: 200 },
    ]);
    expect(seen[0]?.rateLimit?.reset).toBeGreaterThanOrEqual(1000);
    const unwatched = createClient({ url: server.url, key: server.key, onResponse: (info) => void seen.push(info) });
    await unwatched.brands.list();
    expect(seen.at(-1)).toMatchObject({ rateLimit: undefined });
  });

  test("see the retries, each with its error and wait", async () => {
    const [seen, retries]: [ResponseInfo[], RetryInfo[]] = [[], []];
    const { client: watched } = scripted(
      [() => busy(), () => Promise.reject(new TypeError("Load failed")), () => Response.json([])],
      {
        onResponse: (info) => void seen.push(info),
        onRetry: (info) => void retries.push(info),
      },
    );
    await watched.brands.list();
    expect(seen.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, 503],
      [3, 200],
    ]);
    expect(retries.map(({ attempt, error, method }) => [attempt, error.name, method])).toEqual([
      [1, "StorefrontProblem", "GET"],
      [2, "StorefrontFailure", "GET"],
    ]);
    for (const { wait } of retries) expect(wait).toBeGreaterThan(0);
  });

  test("the caller sets the number of retries", async () => {
    for (const retries of [0, 1, 2]) {
      const { client: limited, urls, waits } = scripted([() => busy()], { retries });
      expect(await thrownBy(limited.brands.list())).toMatchObject({ status: 503 });
      expect([urls.length, waits.length]).toEqual([retries + 1, retries]);
    }
  });
});

declare const missing: () => Promise<Response>;

test("a thousand calls with one signal leave no listeners on it, whether they succeed, fail or are retried", async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  let most = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...parameters: Parameters<typeof addEventListener>) => {
    most = Math.max(most, ++listeners);
    addEventListener.apply(signal, parameters);
  };
  signal.removeEventListener = (...parameters: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(signal, parameters);
  };
  const respond = (request: number) => () => {
    if (request === 10 || request === 20) return busy();
    return request % 2 ? Response.json([]) : new Response("no", { status: 400 });
  };
  const { client: any, urls } = scripted(Array.from({ length: 1100 }, (_, request) => respond(request)));
  for (let call = 0; call < 1000; call++) await thrownBy(any.brands.list({}, { signal }));
  expect([urls.length, most > 0, listeners]).toEqual([1002, true, 0]);
});
