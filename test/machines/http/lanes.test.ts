// The two lanes in src/http/handler.ts and src/http/authorization/authorizer.ts: a response comes from memory without a promise, or after queries. In either,
// the key is known before the site is viewed.

import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import pino from "pino";
import { RequestAuthorizer } from "../../../src/http/authorization/authorizer.ts";
import { createDocumentation } from "../../../src/http/documentation.ts";
import { LongPolls } from "../../../src/http/feed/long-poll.ts";
import { HttpHandler } from "../../../src/http/handler.ts";
import { Readiness } from "../../../src/http/health.ts";
import { KeyTraffic } from "../../../src/http/key-traffic.ts";
import { QueryReader } from "../../../src/http/query.ts";
import { RecentRequests } from "../../../src/http/recent-requests.ts";
import { RequestLog } from "../../../src/http/request-log.ts";
import { createMetrics } from "../../../src/http/request-metrics.ts";
import type { MaybePromise } from "../../../src/lib/maybe-promise.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { systemSite } from "../../../src/model/system-site.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey, revokeKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { SiteChangeNotifier } from "../../../src/store/changes/site-change-notifier.ts";
import { LastBackup } from "../../../src/store/last-backup.ts";
import { openEngine } from "../../../src/store/open.ts";
import { SiteViews } from "../../../src/store/reads/site-views.ts";
import { WriteQueue } from "../../../src/store/writes/write-queue.ts";
import { SystemSiteIndex } from "../../../src/system/system-site-index.ts";
import { HeaderFields } from "../../../src/wire/header-fields.ts";
import { BodyBytes, emptyBody } from "../../../src/wire/request-body.ts";
import { joinParts, type WireResponse } from "../../../src/wire/response.ts";
import { type EngineKind, engines } from "../../support/engine/engines.ts";
import { readHeadCursor } from "../../support/engine/head-cursor.ts";
import { createIntent } from "../../support/engine/intents.ts";

const now = Date.parse("2026-01-01T00:00:00Z");

/** Site views that list the sites that were viewed. */
class ListedViews extends SiteViews {
  readonly viewed: number[] = [];

  override findUpToDate(site: number) {
    this.viewed.push(site);
    return super.findUpToDate(site);
  }

  override getUpToDate(...args: Parameters<SiteViews["getUpToDate"]>) {
    this.viewed.push(args[0]);
    return super.getUpToDate(...args);
  }
}

/** A handler without a listener, on the database of two sites. */
async function openHandler(kind: EngineKind) {
  const engine = await openEngine(await kind.newDatabase(), allResources);
  const shop = await createSite(engine, "shop", { hostnames: ["shop.example"] }, now);
  const other = await createSite(engine, "other", { hostnames: ["other.example"] }, now);
  await createSite(engine, "closed", { hostnames: ["closed.example"], isSuspended: true }, now);
  const keyOf = async (site: typeof shop, rate?: number) =>
    (await createKey(engine, site, rate === undefined ? {} : { rate }, now)).key;
  const { site: sandbox } = await makeSandbox(engine, "shop", { now: () => now });
  await engine.commit([createIntent({ site: sandbox.ID })]);
  const { site: otherSandbox } = await makeSandbox(engine, "other", { now: () => now });
  const keys = {
    ...{ valid: await keyOf(shop), limited: await keyOf(shop, 5), other: await keyOf(other) },
    ...{ sandbox: await keyOf(sandbox), otherSandbox: await keyOf(otherSandbox) },
  };
  const calls = { commit: 0, readHeads: 0 };
  /** The sites whose heads were read. */
  const headsRead = new Set<number>();
  /** Called once, before the next read of changes of a site other than the system site. */
  let beforeChanges: (() => Promise<unknown>) | undefined;
  /** Called once, before and after the next read of a page of the feed. */
  let beforePage: (() => Promise<unknown>) | undefined;
  let afterPage: (() => Promise<unknown>) | undefined;
  const observed: Engine = {
    ...engine,
    commit: (...args) => {
      calls.commit++;
      return engine.commit(...args);
    },
    readHeads: (sites) => {
      calls.readHeads++;
      for (const site of sites) headsRead.add(site);
      return engine.readHeads(sites);
    },
    readChangesSince: async (...args) => {
      const [site] = args;
      const meanwhile = site === systemSite ? undefined : beforeChanges;
      if (meanwhile) beforeChanges = undefined;
      await meanwhile?.();
      return engine.readChangesSince(...args);
    },
    readJournalPage: async (...args) => {
      const before = beforePage;
      beforePage = undefined;
      await before?.();
      const page = await engine.readJournalPage(...args);
      const meanwhile = afterPage;
      afterPage = undefined;
      await meanwhile?.();
      return page;
    },
  };
  const siteViews = new ListedViews(observed, allResources, 1 << 24);
  const systemSiteIndex = new SystemSiteIndex(allResources);
  siteViews.subscribeToSystemSite(systemSiteIndex);
  const options = {
    servesMcp: false,
    ...{ trustProxy: false, trustForwardedHost: false, tls: undefined, slowMs: Number.POSITIVE_INFINITY },
    ...{ keyLimit: undefined, failureLimit: { tokensPerSecond: 100, maxTokens: 100 } },
  };
  const changeNotifier = new SiteChangeNotifier(engine);
  const dependencies = {
    ...{ engine: observed, engineCalls: new Map(), lastBackup: new LastBackup(engine), siteViews },
    verification: { families: () => [] },
    ...{ resources: allResources },
    ...{ writeQueue: new WriteQueue(observed, siteViews), changeNotifier, log: pino({ level: "silent" }) },
    ...{ systemSiteIndex, build: () => ({ version: "", commit: "" }), accessLog: undefined, now: () => now },
    webhookAllow: [],
  };
  const authorizer = new RequestAuthorizer(options, dependencies);
  const handler = new HttpHandler({
    ...dependencies,
    authorizer,
    metrics: createMetrics(async () => []),
    keyTraffic: new KeyTraffic(() => now),
    recentRequests: new RecentRequests(allResources, () => now),
    documentation: createDocumentation(options, dependencies),
    requestLog: new RequestLog(options, dependencies),
    mcp: options,
    longPolls: new LongPolls(10, { changeNotifier, authorizer }),
    readiness: new Readiness(engine, () => now),
    queries: new QueryReader({ ignoredParameters: [] }),
  });
  const respond = (line: string, { key = keys.valid, host = "shop.example", body = "", headers = {} }: Sent = {}) => {
    const [method = "", target = ""] = line.split(" ");
    const bytes = Buffer.from(body);
    const fields = Object.entries({ host, "x-api-auth": key, ...headers });
    return handler.respond({
      ...{ method, target, address: "192.0.2.1", isAbandoned: false, onClientEnd() {}, discardBody() {} },
      headers: new HeaderFields(new Map(fields.filter(([, value]) => value !== ""))),
      receivedBody: body === "" ? emptyBody : new BodyBytes(bytes, 0, bytes.length),
      readBody: () => Promise.reject(new Error("the body came with the request")),
    });
  };
  const close = async () => {
    changeNotifier.stop();
    await authorizer.stop();
    await engine.close();
  };
  const whileChangesAreRead = (meanwhile: () => Promise<unknown>) => {
    beforeChanges = meanwhile;
  };
  const afterPageIsRead = (meanwhile: () => Promise<unknown>) => {
    afterPage = meanwhile;
  };
  const beforePageIsRead = (meanwhile: () => Promise<unknown>) => {
    beforePage = meanwhile;
  };
  const hooks = { whileChangesAreRead, beforePageIsRead, afterPageIsRead };
  return { respond, keys, shop, sandbox, engine, siteViews, close, ...hooks, calls, headsRead };
}

interface Sent {
  readonly key?: string;
  readonly host?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

/** The response, which must not be a promise. */
function atOnce(response: MaybePromise<WireResponse>): WireResponse {
  if (response instanceof Promise) throw new Error("the response is a promise");
  return response;
}

const create = (name: string) => ({ body: JSON.stringify({ Name: name }) });
const headerOf = ({ headers }: WireResponse, name: string) =>
  new RegExp(`^${name}: (.*)\r$`, "m").exec(joinParts(headers))?.[1];

describe.each(engines)("on $name", (kind) => {
  let opened: Awaited<ReturnType<typeof openHandler>>;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    opened = await openHandler(kind);
  });
  afterEach(() => opened.close());

  test("views only its key's site, and none without a valid key", async () => {
    const { respond, keys, shop, siteViews } = opened;
    const requests: [status: number, line: string, sent: Sent][] = [
      [501, "BREW /restapi/brands.json", {}],
      [421, "GET /restapi/brands.json", { host: "unknown.example" }],
      [403, "GET /restapi/nothing.json", { host: "closed.example", key: "" }],
      [404, "GET /restapi/nothing.json", { key: "" }],
      [405, "PUT /restapi/locations.json", { key: "" }],
      [204, "OPTIONS /restapi/brands.json", { key: "" }],
      [401, "GET /restapi/brands.json", { key: "" }],
      [401, "GET /restapi/brands/1.json", { key: `${keys.valid.slice(0, -1)}-` }],
      [403, "GET /restapi/brands.json", { key: keys.other }],
      [403, "GET /restapi/brands.json", { key: keys.otherSandbox }],
      [404, "GET /restapi/nothing.json", { key: keys.sandbox }],
      [401, "POST /restapi/brands.json", { key: "", body: "{" }],
    ];
    // The first round begins when nothing is in memory, the second when the system site and the site are.
    for (const round of [1, 2]) {
      for (const [status, line, sent] of requests) {
        expect([round, line, (await respond(line, sent)).status]).toEqual([round, line, status]);
      }
      expect(siteViews.viewed.filter((site) => site !== systemSite)).toEqual([]);
      expect((await respond("GET /restapi/brands.json")).status).toBe(200);
      expect([...new Set(siteViews.viewed)]).toEqual([shop.ID]);
      siteViews.viewed.length = 0;
    }
  });

  test("sandbox key: not even the live site's head is read", async () => {
    const { respond, keys, shop, sandbox, siteViews, headsRead, calls } = opened;
    const key = keys.sandbox;
    // The first request loads the system site, without which the key is not known. Its heads are those of the host's site.
    await respond("GET /restapi/nothing.json", { key });
    headsRead.clear();
    const queries = async (sent: Sent) => {
      const counts: number[] = [];
      for (const line of ["GET /restapi/brands.json", "GET /restapi/brands/1.json", "POST /restapi/brands.json"]) {
        calls.readHeads = 0;
        const { status } = await respond(line, { ...sent, ...(line.startsWith("POST") ? create("b") : {}) });
        expect([line, status]).toEqual([line, line.startsWith("POST") ? 201 : 200]);
        counts.push(calls.readHeads);
      }
      return counts;
    };
    const ofSandbox = await queries({ key });
    expect([...new Set(siteViews.viewed)].filter((site) => site !== systemSite)).toEqual([sandbox.ID]);
    expect(headsRead.has(shop.ID)).toBe(false);
    await respond("POST /restapi/brands.json", create("a"));
    siteViews.viewed.length = 0;
    headsRead.clear();
    expect(await queries({})).toEqual(ofSandbox);
    expect([...new Set(siteViews.viewed)].filter((site) => site !== systemSite)).toEqual([shop.ID]);
    expect(headsRead.has(sandbox.ID)).toBe(false);
  });

  test("feed page: sandbox reset while it's read", async () => {
    const { respond, keys, sandbox, engine, afterPageIsRead } = opened;
    const line = `GET /restapi/changes.json?since=${await readHeadCursor(engine, sandbox.ID)}`;
    const status = async (query: string) => (await respond(line + query, { key: keys.sandbox })).status;
    expect(await status("&limit=1")).toBe(200);
    // The limit is another one, so that the page is not taken from the cache.
    afterPageIsRead(() => makeSandbox(engine, "shop", { now: () => now }));
    expect(await status("&limit=2")).toBe(410);
  });

  test("follower of one resource: change committed while a round reads up to another resource's", async () => {
    const { respond, shop, engine, beforePageIsRead, afterPageIsRead } = opened;
    const since = await readHeadCursor(engine, shop.ID);
    const commit = (resource: string) => engine.commit([createIntent({ site: shop.ID, resource })]);
    // The first page is empty, so the follower waits.
    afterPageIsRead(async () => {
      beforePageIsRead(() => commit("brand"));
      await commit("order-status");
    });
    const { body } = await respond(`GET /restapi/changes.json?resource=brands&wait=20&since=${since}`);
    const { Changes } = JSON.parse(Buffer.concat(body as Uint8Array[]).toString());
    expect(Changes.map(({ Resource }: { Resource: string }) => Resource)).toEqual(["brands"]);
  });

  test("key revoked while its site catches up: doesn't see what came after", async () => {
    const { respond, keys, shop, engine, whileChangesAreRead } = opened;
    const update = (Name: string) =>
      engine.commit([createIntent({ site: shop.ID, operation: "update", id: 1, values: { Name } })]);
    await respond("POST /restapi/brands.json", create("a"));
    expect((await respond("GET /restapi/brands.json")).status).toBe(200);
    await update("b");
    let other = 0;
    whileChangesAreRead(async () => {
      await revokeKey(engine, keys.valid.slice(0, 12), now);
      await update("secret");
      other = (await respond("GET /restapi/brands/1.json", { key: keys.limited })).status;
    });
    const { status, body } = await respond("GET /restapi/brands/1.json");
    expect([other, status, String(body).includes("secret")]).toEqual([200, 401, false]);
  });

  test("rate limit: counts once, in memory or not", async () => {
    const { respond, keys } = opened;
    const left: (string | undefined)[] = [];
    const read = async (path: string) => {
      left.push(headerOf(await respond(`GET /restapi/${path}`, { key: keys.limited }), "RateLimit"));
    };
    // A look-up does not load the site, a list does.
    for (const path of ["brands/1.json", "brands/1.json", "brands.json", "brands.json"]) await read(path);
    await respond("POST /restapi/brands.json", create("a"));
    await read("brands.json");
    expect(left.map((line) => /r=(\d+)/.exec(line ?? "")?.[1])).toEqual(["4", "3", "2", "1", "0"]);
  });

  test("after a commit: first look-up reads the heads, the next only on PostgreSQL", async () => {
    const { respond, shop, engine, calls } = opened;
    const isRemote = kind.name === "PostgreSQL";
    // So many that the look-ups do not load the site.
    await engine.commit(Array.from({ length: 300 }, () => createIntent({ site: shop.ID })));
    for (const isLoaded of [false, true]) {
      if (isLoaded) await respond("GET /restapi/brands.json");
      await respond("PUT /restapi/brands/1.json", create(`loaded: ${isLoaded}`));
      for (const queries of [1, isRemote ? 1 : 0]) {
        calls.readHeads = 0;
        expect((await respond("GET /restapi/brands/1.json")).status).toBe(200);
        expect([isLoaded, calls.readHeads]).toEqual([isLoaded, queries]);
      }
    }
  });
});

describe("a request that finds its site in memory", () => {
  let opened: Awaited<ReturnType<typeof openHandler>>;
  beforeEach(async () => {
    const [sqlite] = engines.filter(({ name }) => name === "SQLite") as [EngineKind];
    opened = await openHandler(sqlite);
    const { respond } = opened;
    expect((await respond("POST /restapi/brands.json", create("a"))).status).toBe(201);
    expect((await respond("GET /restapi/brands.json")).status).toBe(200);
  });
  afterEach(() => opened.close());

  test.each([
    "brands/1.json",
    "brands/1.xml",
    "brands.json",
    "brands.json?limit=1",
  ])("no promise for %s and a 304", async (path) => {
    const { respond } = opened;
    await respond(`GET /restapi/${path}`);
    const response = atOnce(respond(`GET /restapi/${path}`));
    const headers = { "if-none-match": headerOf(response, "ETag") ?? "" };
    expect([response.status, atOnce(respond(`GET /restapi/${path}`, { headers })).status]).toEqual([200, 304]);
    expect(atOnce(respond(`HEAD /restapi/${path}`)).status).toBe(200);
  });

  test("no promise for a sandbox key either, and each key gets its own site", async () => {
    const { respond, keys } = opened;
    const [key, line] = [keys.sandbox, "GET /restapi/brands/1.json"];
    await respond("GET /restapi/brands.json", { key });
    const [ofSandbox, ofLive] = [atOnce(respond(line, { key })), atOnce(respond(line))];
    expect([headerOf(ofSandbox, "X-Sandbox"), headerOf(ofLive, "X-Sandbox")]).toEqual(["shop-sandbox", undefined]);
    expect(headerOf(ofSandbox, "ETag")).not.toBe(headerOf(ofLive, "ETag"));
    expect(atOnce(respond("GET /restapi/brands/9.json", { key })).status).toBe(404);
  });

  test("no promise for an error", () => {
    const { respond } = opened;
    expect(atOnce(respond("GET /restapi/brands/2.json")).status).toBe(404);
    expect(atOnce(respond("GET /restapi/brands/1.json", { key: "x" })).status).toBe(401);
  });

  test("a create whose body came with it is committed before the handler returns", async () => {
    const { respond, calls } = opened;
    const before = calls.commit;
    const response = respond("POST /restapi/brands.json", create("b"));
    expect(calls.commit).toBe(before + 1);
    expect((await response).status).toBe(201);
    // The commit is found by a query of the next request, and then in memory.
    expect((await respond("GET /restapi/brands/2.json")).status).toBe(200);
    expect(atOnce(respond("GET /restapi/brands/2.json")).status).toBe(200);
  });
});
