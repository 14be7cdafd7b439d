// Long polls: what wakes and ends them, and that they leave no memory behind.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ConfigSources } from "../../../src/config.ts";
import { maxPageAgeMs } from "../../../src/http/feed/feed-page-cache.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { revokeKey } from "../../../src/operator/sites/keys.ts";
import { removeSite } from "../../../src/operator/sites/site-removal.ts";
import { createSite, setSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { engines } from "../../support/engine/engines.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { startTestServer, type TestServer, waitForPolls } from "../../support/http/server.ts";
import { retainedBufferBytes } from "../../support/memory.ts";
import { letPass, ticks, waitUntil } from "../../support/time.ts";
import { openClient, toRequest } from "../../support/wire/client.ts";

describe.each(engines)("a long poll on $name", (kind) => {
  let server: TestServer;
  /** Another process on the same database. */
  let other: Engine;
  let clock = 0;

  async function start(settings: ConfigSources = {}): Promise<void> {
    await kind.open();
    clock = Date.now();
    server = await startTestServer({ settings: { DATABASE: await kind.newDatabase(), ...settings }, now: () => clock });
    other = await openEngine(server.database, allResources);
  }
  async function stop(): Promise<void> {
    await other.close();
    await server.stop();
    await kind.close();
  }

  const get = async (
    query: string,
    { key = server.key, host = "x", signal, method = "GET", suffix = "json" }: Options = {},
  ) => {
    const url = `${server.url}/restapi/changes.${suffix}?${query}`;
    const headers = { "X-API-AUTH": key, Host: host };
    const response = await fetch(url, { method, headers, ...(signal ? { signal } : {}) });
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: tests read any member
    const json: any = text.startsWith("{") ? JSON.parse(text) : undefined;
    return { status: response.status, headers: response.headers, text, json };
  };
  const now = async () => (await get("since=now")).json.Next;
  const write = (engine: Engine, name: string, resource = "brand") =>
    engine.commit([createIntent({ site: server.site.ID, resource, values: { Name: name }, at: clock })]);
  const namesIn = (json: { Changes: { Record: { Name: string } }[] }) =>
    json.Changes.map(({ Record: { Name } }) => Name);

  /** Waits until `count` polls are waiting. */
  const waiting = (count: number) => waitForPolls(server, count);

  describe("with the default settings", () => {
    beforeEach(() => start());
    afterEach(stop);

    test("ends with the next change by this or another process, in JSON and XML, with the same page for everyone", async () => {
      for (const [name, writer] of [
        ["own", server.engine],
        ["other", other],
      ] as const) {
        const since = await now();
        const polls = Array.from({ length: 20 }, () => get(`since=${since}&wait=55`));
        const xml = get(`since=${since}&wait=55`, { suffix: "xml" });
        await waiting(21);
        await write(writer, name);
        const pages = await Promise.all(polls);
        expect(pages.map(({ status, json }) => [status, namesIn(json)])).toEqual(pages.map(() => [200, [name]]));
        expect(new Set(pages.map(({ text }) => text)).size).toBe(1);
        expect((await xml).text).toContain(`<Name>${name}</Name>`);
        await waiting(0);
      }
    });

    test("doesn't wait if there's already a change, with `since=now`, for HEAD, or without `wait`", async () => {
      const before = await now();
      await write(other, "a");
      const started = performance.now();
      expect(namesIn((await get(`since=${before}&wait=55`)).json)).toEqual(["a"]);
      const since = (await get("since=now&wait=55")).json.Next;
      expect((await get(`since=${since}&wait=55`, { method: "HEAD" })).status).toBe(200);
      expect((await get(`since=${since}`)).json).toEqual({ Changes: [], Next: since, More: false });
      expect(performance.now() - started).toBeLessThan(50_000);
    });

    test("keeps waiting through changes it doesn't select, and its Next moves past them", async () => {
      const since = await now();
      const [short, long] = [10, 55].map((wait) => get(`since=${since}&resource=orderstatuses&wait=${wait}`)) as [
        ReturnType<typeof get>,
        ReturnType<typeof get>,
      ];
      await waiting(2);
      await write(other, "unwanted");
      const { json } = await short;
      expect(json).toEqual({ Changes: [], Next: await now(), More: false });
      expect(json.Next).not.toBe(since);
      await write(other, "wanted", "order-status");
      expect(namesIn((await long).json)).toEqual(["wanted"]);
    });

    test("ends at once if its key is revoked or its site suspended or removed", async () => {
      const site = await createSite(other, "second", { hostnames: ["second.example"] }, clock);
      const key = await server.issueKey();
      const since = await now();
      const revoked = get(`since=${since}&wait=55`, { key });
      const others = get(`since=${since}&wait=55`);
      await waiting(2);
      await revokeKey(other, key.slice(0, 12), clock);
      expect((await revoked).status).toBe(401);
      await setSite(other, "shop", { isSuspended: true }, clock);
      expect((await others).status).toBe(403);
      await setSite(other, "shop", { isSuspended: false }, clock);
      expect(site.ID).not.toBe(server.site.ID);
      const removed = get(`since=${since}&wait=55`);
      await waiting(1);
      await removeSite(other, "shop", clock);
      expect((await removed).status).toBe(421);
      await waiting(0);
    });

    test("gets no page if its key has expired meanwhile, even after a clock jump", async () => {
      const key = await server.issueKey({ expiresAt: clock + 60_000 });
      const since = await now();
      const atDeadline = get(`since=${since}&wait=3`, { key });
      const woken = get(`since=${since}&wait=55`, { key });
      const valid = get(`since=${since}&wait=55`);
      await waiting(3);
      clock += 3_600_000;
      expect((await atDeadline).status).toBe(401);
      await write(other, "a");
      expect((await woken).status).toBe(401);
      expect(namesIn((await valid).json)).toEqual(["a"]);
      clock -= 7_200_000;
      expect((await get(`since=${await now()}&wait=1`)).json.Changes).toEqual([]);
    });

    test("gets a 410 at once if its site gets a new epoch", async () => {
      await write(other, "a");
      const poll = get(`since=${await now()}&wait=55`);
      await waiting(1);
      await other.replaceEpochs();
      expect((await poll).status).toBe(410);
    });

    test("gets a 410 at once if the database lost the changes it followed", async () => {
      await write(other, "a");
      await write(other, "b");
      const poll = get(`since=${await now()}&wait=55`);
      await waiting(1);
      // Its first page is no longer shared.
      await letPass(maxPageAgeMs);
      const site = server.site.ID;
      await kind.run(
        server.database,
        `delete from journal where site_id = ${site} and revision = 2; update sites set revision = 1 where id = ${site}`,
      );
      expect((await poll).status).toBe(410);
    });

    test("polls pipelined on one connection run one after the other", async () => {
      const since = await now();
      const client = await openClient(server.port);
      const lines = [`X-API-AUTH: ${server.key}`];
      client.send(toRequest(`GET /restapi/changes.json?since=${since}&wait=55 HTTP/1.1`, lines).repeat(3));
      await waiting(1);
      await write(other, "a");
      // The first one waited for this change; the others find it there.
      const responses = await client.responses(3);
      expect(responses.map(({ body }) => namesIn(JSON.parse(body)))).toEqual([["a"], ["a"], ["a"]]);
      client.socket.destroy();
    });

    test("doesn't keep a request body in memory, and the next request follows it", async () => {
      const since = await now();
      const body = Buffer.alloc(2 ** 20, "x");
      const lines = [`X-API-AUTH: ${server.key}`];
      const head = `GET /restapi/changes.json?since=${since}&wait=50 HTTP/1.1`;
      const clients = await Promise.all(Array.from({ length: 30 }, () => openClient(server.port)));
      const before = await retainedBufferBytes();
      for (const client of clients) {
        client.send(toRequest(head, [...lines, `Content-Length: ${body.length}`]));
        await client.sendPieces([body]);
      }
      await waiting(clients.length);
      // The server reads and discards the bodies.
      await ticks(50);
      expect((await retainedBufferBytes()) - before).toBeLessThan(clients.length * 2 ** 18);
      await write(other, "a");
      for (const client of clients) {
        client.send(toRequest("GET /restapi/changes.json?since=now HTTP/1.1", lines));
        expect((await client.responses(2)).map(({ status }) => status)).toEqual([200, 200]);
        client.socket.destroy();
      }
    });

    test("gets an empty page if its client half-closes, and leaves no memory behind if its client disconnects", async () => {
      const since = await now();
      const request = toRequest(`GET /restapi/changes.json?since=${since}&wait=50 HTTP/1.1`, [
        `X-API-AUTH: ${server.key}`,
      ]);
      const clients = await Promise.all(Array.from({ length: 200 }, () => openClient(server.port)));
      for (const client of clients) client.send(request);
      await waiting(200);
      clients[0]?.socket.end();
      const [response] = (await clients[0]?.responses(1)) ?? [];
      expect([response?.status, JSON.parse(response?.body ?? "").Next]).toEqual([200, since]);
      clients[0]?.socket.destroy();
      await waiting(199);
      for (const [index, { socket }] of clients.entries()) index % 2 ? socket.resetAndDestroy() : socket.destroy();
      await waiting(0);
      // The connections of `fetch` stay open.
      await waitUntil(async () => {
        const [, connections] = /\nstorefront_http_connections (\d+)\n/.exec(await server.metrics()) ?? [];
        return Number(connections) <= 5;
      }, "the end of the connections");
    });
  });

  describe("with eight connections", () => {
    beforeEach(() => start({ CONNECTIONS: "8" }));
    afterEach(stop);

    /** Starts a poll, and returns once it's waiting. Its response is null if the poll is aborted. */
    async function wait(since: string, options: Options, count: number) {
      const poll = get(`since=${since}&wait=50`, options).catch(() => null);
      await waiting(count);
      return { poll };
    }
    const empty = (since: string) => ({ status: 200, json: { Changes: [], Next: since, More: false } });

    test("one key's polls take at most half of the connections", async () => {
      const [since, key] = [await now(), await server.issueKey()];
      const abort = new AbortController();
      for (const count of [1, 2, 3, 4]) await wait(since, { signal: abort.signal }, count);
      const rejected = await get(`since=${since}&wait=55`);
      expect([rejected.status, Number(rejected.headers.get("retry-after")) > 0]).toEqual([429, true]);
      expect((await get(`since=${since}`)).status).toBe(200);
      abort.abort();
      await waiting(0);
      const { poll: again } = await wait(since, {}, 1);
      const { poll: another } = await wait(since, { key }, 2);
      await write(other, "a");
      expect((await Promise.all([again, another])).map((page) => page?.status)).toEqual([200, 200]);
    });

    test("polls of all keys together take half the connections; beyond that, the key with the most polls loses its longest-waiting one", async () => {
      const [since, key] = [await now(), await server.issueKey()];
      const first: ReturnType<typeof get>[] = [];
      for (const count of [1, 2, 3, 4]) first.push((await wait(since, {}, count)).poll as ReturnType<typeof get>);
      const second = [get(`since=${since}&wait=50`, { key })];
      expect(await first[0]).toMatchObject(empty(since));
      await waiting(4);
      second.push(get(`since=${since}&wait=50`, { key }));
      expect(await first[1]).toMatchObject(empty(since));
      await waiting(4);
      // Both keys have two polls.
      second.push(get(`since=${since}&wait=50`, { key }));
      expect(await second[0]).toMatchObject(empty(since));
      await waiting(4);
      const third = get(`since=${since}&wait=50`, { key: await server.issueKey() });
      await Promise.race([first[2], second[1]]);
      await waiting(4);
      await write(other, "a");
      const pages = await Promise.all([...first.slice(2), ...second.slice(1), third]);
      expect(pages.map(({ json }) => json.Changes.length).sort()).toEqual([0, 1, 1, 1, 1]);
    });

    test("keys whose clients poll again at once don't keep ending each other's polls", async () => {
      const since = await now();
      const keys = [server.key, await server.issueKey(), await server.issueKey(), await server.issueKey()];
      const all: Promise<unknown>[] = [];
      let responses = 0;
      let rejected: Awaited<ReturnType<typeof get>> | undefined;
      const ask = (key: string | undefined) => {
        const poll = get(`since=${since}&wait=50`, key ? { key } : {}).then((page) => {
          responses++;
          if (page.status === 429) rejected = page;
        });
        all.push(poll);
      };
      for (const [index, key] of keys.entries()) {
        ask(key);
        await waiting(index + 1);
      }
      keys.push(await server.issueKey());
      for (let i = 0; i < 100 && !rejected; i++) {
        ask(keys[i % 5]);
        // Either this poll is rejected or another one ends.
        await waitUntil(() => responses > i, "a response");
      }
      expect(rejected?.text).toContain("this server already has 4 long polls open");
      expect(Number(rejected?.headers.get("retry-after"))).toBeGreaterThan(0);
      await write(other, "a");
      await Promise.all(all);
    });

    test("if requests take all other connections, the longest-waiting poll makes room for a new one", async () => {
      const since = await now();
      const poll = toRequest(`GET /restapi/changes.json?since=${since}&wait=50 HTTP/1.1`, [
        `X-API-AUTH: ${server.key}`,
      ]);
      /** Returns the response of the poll that made room, or undefined if another connection did because the machine was busy. */
      const makeRoom = async () => {
        await waiting(0);
        const [longest, last] = [await openClient(server.port), await openClient(server.port)];
        longest.send(poll);
        await waiting(1);
        last.send(poll);
        await waiting(2);
        // The server is waiting for their bodies, but not yet for long enough to close them instead.
        const busy = await Promise.all(Array.from({ length: 6 }, () => openClient(server.port)));
        const lines = [`X-API-AUTH: ${server.key}`, "Content-Length: 9", "Expect: 100-continue"];
        for (const client of busy) client.send(toRequest("POST /restapi/brands.json HTTP/1.1", lines));
        await Promise.all(busy.map((one) => one.until((received) => received.includes("100 Continue"))));
        const client = await openClient(server.port);
        client.send(toRequest("GET /restapi/brands.json HTTP/1.1", [`X-API-AUTH: ${server.key}`]));
        expect((await client.responses(1))[0]?.status).toBe(200);
        const others = busy.map((one) => one.ended().then(() => undefined));
        const response = await Promise.race([longest.responses(1).then(([first]) => first), ...others]);
        if (response) await waiting(1);
        for (const { socket } of [longest, last, client, ...busy]) socket.destroy();
        return response;
      };
      let ended = await makeRoom();
      while (!ended) ended = await makeRoom();
      expect(ended).toMatchObject({ status: 200, headers: { connection: "close" } });
      expect(JSON.parse(ended.body)).toEqual({ Changes: [], Next: since, More: false });
    });
  });

  test("gets an empty page when the server stops, and its connection is closed", async () => {
    await start();
    const since = await now();
    const client = await openClient(server.port);
    const lines = [`X-API-AUTH: ${server.key}`];
    client.send(toRequest(`GET /restapi/changes.json?since=${since}&wait=50 HTTP/1.1`, lines));
    await waiting(1);
    const started = performance.now();
    const stopped = server.stop();
    const [response] = await client.responses(1);
    expect(response).toMatchObject({ status: 200, headers: { connection: "close" } });
    expect(JSON.parse(response?.body ?? "")).toEqual({ Changes: [], Next: since, More: false });
    await client.ended();
    client.socket.destroy();
    await stopped;
    expect(performance.now() - started).toBeLessThan(8000);
    await other.close();
    await kind.close();
  });
});

interface Options {
  readonly key?: string;
  readonly host?: string;
  readonly signal?: AbortSignal;
  readonly method?: string;
  readonly suffix?: string;
}
