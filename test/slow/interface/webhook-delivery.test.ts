// A server delivers webhooks to receivers on this machine.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { readConfig } from "../../../src/config.ts";
import type { Intent } from "../../../src/model/change.ts";
import { systemSite } from "../../../src/model/system-site.ts";
import type { WebhookState } from "../../../src/model/webhooks.ts";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite, setSite } from "../../../src/operator/sites/sites.ts";
import { createWebhook } from "../../../src/operator/webhooks/webhook-creation.ts";
import { resumeWebhook } from "../../../src/operator/webhooks/webhooks.ts";
import { allResources } from "../../../src/resources/all.ts";
import { webhook as webhookResource } from "../../../src/resources/webhook.ts";
import { start } from "../../../src/start.ts";
import type { SiteRecord } from "../../../src/system/system-records.ts";
import type { AddressPolicy } from "../../../src/webhooks/address-policy.ts";
import { type Clock, systemClock } from "../../../src/webhooks/clock.ts";
import { maxScanPauseMs } from "../../../src/webhooks/runner.ts";
import { engines } from "../../support/engine/engines.ts";
import { createConformance } from "../../support/http/conformance.ts";
import { startTestServer, type TestServer, useServer } from "../../support/http/server.ts";
import { waitUntil } from "../../support/time.ts";
import { type ReceivedEvent, startReceiver, type TestReceiver } from "../../support/webhooks/receiver.ts";
import { createTestWebhook, type TestWebhook } from "../../support/webhooks/test-webhook.ts";

const dataOf = (event: ReceivedEvent | undefined) => JSON.parse(event?.body ?? "{}").data;
const typeOf = (event: ReceivedEvent | undefined) => JSON.parse(event?.body ?? "{}").type;
const idOf = (event: ReceivedEvent | undefined) => event?.headers["webhook-id"] ?? "";
const namesIn = (events: readonly ReceivedEvent[]) =>
  events.flatMap((event) => dataOf(event).Changes.map((change: { Record: { Name: string } }) => change.Record.Name));

const conformance = createConformance(allResources);

/** One test's site, and the receiver for its webhooks. */
interface Scene {
  readonly receiver: TestReceiver;
  readonly site: SiteRecord;
  /** Adds a webhook of this or another site that delivers to the receiver. */
  add(values?: Partial<WebhookState> & { resources?: string }): Promise<TestWebhook>;
  /** Creates brands with these names on the site. */
  create(...names: string[]): Promise<void>;
  stateOf(key: TestWebhook): Promise<WebhookState>;
  untilState(key: TestWebhook, isWanted: (state: WebhookState) => boolean): Promise<unknown>;
}

async function changeRecord({ engine }: TestServer, id: number, values: Record<string, string>): Promise<void> {
  const change = { site: systemSite, resource: webhookResource.name, operation: "update", id } as const;
  await engine.commit([{ ...change, valuesJson: JSON.stringify(values), actor: "operator", at: Date.now() }]);
}

const policy: AddressPolicy = { allow: [], isLoopbackAllowed: true, lookup: async () => [] };

/** Shortens the pauses between scans and before the next delivery to a tenth. Leases and attempts keep their usual times. */
const webhookClock: Clock = {
  ...systemClock,
  callAfter: (ms, callback) => systemClock.callAfter(ms <= maxScanPauseMs ? ms / 10 : ms, callback),
};

let sites = 0;

/** Runs `work` with a scene on `server`, then pauses its webhooks. Every event must be allowed by the OpenAPI document. */
async function withScene(server: TestServer, work: (scene: Scene) => Promise<void>): Promise<void> {
  const receiver = await startReceiver();
  const site = await createSite(server.engine, `site${++sites}`, {}, Date.now());
  const added: TestWebhook[] = [];
  const brand = { site: site.ID, resource: "brand", operation: "create", actor: "sfk_x" } as const;
  const stateOf = async (key: TestWebhook) => (await server.engine.readWebhookStates([key]))[0] as WebhookState;
  const scene: Scene = {
    receiver,
    site,
    async add(values = {}) {
      const webhook = await createTestWebhook(server.engine, values.site ?? site.ID, receiver.url, values);
      added.push(webhook);
      return webhook;
    },
    async create(...names) {
      const intents = names.map((Name): Intent => ({ ...brand, valuesJson: JSON.stringify({ Name }), at: Date.now() }));
      await server.engine.commit(intents);
    },
    stateOf,
    untilState: (key, isWanted) => waitUntil(async () => isWanted(await stateOf(key)), "the state"),
  };
  try {
    await work(scene);
    for (const event of receiver.events) conformance.checkEvent(event);
  } finally {
    for (const { webhook } of added) await changeRecord(server, webhook, { Paused: "2030-01-01T00:00:00.000Z" });
    await receiver.stop();
  }
}

/**
 * Waits until the server has scanned all webhooks and delivered the ones that were due. A scan starts deliveries in the order of their IDs, so the
 * webhook added here is delivered after the others.
 */
async function waitForScan(server: TestServer): Promise<void> {
  await withScene(server, async ({ receiver, add, create, untilState }) => {
    await create("seen by the scan");
    const key = await add();
    await receiver.received(1);
    await untilState(key, ({ cursor, holder }) => cursor.endsWith(".1") && holder === null);
  });
}

// These tests run concurrently, because they spend most of their time waiting.
describe.each(engines)("a webhook on $name", (kind) => {
  let server: TestServer;
  useServer(
    kind,
    (started) => {
      server = started;
    },
    { webhookClock },
  );
  const testScene = (name: string, work: (scene: Scene) => Promise<void>) =>
    test.concurrent(name, () => withScene(server, work));

  testScene(
    "gets its site's changes, signed, in order, in pages of at most 100",
    async ({ receiver, site, add, create, stateOf }) => {
      const names = Array.from({ length: 250 }, (_, i) => `Brand ${i}`);
      await create(...names);
      const { webhook, secret, ...key } = await add();
      const events = await receiver.received(3);
      for (const event of events) {
        expect(new Webhook(secret).verify(event.body, { ...event.headers })).toMatchObject({
          type: "storefront.changes",
          data: { Site: site.Name },
        });
        expect(event.headers["content-type"]).toBe("application/json");
        expect(Date.parse(JSON.parse(event.body).timestamp)).toBeGreaterThan(Date.now() - 60_000);
      }
      expect(namesIn(events)).toEqual(names);
      expect(dataOf(events[0]).Changes[0]).toMatchObject({ Operation: "create", Resource: "brands", ID: 1 });
      expect(dataOf(events[0]).Next).toBe(dataOf(events[0]).Changes.at(-1).Cursor);
      const { epoch } = await stateOf({ ...key, webhook, secret });
      const marks = events.map((event) => dataOf(event).Next.split(".")[0]);
      const ids = ["1_100", "101_200", "201_250"].map(
        (revisions, n) => `evt_${webhook}_${epoch}_${revisions}_${marks[n]}`,
      );
      expect(events.map(idOf)).toEqual(ids);
      expect(events.map((event) => dataOf(event).Since)).toEqual([
        "0.0",
        ...events.slice(0, 2).map((event) => dataOf(event).Next),
      ]);
    },
  );

  testScene("gets each change's run in every event", async ({ receiver, site, add }) => {
    const run = "k3J9aZ0q-1-150";
    const brand = {
      site: site.ID,
      resource: "brand",
      operation: "create",
      actor: "sfk_x",
      run,
      at: Date.now(),
    } as const;
    const intents = Array.from({ length: 150 }, (_, i): Intent => ({ ...brand, valuesJson: `{"Name":"${i}"}` }));
    await server.engine.commit(intents);
    await add();
    const events = await receiver.received(2);
    const runs = events.map((event) => dataOf(event).Changes.map(({ Run }: { Run: string }) => Run));
    expect(runs.map((all) => [all.length, ...new Set(all)])).toEqual([
      [100, run],
      [50, run],
    ]);
  });

  testScene("gets each change soon, once, and only those of its resources", async ({ receiver, site, add, create }) => {
    await add({ resources: "brands" });
    await create("before");
    await receiver.received(1);
    for (const name of ["one", "two", "three"]) {
      const status = { site: site.ID, resource: "order-status", operation: "create", actor: "sfk_x" } as const;
      await server.engine.commit([{ ...status, valuesJson: JSON.stringify({ Name: "other" }), at: Date.now() }]);
      await create(name);
      await waitUntil(() => namesIn(receiver.events).includes(name), name);
    }
    await server.engine.commit([
      {
        site: site.ID,
        resource: "brand",
        operation: "delete",
        id: 1,
        valuesJson: "{}",
        actor: "sfk_x",
        at: Date.now(),
      },
    ]);
    const events = await receiver.received(5);
    expect(namesIn(events.slice(0, 4))).toEqual(["before", "one", "two", "three"]);
    expect(dataOf(events[4]).Changes).toEqual([expect.objectContaining({ Operation: "delete", ID: 1, Record: null })]);
  });

  testScene(
    "gets each change's revision and the ETag to update its record, even in a page begun by an earlier build",
    async ({ receiver, site, add, create }) => {
      await create("a", "b", "c");
      const [head] = await server.engine.readHeads([site.ID]);
      const { webhook } = await add({ epoch: head?.epoch ?? "", first: 1, last: 2 });
      const [begun, next] = await receiver.received(2);
      expect(idOf(begun)).toStartWith(`evt_${webhook}_${head?.epoch}_1_2_`);
      const revisionsIn = (event: ReceivedEvent | undefined) =>
        dataOf(event).Changes.map(({ Revision }: { Revision: number }) => Revision);
      expect([revisionsIn(begun), revisionsIn(next)]).toEqual([[1, 2], [3]]);

      const host = `${site.Name}.example`;
      await setSite(server.engine, site.Name, { hostnames: [host] }, Date.now());
      const { key } = await createKey(server.engine, site, { label: "receiver" }, Date.now());
      const send = (method: string, etag: string, body?: object) =>
        server.call(method, "/restapi/brands/2.json", { key, body, headers: { Host: host, "If-Match": etag } });
      const { ETag } = dataOf(begun).Changes[1];
      expect((await send("PUT", ETag, { Name: "B" })).status).toBe(200);
      expect((await send("PUT", ETag, { Name: "C" })).status).toBe(412);
      const [, , updated] = await receiver.received(3);
      expect(dataOf(updated).Changes).toMatchObject([{ Revision: 4, ID: 2, Record: { Name: "B" } }]);
      expect((await send("DELETE", dataOf(updated).Changes[0].ETag)).status).toBe(200);
      const [, , , deleted] = await receiver.received(4);
      expect(dataOf(deleted).Changes).toMatchObject([{ Revision: 5, Operation: "delete", ETag: null, Record: null }]);
    },
  );

  testScene(
    "is retried with the same bytes, and its attempts are kept",
    async ({ receiver, add, create, stateOf, untilState }) => {
      receiver.respond((response) => response.writeHead(503, { "Retry-After": "5" }).end("<script>"));
      const key = await add();
      await create("a");
      await receiver.received(1);
      // If the page weren't stored before its first attempt, this change would be part of it.
      await create("b");
      await untilState(key, ({ failures }) => failures === 1);
      expect(await stateOf(key)).toMatchObject({ first: 1, last: 1, holder: null, failingSince: expect.any(Number) });
      receiver.respond(200);
      const [first, again, next] = await receiver.received(3);
      expect([idOf(again), again?.body]).toEqual([idOf(first), first?.body]);
      expect((again?.at as number) - (first?.at as number)).toBeGreaterThan(4900);
      expect(namesIn([next as ReceivedEvent])).toEqual(["b"]);
      await untilState(key, ({ last, failures }) => last === 0 && failures === 0);
      const attempts = await waitUntil(async () => {
        const all = await server.engine.readWebhookAttempts(key);
        return all.length === 3 && all;
      }, "attempts");
      expect(attempts.map(({ status, fault }) => [status, fault])).toEqual([
        [200, null],
        [200, null],
        [503, "the receiver responded with 503"],
      ]);
      expect(await server.metrics()).toMatch(/storefront_webhook_attempts_total\{outcome="refused"\} [1-9]/);
    },
  );

  testScene(
    "is paused by a 410, in the journal too, and continues after its cursor when resumed",
    async ({ receiver, add, create }) => {
      receiver.respond(410);
      const key = await add();
      const { webhook } = key;
      await create("a");
      const paused = await waitUntil(async () => {
        const { entries } = await server.engine.readJournalPage(systemSite, 0, 100_000);
        return entries.find(
          ({ actor, resource, id }) => actor === "webhook" && resource === "webhook" && id === webhook,
        );
      }, "the pause");
      expect(paused.operation).toBe("update");
      const record = JSON.parse(paused.body);
      expect(record).toMatchObject({ Reason: "the receiver responded with 410 (gone)" });
      expect(Math.abs(Date.now() - Date.parse(record.Paused))).toBeLessThan(60_000);
      await create("b");
      receiver.respond(200);
      await server.engine.compareAndSetWebhook(key, { cursor: "0.0", rewinds: 0, resumes: 0 }, { nextAt: 0 });
      await waitForScan(server);
      expect(receiver.events).toHaveLength(1);
      await changeRecord(server, webhook, { Paused: "", Reason: "" });
      expect(namesIn(await receiver.received(3)).slice(1)).toEqual(["a", "b"]);
    },
  );

  testScene(
    "resumed during an attempt: that attempt neither pauses nor delays it",
    async ({ receiver, add, create, stateOf }) => {
      const key = await add();
      const [resumed, repeated] = [Promise.withResolvers<void>(), Promise.withResolvers<WebhookState>()];
      receiver.respond((response) => void resumed.promise.then(() => response.writeHead(410).end()));
      await create("a");
      await receiver.received(1);
      receiver.respond(async (response) => {
        repeated.resolve(await stateOf(key));
        response.writeHead(200).end();
      });
      await resumeWebhook(server.engine, key.webhook, policy, Date.now());
      resumed.resolve();
      expect(await repeated.promise).toMatchObject({ resumes: 1, failures: 0, failingSince: null, nextAt: 0 });
      const [first, again] = receiver.events;
      expect([idOf(again), again?.body]).toEqual([idOf(first), first?.body]);
    },
  );

  test.concurrent("gets `storefront.gone`, then the changes that follow, even after a restore to before the first change", async () => {
    // A separate server, because every site gets a new epoch.
    const server = await startTestServer({ settings: { DATABASE: await kind.newDatabase() }, webhookClock });
    await withScene(server, async ({ receiver, site, add, create, untilState }) => {
      await create("a", "b", "c");
      await server.engine.pruneJournal(site.ID, 2, 100);
      const key = await add();
      const [gone] = await receiver.received(1);
      expect(typeOf(gone)).toBe("storefront.gone");
      expect(dataOf(gone)).toEqual({ Site: site.Name, Since: "0.0", Next: expect.stringMatching(/\.3$/) });
      const at = Date.parse(JSON.parse(gone?.body ?? "").timestamp);
      expect(idOf(gone)).toMatch(new RegExp(`^evt_\\d+_\\w+_gone_3_${at}$`));
      await create("d");
      expect(namesIn((await receiver.received(2)).slice(1))).toEqual(["d"]);
      await untilState(key, ({ cursor }) => cursor.endsWith(".4"));
      receiver.respond((response) => response.writeHead(503, { "Retry-After": "5" }).end());
      await server.engine.replaceEpochs();
      const [, , goneAgain] = await receiver.received(3);
      expect(typeOf(goneAgain)).toBe("storefront.gone");
      expect(idOf(goneAgain)).not.toBe(idOf(gone));
      receiver.respond(200);
      const [, , , repeated] = await receiver.received(4);
      expect([idOf(repeated), repeated?.body]).toEqual([idOf(goneAgain), goneAgain?.body]);
      await untilState(key, ({ goneAt }) => goneAt === null);
      await create("e");
      const all = await receiver.received(5);
      expect(namesIn(all.slice(4))).toEqual(["e"]);
      // Each event, except the repeated one, continues the one before.
      const chain = all.filter((_, n) => n !== 3).map(dataOf);
      expect(chain.slice(1).map(({ Since }) => Since)).toEqual(chain.slice(0, -1).map(({ Next }) => Next));
    });
    await withScene(server, async ({ receiver, site, create }) => {
      const folder = mkdtempSync(join(tmpdir(), "storefront-webhook-"));
      const added = { url: receiver.url, resources: [], since: "now" } as const;
      await createWebhook(server.engine, site, added, policy, Date.now());
      await backUp(server.engine, join(folder, "empty.backup"), Date.now());
      await create("a", "b", "c");
      expect(namesIn(await receiver.received(1))).toEqual(["a", "b", "c"]);
      await restore(server.engine, join(folder, "empty.backup"), join(folder, "kept"), Date.now());
      await create("d");
      expect(typeOf((await receiver.received(2))[1])).toBe("storefront.gone");
      await create("e");
      // How many deliveries the two changes take depends on the time between them.
      await waitUntil(async () => namesIn((await receiver.received(3)).slice(2)).at(-1) === "e", "the last change");
      rmSync(folder, { recursive: true, force: true });
    });
    await server.stop();
  });

  testScene(
    "of a sandbox gets `storefront.gone` after a renewal, then its changes, signed as before and with the sandbox's name",
    async ({ receiver, site, add, create }) => {
      const renew = () => makeSandbox(server.engine, site.Name, { now: Date.now });
      await create("a", "b");
      const { site: sandbox } = await renew();
      const { secret } = await add({ site: sandbox.ID });
      const [copied] = await receiver.received(1);
      expect(namesIn([copied as ReceivedEvent])).toEqual(["a", "b"]);
      await create("live only");
      const { site: renewed } = await renew();
      const gone = (await receiver.received(2))[1];
      expect([typeOf(gone), dataOf(gone)]).toEqual([
        "storefront.gone",
        { Site: `${site.Name}-sandbox`, Since: dataOf(copied).Next, Next: expect.stringMatching(/\.3$/) },
      ]);
      const brand = { resource: "brand", operation: "create", actor: "sfk_test_x", at: Date.now() } as const;
      await server.engine.commit([{ ...brand, site: renewed.ID, valuesJson: '{"Name":"in the sandbox"}' }]);
      const last = (await receiver.received(3))[2] as ReceivedEvent;
      expect(namesIn([last])).toEqual(["in the sandbox"]);
      expect([dataOf(last).Site, dataOf(last).Since]).toEqual([`${site.Name}-sandbox`, dataOf(gone).Next]);
      new Webhook(secret).verify(last.body, { ...last.headers });
    },
  );

  testScene(
    "sends `storefront.gone` if the database has lost delivered changes, and continues from there",
    async ({ receiver, site, add, create, untilState }) => {
      const key = await add();
      await create("a");
      await receiver.received(1);
      await untilState(key, ({ cursor, holder }) => cursor.endsWith(".1") && holder === null);
      const tables = ["sites", "records", "journal", "webhook_state"] as const;
      const ofSite = (table: string) => `${table === "sites" ? "id" : "site_id"} = ${site.ID}`;
      const kept: string[] = [];
      for (const table of tables) {
        const copy = `lost_${table}_${site.ID}`;
        await kind.run(server.database, `create table ${copy} as select * from ${table} where ${ofSite(table)}`);
        kept.push(
          `delete from ${table} where ${ofSite(table)}; insert into ${table} select * from ${copy}; drop table ${copy}`,
        );
      }
      await create("b", "c");
      await receiver.received(2);
      await untilState(key, ({ cursor, holder }) => cursor.endsWith(".3") && holder === null);
      await kind.run(server.database, `begin; ${kept.join("; ")}; commit`);
      const gone = (await receiver.received(3))[2];
      expect([typeOf(gone), dataOf(gone).Next]).toEqual(["storefront.gone", dataOf(receiver.events[0]).Next]);
      await untilState(key, ({ goneAt }) => goneAt === null);
      await create("x", "y");
      const [, lost, , others] = await receiver.received(4);
      expect([dataOf(others).Since, namesIn([others as ReceivedEvent])]).toEqual([dataOf(gone).Next, ["x", "y"]]);
      // The revisions are the same, but the page is another.
      expect(idOf(others)).not.toBe(idOf(lost));
    },
  );

  testScene("waits while its site is suspended", async ({ receiver, site, add, create }) => {
    await setSite(server.engine, site.Name, { isSuspended: true }, Date.now());
    await add();
    await create("a");
    await waitForScan(server);
    expect(receiver.events).toEqual([]);
    await setSite(server.engine, site.Name, { isSuspended: false }, Date.now());
    expect(namesIn(await receiver.received(1))).toEqual(["a"]);
  });

  testScene("is not delivered from a copy of the database", async ({ receiver, add, create }) => {
    await add({ home: "elsewhere" });
    await add();
    await create("a");
    await receiver.received(1);
    await waitForScan(server);
    expect(receiver.events).toHaveLength(1);
  });

  testScene("when rewound delivers again, with other IDs", async ({ receiver, add, create, stateOf, untilState }) => {
    const key = await add();
    await create("a", "b");
    const [first] = await receiver.received(1);
    await untilState(key, ({ first, cursor }) => first === 0 && cursor !== "0.0");
    const { cursor } = await stateOf(key);
    await server.engine.compareAndSetWebhook(
      key,
      { cursor, rewinds: 0, resumes: 0 },
      { cursor: "0.0", rewinds: 1, first: 0, last: 0 },
    );
    const [, again] = await receiver.received(2);
    expect([idOf(again), dataOf(again)]).toEqual([`${idOf(first)}_1`, { ...dataOf(first), Since: dataOf(first).Next }]);
  });

  testScene("is signed with every valid secret", async ({ receiver, add, create }) => {
    const key = await add();
    const secrets = [key.secret, ...[1, 2].map((n) => `whsec_${Buffer.alloc(32, n).toString("base64")}`)];
    const rotate = (secret: string | undefined, until: number) =>
      server.engine.rotateWebhookSecret(key, secret as string, Date.now(), until);
    const isSigned = ({ body, headers }: ReceivedEvent) =>
      secrets.map((secret) => {
        try {
          return Boolean(new Webhook(secret).verify(body, { ...headers }));
        } catch {
          return false;
        }
      });
    await rotate(secrets[1], Date.now() + 60_000);
    await create("a");
    expect((await receiver.received(1)).map(isSigned)).toEqual([[true, true, false]]);
    await rotate(secrets[2], Date.now() - 1);
    await create("b");
    expect((await receiver.received(2)).map(isSigned)[1]).toEqual([false, false, true]);
  });

  test.concurrent("is taken over at once from a server that is stopped during a request", async () => {
    const settings = { DATABASE: await kind.newDatabase() };
    const first = await startTestServer({ settings, webhookClock });
    const receiver = await startReceiver();
    receiver.respond(() => {});
    await createTestWebhook(first.engine, first.site.ID, receiver.url);
    await first.call("POST", "/restapi/brands.json", { body: { Name: "a" } });
    await receiver.received(1);
    const second = await start(readConfig({ PORT: "0", ADMIN: "none", LOG: "silent", ...settings }), { webhookClock });
    receiver.respond(200);
    const stoppedAt = Date.now();
    await first.stop();
    const [event, again] = await receiver.received(2);
    expect([idOf(again), again?.body]).toEqual([idOf(event), event?.body]);
    // Otherwise its lease would have lasted 25 seconds.
    expect(Date.now() - stoppedAt).toBeLessThan(15_000);
    await second.stop();
    await receiver.stop();
  });

  testScene("has its lag in the metrics", async ({ receiver, add, create }) => {
    receiver.respond(500);
    const { webhook } = await add();
    await changeRecord(server, (await add()).webhook, { Paused: "2030-01-01T00:00:00.000Z" });
    await create("a", "b", "c");
    await receiver.received(1);
    const label = `{webhook="${webhook}"}`;
    const metrics = await waitUntil(async () => {
      const text = await server.metrics();
      return text.includes(`storefront_webhook_lag_changes${label} 3`) && text;
    }, "the lag");
    expect(metrics).toContain(`storefront_webhook_lag_seconds${label}`);
    expect(metrics).toMatch(/storefront_webhooks_behind [1-9]/);
    expect(metrics).toMatch(/storefront_webhooks_paused [1-9]/);
  });

  testScene(
    "keeps its lag in the metrics and is counted if it gave up, but not if an operator paused it",
    async ({ receiver, add, create }) => {
      const givenUp = (text: string) => Number(/^storefront_webhooks_given_up (\d+)$/m.exec(text)?.[1]);
      receiver.respond(410);
      const { webhook } = await add();
      const other = (await add()).webhook;
      await changeRecord(server, other, { Paused: "2030-01-01T00:00:00.000Z", Reason: "an operator paused it" });
      const quiet = (await add({ resources: "locations" })).webhook;
      const gone = "the receiver responded with 410 (gone)";
      await changeRecord(server, quiet, { Paused: "2030-01-01T00:00:00.000Z", Reason: gone });
      await create("a", "b", "c");
      const lag = (id: number, changes: number) => `storefront_webhook_lag_changes{webhook="${id}"} ${changes}`;
      await waitUntil(async () => {
        const text = await server.metrics();
        // Other tests running on this server have webhooks that give up too.
        const isQuiet = [other, quiet].every((id) => !text.includes(`webhook="${id}"`));
        return givenUp(text) > 1 && text.includes(lag(webhook, 3)) && isQuiet;
      }, "the lag of the webhook that gave up, and none of the one an operator paused, or whose resources didn't change");
      await create("d");
      await waitUntil(async () => (await server.metrics()).includes(lag(webhook, 4)), "a greater lag");
    },
  );
});
