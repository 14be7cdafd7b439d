// What operators can do with webhooks, and how changes to a site or the database affect its webhooks.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { systemSite } from "../../src/model/system-site.ts";
import { isWebhookSecret } from "../../src/model/webhooks.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite, getSite, setSite, summarizeSite } from "../../src/operator/sites/sites.ts";
import type { DeliveryStart } from "../../src/operator/webhooks/delivery-start.ts";
import { createWebhook } from "../../src/operator/webhooks/webhook-creation.ts";
import { getWebhook, listWebhooks, toWebhookInfo, webhookRefOf } from "../../src/operator/webhooks/webhook-list.ts";
import {
  changeWebhookUrl,
  pauseWebhook,
  removeWebhook,
  resumeWebhook,
  retryWebhook,
  rewindWebhook,
  rotateWebhook,
} from "../../src/operator/webhooks/webhooks.ts";
import { allResources } from "../../src/resources/all.ts";
import { readCursorAt, readFeedPage } from "../../src/store/changes/feed.ts";
import { openEngine } from "../../src/store/open.ts";
import type { SiteRecord } from "../../src/system/system-records.ts";
import { withActor } from "../../src/system/with-actor.ts";
import type { AddressPolicy } from "../../src/webhooks/address-policy.ts";
import { engines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";

const now = Date.parse("2026-01-31T12:00:00Z");
const url = "https://erp.example/hooks";
const names: Record<string, string[]> = { "erp.example": ["93.184.216.34"], "inside.example": ["10.0.0.7"] };
const policy: AddressPolicy = {
  allow: [],
  isLoopbackAllowed: true,
  lookup: async (name) => names[name] ?? Promise.reject(new Error("no such name")),
};
const resourceOf = (name: string) => allResources.filter((resource) => resource.name === name);
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    ({ code }) => code,
  );

describe.each(engines)("webhooks on $name", (kind) => {
  let address: string;
  let engine: Engine;
  let site: SiteRecord;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    await engine?.close();
    address = await kind.newDatabase();
    engine = await openEngine(address, allResources);
    site = await createSite(engine, "shop", {}, now);
  });
  afterAll(async () => {
    await engine.close();
    await kind.close();
  });

  const add = (since: DeliveryStart = "now", to = url, resource = "") =>
    createWebhook(engine, site, { url: to, resources: resourceOf(resource), since }, policy, now);
  const change = (at: number) => engine.commit([createIntent({ site: site.ID, at })]);
  const cursorOf = async (revision: number) =>
    readCursorAt(engine, site.ID, { revision, epoch: (await engine.readHeads([site.ID]))[0]?.epoch ?? "" });
  const stateOf = async (id: number) => (await getWebhook(engine, id)).state;

  test("a new URL keeps the secret and the cursor, and the change is in the journal", async () => {
    await change(now);
    const { webhook, secret } = await add();
    const key = webhookRefOf(webhook);
    const { cursor = "" } = webhook.state ?? {};
    const failing = { failures: 3, failingSince: now, nextAt: now + 60_000 };
    await engine.compareAndSetWebhook(key, { cursor, rewinds: 0, resumes: 0 }, failing);
    for (const [to, code] of [
      ["http://erp.example/", "bad-request"],
      ["https://inside.example/", "bad-request"],
      ["", "bad-request"],
    ] as const)
      expect([to, await codeOf(changeWebhookUrl(engine, webhook.ID, to, policy, now))]).toEqual([to, code]);
    expect(await codeOf(changeWebhookUrl(engine, 99, url, policy, now))).toBe("not-found");
    const changed = await changeWebhookUrl(engine, webhook.ID, "https://unknown.example/a", policy, now);
    expect([changed.isResolved, changed.webhook.URL]).toEqual([false, "https://unknown.example/a"]);
    expect(changed.webhook).toMatchObject({ status: "active", state: { cursor, failures: 0, nextAt: 0, resumes: 1 } });
    expect((await engine.readWebhookSecrets(key)).map((one) => one.secret)).toEqual([secret]);
    const { entries } = await engine.readJournalPage(systemSite, 0, 100);
    expect(entries.at(-1)).toMatchObject({ operation: "update", resource: "webhook", id: webhook.ID });
    const again = await changeWebhookUrl(engine, webhook.ID, "https://unknown.example/a", policy, now);
    expect(again.webhook.state?.resumes).toBe(1);
  });
  if (kind.name === "PostgreSQL") return;

  test("retry is immediate, but not twice in five seconds, nor during a delivery or a pause", async () => {
    const { webhook } = await add();
    const key = webhookRefOf(webhook);
    const set = (update: object) =>
      engine.compareAndSetWebhook(key, { cursor: webhook.state?.cursor ?? "", rewinds: 0, resumes: 0 }, update);
    const retry = (at: number) => codeOf(retryWebhook(engine, webhook.ID, at));
    expect(await retry(now)).toBe("done");
    await set({ failures: 3, failingSince: now - 1000, nextAt: now + 3_600_000 });
    await engine.addWebhookAttempt(key, { at: now, status: 500, milliseconds: 1, fault: "500" });
    expect(await retry(now + 4999)).toBe("too-many-requests");
    await set({ holder: "a server", leaseUntil: now + 20_000 });
    expect(await retry(now + 5001)).toBe("conflict");
    await set({ holder: null, leaseUntil: 0 });
    expect(await retry(now + 5001)).toBe("done");
    expect(await stateOf(webhook.ID)).toMatchObject({ nextAt: 0, failures: 2, failingSince: now - 1000, resumes: 0 });
    expect(await retry(now + 5002)).toBe("done");
    await pauseWebhook(engine, webhook.ID, now);
    expect(await retry(now + 9000)).toBe("conflict");
    expect(await codeOf(retryWebhook(engine, 99, now))).toBe("not-found");
  });

  test("a new site's webhook belongs to its epoch", async () => {
    const [head] = await engine.readHeads([site.ID]);
    expect(head).toMatchObject({ revision: 0, epoch: expect.stringMatching(/./) });
    const { webhook } = await add();
    expect(webhook.state).toMatchObject({ cursor: "0.0", epoch: head?.epoch });
  });

  test("a new webhook starts with the next change, has its own secret, and belongs to this database", async () => {
    await change(now);
    const { webhook, secret, isResolved } = await add();
    const other = await add();
    expect([isWebhookSecret(secret), isResolved, secret === other.secret]).toEqual([true, true, false]);
    expect(webhook).toMatchObject({
      ID: 1,
      Site: "1",
      URL: url,
      siteName: "shop",
      status: "active",
      detail: "",
      backlog: { changes: 0, isMinimum: false },
    });
    expect(webhook.state).toMatchObject({ home: await engine.readDatabaseId(), rewinds: 0, first: 0, holder: null });
    expect(await engine.readWebhookSecrets({ site: 1, webhook: 1 })).toEqual([{ secret, createdAt: now, until: null }]);
    await change(now);
    expect((await getWebhook(engine, 1)).backlog?.changes).toBe(1);
    expect(await engine.findInconsistencies()).toEqual([]);
    expect((await summarizeSite(engine, "shop", now)).webhooks).toBe(2);
  });

  test("a new webhook can start at a cursor or time", async () => {
    for (const at of [1, 5, 9]) await change(now + at);
    const page = await readFeedPage(engine, 1, {
      since: undefined,
      limit: 2,
      resources: new Set(["brand"]),
      isCollapsed: false,
    });
    const cases: [DeliveryStart, number][] = [
      ["now", 3],
      [{ cursor: "0.0" }, 0],
      [{ cursor: page.next }, 2],
      [{ at: now }, 0],
      [{ at: now + 5 }, 1],
      [{ at: now + 6 }, 2],
      [{ at: now + 99 }, 3],
    ];
    for (const [point, revision] of cases)
      expect([point, (await add(point)).webhook.backlog?.changes]).toEqual([point, 3 - revision]);
    expect(await codeOf(add({ cursor: "0123456789ab.2" }))).toBe("gone");
    expect(await codeOf(add({ cursor: page.next.replace(".2", ".3") }))).toBe("gone");
    await engine.pruneJournal(1, 2, 10);
    expect(await codeOf(add({ cursor: "0.0" }))).toBe("gone");
    expect(await codeOf(add({ at: now + 5 }))).toBe("gone");
    expect((await add({ at: now + 9 })).webhook.backlog?.changes).toBe(1);
    expect((await listWebhooks(engine)).length).toBe(cases.length + 1);
  });

  test("the backlog counts the changes to a webhook's resources, a limited number of entries at a time", async () => {
    const { webhook } = await add("now", url, "location");
    const backlog = async () => (await getWebhook(engine, webhook.ID)).backlog;
    const location = createIntent({ site: site.ID, resource: "location" });
    const brands = (count: number) => Array.from({ length: count }, () => createIntent({ site: site.ID }));
    await engine.commit([...brands(2), location, ...brands(1)]);
    expect(await backlog()).toEqual({ changes: 1, isMinimum: false });
    for (let i = 0; i < 26; i++) await engine.commit(brands(1000));
    await engine.commit([location]);
    // Each call counts what the ones before it haven't, also when they run at the same time.
    expect(await backlog()).toEqual({ changes: 1, isMinimum: true });
    expect(await Promise.all([backlog(), backlog()])).toMatchObject([{ changes: 2, isMinimum: false }, { changes: 2 }]);
    expect((await rewindWebhook(engine, webhook.ID, "now")).backlog).toEqual({ changes: 0, isMinimum: false });
    expect((await add({ cursor: "0.0" })).webhook.backlog).toEqual({ changes: 26_005, isMinimum: false });
    const { backlog: all } = (await add({ cursor: "0.0" }, url, "brand")).webhook;
    expect([all?.isMinimum, Number(all?.changes) >= 10_000]).toEqual([true, true]);
  });

  test("a pause says who did it and when, until the webhook is resumed", async () => {
    await add();
    const by = (actor: string) => withActor(engine, actor, "run");
    const pause = async (actor: string, at: number, reason?: string) =>
      toWebhookInfo(await pauseWebhook(by(actor), 1, at, reason));
    expect(await pause("sfk_AbCd1234", now, "paused by the API key sfk_AbCd1234")).toMatchObject({
      pausedBy: "sfk_AbCd1234",
    });
    const paused = { pausedBy: "console:anna", paused: new Date(now + 1).toISOString() };
    expect(await pause("console:anna", now + 1)).toMatchObject(paused);
    expect(await pause("operator:ben", now + 2)).toMatchObject(paused);
    expect(await pause("sfk_AbCd1234", now + 3, "paused by the API key sfk_AbCd1234")).toMatchObject(paused);
    expect(toWebhookInfo(await resumeWebhook(by("operator:ben"), 1, policy, now))).toMatchObject({
      ...{ paused: null, pausedBy: null, status: "active" },
    });
  });

  test("a site has at most 20 webhooks, even if they're added at the same time", async () => {
    for (let i = 0; i < 18; i++) await add();
    const added = await Promise.all(Array.from({ length: 6 }, () => codeOf(add())));
    expect(added.sort()).toEqual(["conflict", "conflict", "conflict", "conflict", "done", "done"]);
    expect(await listWebhooks(engine, site)).toHaveLength(20);
    const other = await createSite(engine, "other", {}, now);
    await createWebhook(engine, other, { url, resources: resourceOf("brand"), since: "now" }, policy, now);
    expect(await listWebhooks(engine, other)).toMatchObject([{ Resources: "brands" }]);
  });

  test("a database has at most 10,000 webhooks", async () => {
    await createSite(engine, "many", {}, now);
    const values = { Site: "2", URL: url, Resources: "", Created: "", Paused: "", Reason: "" };
    const stored = Array.from({ length: 9999 }, () => createIntent({ site: systemSite, resource: "webhook", values }));
    for (let at = 0; at < stored.length; at += 1000) await engine.commit(stored.slice(at, at + 1000));
    expect(await codeOf(add())).toBe("done");
    expect(await codeOf(add())).toBe("conflict");
  });

  test.each([
    ["http://erp.example/", "bad-request"],
    ["https://inside.example/", "bad-request"],
    ["https://10.0.0.7/", "bad-request"],
    ["https://[::ffff:169.254.169.254]/", "bad-request"],
    ["https://user:pass@erp.example/", "bad-request"],
    ["https://erp.example/\u001b[2J", "bad-request"],
    ["https://erp.example/\nX: y", "bad-request"],
    [`https://erp.example/${"x".repeat(2048)}`, "bad-request"],
    ["javascript:alert(1)", "bad-request"],
    ["", "bad-request"],
  ])("a webhook to %p is rejected, and nothing is stored", async (to, code) => {
    expect(await codeOf(add("now", to))).toBe(code);
    expect([await listWebhooks(engine), await engine.readWebhookStates()]).toEqual([[], []]);
  });

  test("a URL is normalized, may be http on this machine, and is saved with a warning if its name is unknown", async () => {
    const saved = async (to: string) => {
      const { webhook, isResolved } = await add("now", to);
      return [webhook.URL, isResolved];
    };
    expect(await saved("HTTPS://ERP.Example:443/a b".replace(" ", "%20"))).toEqual(["https://erp.example/a%20b", true]);
    expect(await saved("http://localhost:9000/x")).toEqual(["http://localhost:9000/x", expect.any(Boolean)]);
    expect(await saved("http://127.0.0.1:9000")).toEqual(["http://127.0.0.1:9000/", true]);
    expect(await saved("https://nowhere.example/ü")).toEqual(["https://nowhere.example/%C3%BC", false]);
  });

  test("pausing again keeps the first time and reason; resuming resets the failures and makes a delivery due at once", async () => {
    const { webhook } = await add();
    const values = { failures: 3, failingSince: now, nextAt: now + 99 };
    await engine.compareAndSetWebhook(webhookRefOf(webhook), { cursor: "0.0", rewinds: 0, resumes: 0 }, values);
    expect(await getWebhook(engine, 1)).toMatchObject({ status: "failing", detail: "since 2026-01-31T12:00:00.000Z" });
    const paused = { Paused: "2026-01-31T12:00:00.001Z", Reason: "paused by an operator", status: "paused" };
    expect(await pauseWebhook(engine, 1, now + 1)).toMatchObject(paused);
    const [before] = await engine.readHeads([systemSite]);
    expect(await pauseWebhook(engine, 1, now + 2)).toMatchObject(paused);
    expect((await engine.readHeads([systemSite]))[0]).toEqual(before as never);
    expect(await resumeWebhook(engine, 1, policy, now)).toMatchObject({ Paused: "", Reason: "", status: "active" });
    expect(await stateOf(1)).toMatchObject({ failures: 0, failingSince: null, nextAt: 0 });
    await setSite(engine, "shop", { isSuspended: true }, now);
    expect(await getWebhook(engine, 1)).toMatchObject({ status: "paused", detail: "the site is suspended" });
  });

  test("resuming checks the URL again", async () => {
    await add();
    const closed = { ...policy, lookup: async () => ["127.0.0.1"] };
    expect(await codeOf(resumeWebhook(engine, 1, closed, now))).toBe("bad-request");
  });

  test("a rewind moves the cursor, counts as one more rewind, and discards the page being delivered", async () => {
    for (const at of [1, 5, 9]) await change(now + at);
    const { webhook } = await add();
    const key = webhookRefOf(webhook);
    const cursor = webhook.state?.cursor as string;
    await engine.acquireWebhookLease(key, "runner", 60_000);
    const values = { first: 1, last: 3, goneAt: 4, failures: 2, failingSince: 1, nextAt: now * 2 } as const;
    await engine.compareAndSetWebhook(key, { holder: "runner", cursor, rewinds: 0, resumes: 0 }, values);
    expect(await rewindWebhook(engine, 1, { at: now + 5 })).toMatchObject({
      backlog: { changes: 2 },
      status: "active",
    });
    const none = { first: 0, last: 0, goneAt: null, failures: 0, failingSince: null, nextAt: 0 };
    expect(await stateOf(1)).toMatchObject({ rewinds: 1, ...none, holder: "runner" });
    expect(
      await engine.compareAndSetWebhook(key, { holder: "runner", cursor, rewinds: 0, resumes: 0 }, { cursor: "x" }),
    ).toBe(false);
    await Promise.all([0, 1, 2].map(() => rewindWebhook(engine, 1, { cursor: "0.0" })));
    expect(await stateOf(1)).toMatchObject({ rewinds: 4, cursor: "0.0" });
    expect(await codeOf(rewindWebhook(engine, 1, { cursor: "0123456789ab.2" }))).toBe("gone");
  });

  test("the first event after a rewind continues from the delivered changes, unless the rewind skipped some or the epoch changed", async () => {
    for (const at of [1, 2, 3]) await change(now + at);
    const { webhook } = await add({ cursor: "0.0" });
    const key = webhookRefOf(webhook);
    const cursors = await Promise.all([1, 2, 3].map((revision) => cursorOf(revision)));
    const delivered = { cursor: cursors[1] as string, since: cursors[0] as string };
    await engine.compareAndSetWebhook(key, { cursor: "0.0", rewinds: 0, resumes: 0 }, delivered);
    const sinceAfter = async (point: DeliveryStart) => (await rewindWebhook(engine, 1, point)).state?.since;
    expect(await sinceAfter({ cursor: "0.0" })).toBe(delivered.since);
    // A later rewind still skips the changes that were skipped.
    expect(await sinceAfter("now")).toBe(cursors[2]);
    expect(await sinceAfter({ cursor: cursors[1] as string })).toBe(cursors[2]);
    await engine.replaceEpochs();
    expect(await sinceAfter({ cursor: "0.0" })).toBe("0.0");
  });

  test("a rotation keeps the earlier secret for 24 hours, and two at the same time leave both new secrets valid", async () => {
    const { secret } = await add();
    const one = await rotateWebhook(engine, 1, now + 5);
    const until = now + 5 + 24 * 60 * 60_000;
    expect(await engine.readWebhookSecrets({ site: 1, webhook: 1 })).toEqual([
      { secret: one.secret, createdAt: now + 5, until: null },
      { secret, createdAt: now, until },
    ]);
    const both = await Promise.all([1, 2].map(() => rotateWebhook(engine, 1, now + 5)));
    const kept = (await engine.readWebhookSecrets({ site: 1, webhook: 1 })).map((stored) => stored.secret);
    expect(kept.sort()).toEqual(both.map((rotated) => rotated.secret).sort());
  });

  test("a removed webhook leaves no rows, and its ID isn't reused", async () => {
    await add();
    expect((await removeWebhook(engine, 1, now)).URL).toBe(url);
    for (const work of [
      () => getWebhook(engine, 1),
      () => pauseWebhook(engine, 1, now),
      () => removeWebhook(engine, 1, now),
      () => rewindWebhook(engine, 1, "now"),
      () => rotateWebhook(engine, 1, now),
    ])
      expect(await codeOf(work())).toBe("not-found");
    expect(await engine.readWebhookStates()).toEqual([]);
    expect((await add()).webhook.ID).toBe(2);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("a webhook whose secret can't be stored isn't added, and leaves no rows", async () => {
    const full = { ...engine, saveWebhook: () => Promise.reject(new Error("the disk is full")) };
    await expect(createWebhook(full, site, { url, resources: [], since: "now" }, policy, now)).rejects.toThrow("full");
    expect(await listWebhooks(engine)).toEqual([]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("an interrupted creation is listed as incomplete, can only be removed, and is found by `check`", async () => {
    const killed = () => Promise.reject(new Error("killed"));
    const dying = { ...engine, saveWebhook: killed, deleteWebhook: killed };
    await createWebhook(dying, site, { url, resources: [], since: "now" }, policy, now).catch(() => {});
    expect(await listWebhooks(engine)).toMatchObject([{ ID: 1, status: "incomplete", state: undefined }]);
    expect(await codeOf(resumeWebhook(engine, 1, policy, now))).toBe("conflict");
    expect(await codeOf(rewindWebhook(engine, 1, "now"))).toBe("conflict");
    expect(await codeOf(rotateWebhook(engine, 1, now))).toBe("conflict");
    expect(await engine.findInconsistencies()).toEqual([expect.stringContaining("webhook 1 is incomplete")]);
    await removeWebhook({ ...engine, commit: killed }, 1, now).catch(() => {});
    await removeWebhook(engine, 1, now);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("removing a site removes its webhooks", async () => {
    await createSite(engine, "other", {}, now);
    await add();
    await createWebhook(engine, await getSite(engine, "other"), { url, resources: [], since: "now" }, policy, now);
    await removeSite(engine, "shop", now);
    expect((await listWebhooks(engine)).map(({ siteName }) => siteName)).toEqual(["other"]);
    expect((await engine.readWebhookStates()).map((state) => state.site)).toEqual([2]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("`check` finds damaged webhooks, and states that belong to another site or no webhook", async () => {
    await add();
    await kind.run(address, "update webhook_secrets set secret = 'whsec_short'");
    expect(await engine.findInconsistencies()).toEqual(["webhook 1 has damaged secrets"]);
    await kind.run(address, "update webhook_state set cursor = 'x'");
    expect(await engine.findInconsistencies()).toEqual(["webhook 1 has a damaged cursor"]);
    await kind.run(address, "update webhook_state set site_id = 9");
    expect(await engine.findInconsistencies()).toEqual(["webhook 1 belongs to site 1, but its state to site 9"]);
    await kind.run(address, "update webhook_state set webhook_id = 9");
    expect([...(await engine.findInconsistencies())].sort()).toEqual([
      expect.stringContaining("webhook 1 is incomplete"),
      expect.stringContaining("webhook 9 has no record"),
    ]);
    await removeWebhook(engine, 1, now);
    expect(await engine.findInconsistencies()).toEqual([expect.stringContaining("webhook 9 has no record")]);
  });
});
