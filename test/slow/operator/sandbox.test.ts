// Copying a site to its sandbox: records, renewals, and copies that are stopped, fail or meet other changes. sandbox-rules.test.ts has the rules that
// follow from being a sandbox.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Intent } from "../../../src/model/change.ts";
import type { DumpedRow, Engine } from "../../../src/model/engine.ts";
import { ProblemError } from "../../../src/model/errors.ts";
import type { WebhookRef } from "../../../src/model/webhooks.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey, listKeys, revokeKey } from "../../../src/operator/sites/keys.ts";
import { completeRemovals, removeSite } from "../../../src/operator/sites/site-removal.ts";
import { createSite, getSite, listSites, setSite } from "../../../src/operator/sites/sites.ts";
import { createWebhook } from "../../../src/operator/webhooks/webhook-creation.ts";
import { getWebhook, listWebhooks, webhookRefOf } from "../../../src/operator/webhooks/webhook-list.ts";
import {
  pauseWebhook,
  removeWebhook,
  resumeWebhook,
  rewindWebhook,
  rotateWebhook,
} from "../../../src/operator/webhooks/webhooks.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { withActor } from "../../../src/system/with-actor.ts";
import { engines } from "../../support/engine/engines.ts";
import { createBrand, createIntent, deleteBrand } from "../../support/engine/intents.ts";
import { problemOf } from "../../support/failure.ts";

const now = Date.parse("2026-01-31T12:00:00Z");
const later = now + 61_000;
const policy = { allow: [], isLoopbackAllowed: true, lookup: async () => [] };

describe.each(engines)("a site's sandbox on $name", (kind) => {
  let address: string;
  let engine: Engine;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    await engine?.close();
    address = await kind.newDatabase();
    engine = await openEngine(address, allResources);
    await createSite(engine, "garden", { hostnames: ["garden.example"], isDefault: true }, now);
    await engine.commit([createBrand(1, "Acme"), createBrand(1, "Gone"), createBrand(1, "Bolt"), deleteBrand(1, 2)]);
  });
  afterAll(async () => {
    await engine.close();
    await kind.close();
  });

  const make = (using = engine, options: Partial<Parameters<typeof makeSandbox>[2]> = {}) =>
    makeSandbox(using, "garden", { now: () => now, ...options });
  const rowsOf = async (site: number, table: string): Promise<DumpedRow["row"][]> =>
    (await Array.fromAsync(engine.dump(site))).filter((row) => row.table === table).map(({ row }) => row);
  const bodiesOf = async (site: number) => (await rowsOf(site, "records")).map(({ body }) => String(body));
  const siteNames = async () => (await listSites(engine)).map(({ Name }) => Name);
  const epochOf = async (site: number) => (await engine.readHeads([site]))[0]?.epoch;
  const addWebhook = async (site: string, using = engine) =>
    createWebhook(
      using,
      await getSite(engine, site),
      { url: "http://127.0.0.1:9/", resources: [], since: "now" },
      policy,
      now,
    );
  const stateOf = async (ref: WebhookRef) => (await engine.readWebhookStates([ref]))[0];

  /** Calls `between` once, before the copy's first batch is committed. */
  const beforeFirstBatch = (between: () => Promise<unknown>): Engine =>
    beforeCommit(({ site, ifEpoch }) => site > 1 && ifEpoch !== undefined, between);
  /** Calls `between` once, before the commit that publishes the copy. */
  const beforePublication = (between: () => Promise<unknown>): Engine =>
    beforeCommit(({ site, operation, valuesJson }) => {
      return site === 0 && operation === "update" && valuesJson.includes('"Importing":""');
    }, between);
  function beforeCommit(isMeant: (first: Intent) => boolean, between: () => Promise<unknown>): Engine {
    let isDone = false;
    return {
      ...engine,
      async commit(intents, options) {
        if (!isDone && isMeant(intents[0] as Intent)) {
          isDone = true;
          await between();
        }
        return engine.commit(intents, options);
      },
    };
  }

  test("has the records with their IDs, but no deleted ones or hostnames, and its own journal", async () => {
    const made = await make(withActor(engine, "operator:anna", "run1"));
    expect(made).toMatchObject({ isNew: true, records: 2, keys: 0, webhooks: 0, leftover: undefined });
    expect(made.live).toMatchObject({ ID: 1, Name: "garden" });
    expect(made.site).toEqual({
      ID: 2,
      Name: "garden-sandbox",
      Hostnames: "",
      Default: "",
      Suspended: "",
      Importing: "",
      SandboxOf: "1",
      KeyWebhooks: "",
      UID: made.site.UID,
    });
    expect(await bodiesOf(2)).toEqual(['{"ID":1,"Name":"Acme"}', '{"ID":3,"Name":"Bolt"}']);
    expect(await rowsOf(2, "journal")).toMatchObject([
      { revision: 1, operation: "create", id: 1, at: now, actor: "operator:anna", run: "run1" },
      { revision: 2, operation: "create", id: 3, at: now, actor: "operator:anna", run: "run1" },
    ]);
    expect(await epochOf(2)).not.toBe(await epochOf(1));
    const [created] = await engine.commit([createBrand(2, "New")]);
    expect(created).toMatchObject({ id: 4, revision: 3 });
    expect(await bodiesOf(1)).toHaveLength(3);
    expect(await engine.findInconsistencies()).toEqual([]);
  });
  if (kind.name === "PostgreSQL") return;

  test("keeps members and resources of a newer program, and all records of several batches", async () => {
    const newer = createIntent({ resource: "newer-thing", values: { Odd: { "2": "two", Deep: [1, null] } } });
    const brands = Array.from({ length: 1200 }, (_, index) => createBrand(1, `Brand ${index}`));
    await engine.commit([newer, createIntent({ values: { Name: "Extra", Unknown: "kept" } }), ...brands]);
    const counts: number[] = [];
    const { records } = await make(engine, { onRecords: (count) => void counts.push(count) });
    expect([records, counts]).toEqual([1204, [500, 1000, 1204]]);
    const bodies = await bodiesOf(2);
    expect(bodies).toContain('{"ID":1,"Odd":{"2":"two","Deep":[1,null]}}');
    expect(bodies).toContain('{"ID":4,"Name":"Extra","Unknown":"kept"}');
    expect(bodies.toSorted()).toEqual((await bodiesOf(1)).filter((body) => body !== "null").toSorted());
  });

  test("is renewed as a new site with its keys, even revoked ones, and their last uses", async () => {
    const { site } = await make();
    const { record } = await createKey(engine, site, { label: "test till" }, now);
    const revoked = await createKey(engine, site, {}, now);
    await revokeKey(engine, revoked.record.Prefix, now);
    await createKey(engine, await getSite(engine, "garden"), {}, now);
    await engine.saveKeyUses(new Map([[record.ID, now + 5]]));
    await engine.commit([createBrand(site.ID, "Only in the sandbox")]);
    await engine.commit([createBrand(1, "New")]);
    const renewed = await make();
    expect(renewed).toMatchObject({ isNew: false, records: 3, keys: 2, webhooks: 0, leftover: undefined });
    expect(renewed.site).toMatchObject({ ID: 3, Name: "garden-sandbox", SandboxOf: "1", Importing: "" });
    const keys = await listKeys(engine, renewed.site);
    expect(keys.map(({ ID, siteName, Label }) => [ID, siteName, Label])).toEqual([
      [record.ID, "garden-sandbox", "test till"],
      [revoked.record.ID, "garden-sandbox", ""],
    ]);
    expect(keys[0]?.lastUsed?.getTime()).toBe(now + 5);
    expect(keys[1]?.Revoked).not.toBe("");
    expect(await bodiesOf(3)).toHaveLength(3);
    expect(await rowsOf(2, "records")).toEqual([]);
    expect(await engine.readSitesToDrop()).toEqual([]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("is renewed with its webhooks, which tell their receivers to read the lists again", async () => {
    const { site } = await make();
    const { webhook, secret } = await addWebhook("garden-sandbox");
    const incomplete = await addWebhook("garden-sandbox");
    await engine.deleteWebhook(webhookRefOf(incomplete.webhook));
    await pauseWebhook(engine, webhook.ID, now);
    const before = (await stateOf(webhookRefOf(webhook))) as object;
    const renewed = await make();
    expect(renewed).toMatchObject({ webhooks: 2 });
    const [carried, other] = await listWebhooks(engine, renewed.site);
    expect(carried).toMatchObject({ siteName: "garden-sandbox", status: "paused", detail: "paused by an operator" });
    expect(carried?.state).toEqual({ ...before, site: renewed.site.ID } as never);
    expect(carried?.state?.epoch).not.toBe(await epochOf(renewed.site.ID));
    expect(carried?.backlog).toBeUndefined();
    expect(other?.status).toBe("incomplete");
    const ref = { site: renewed.site.ID, webhook: webhook.ID };
    expect((await engine.readWebhookSecrets(ref)).map((one) => one.secret)).toEqual([secret]);
    expect(await stateOf({ site: site.ID, webhook: webhook.ID })).toBeUndefined();
  });

  test("keeps what operators do to its webhooks during a renewal", async () => {
    await make();
    const [rotated, rewound, removed] = [
      await addWebhook("garden-sandbox"),
      await addWebhook("garden-sandbox"),
      await addWebhook("garden-sandbox"),
    ];
    const ids = [rotated, rewound, removed].map(({ webhook }) => webhook.ID) as [number, number, number];
    let secret = "";
    let added = 0;
    const { site } = await make(
      beforePublication(async () => {
        secret = (await rotateWebhook(engine, ids[0], now)).secret;
        await rewindWebhook(engine, ids[1], "now");
        await removeWebhook(engine, ids[2], now);
        added = (await addWebhook("garden-sandbox")).webhook.ID;
      }),
    );
    const secrets = await engine.readWebhookSecrets({ site: site.ID, webhook: ids[0] });
    expect(secrets.map((one) => one.secret)).toEqual([secret, rotated.secret]);
    expect((await getWebhook(engine, ids[1])).state).toMatchObject({ site: site.ID, rewinds: 1 });
    expect((await getWebhook(engine, added)).state).toMatchObject({ site: site.ID, rewinds: 0 });
    expect((await engine.readWebhookStates()).map(({ webhook }) => webhook)).toEqual([ids[0], ids[1], added]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("keeps the effect of a webhook action that started before a renewal and ended after it", async () => {
    await make();
    const { webhook, secret } = await addWebhook("garden-sandbox");
    /** Calls an action that renews the sandbox before its first call of this method. */
    const during = <T>(
      method: "rotateWebhookSecret" | "compareAndSetWebhook" | "saveWebhook" | "deleteWebhook",
      action: (using: Engine) => Promise<T>,
    ) => {
      let isDone = false;
      const call = async (...args: unknown[]) => {
        if (!isDone) await make();
        isDone = true;
        return (engine[method] as (...args: unknown[]) => Promise<unknown>)(...args);
      };
      return action({ ...engine, [method]: call });
    };
    const rotated = await during("rotateWebhookSecret", (using) => rotateWebhook(using, webhook.ID, now));
    const { ID: second } = await getSite(engine, "garden-sandbox");
    const secrets = await engine.readWebhookSecrets({ site: second, webhook: webhook.ID });
    expect(secrets.map((one) => one.secret)).toEqual([rotated.secret, secret]);
    const resumed = await during("compareAndSetWebhook", (using) => resumeWebhook(using, webhook.ID, policy, now));
    expect(resumed).toMatchObject({ status: "active", state: { site: second + 1, resumes: 1 } });
    const added = await during("saveWebhook", (using) => addWebhook("garden-sandbox", using));
    expect(added.webhook).toMatchObject({ status: "active", state: { site: second + 2 } });
    await during("deleteWebhook", (using) => removeWebhook(using, webhook.ID, now));
    expect((await engine.readWebhookStates()).map(({ webhook: id }) => id)).toEqual([added.webhook.ID]);
  });

  test("keeps the progress of deliveries that end during a renewal, unless a server already delivered from the new copy", async () => {
    const { site } = await make();
    const [first, second] = [
      (await addWebhook("garden-sandbox")).webhook,
      (await addWebhook("garden-sandbox")).webhook,
    ];
    await engine.commit([createBrand(site.ID, "Delivered")]);
    const expected = { cursor: first.state?.cursor as string, rewinds: 0, resumes: 0 };
    const progress = { cursor: "3.x", since: "3.x" };
    const renewed = await make(
      beforePublication(async () => {
        for (const { ID } of [first, second])
          await engine.compareAndSetWebhook({ site: site.ID, webhook: ID }, expected, progress);
        await engine.compareAndSetWebhook({ site: site.ID + 1, webhook: second.ID }, expected, { cursor: "2.y" });
      }),
    );
    const stored = await listWebhooks(engine, renewed.site);
    expect(stored.map(({ state }) => [state?.cursor, state?.since])).toEqual([
      ["3.x", "3.x"],
      ["2.y", null],
    ]);
  });

  test("can be made from an empty site, and from a suspended one", async () => {
    await createSite(engine, "empty", {}, now);
    await setSite(engine, "empty", { isSuspended: true }, now);
    const made = await makeSandbox(engine, "empty", { now: () => now });
    expect(made).toMatchObject({ records: 0, site: { Name: "empty-sandbox", Suspended: "" } });
    expect((await engine.readHeads([made.site.ID]))[0]).toMatchObject({ revision: 0 });
  });

  test("isn't made if its name is taken, of a sandbox, or of an unknown site", async () => {
    await createSite(engine, "garden-sandbox", {}, now);
    expect((await problemOf(make()))?.[1]).toStartWith("another site is already called `garden-sandbox`");
    expect(await siteNames()).toEqual(["garden", "garden-sandbox"]);
    await setSite(engine, "garden-sandbox", { name: "other" }, now);
    await make();
    const ofSandbox = problemOf(makeSandbox(engine, "garden-sandbox", { now: () => now }));
    expect(await ofSandbox).toEqual([
      "conflict",
      "`garden-sandbox` is a sandbox itself; to refresh it, run `site sandbox garden`",
    ]);
    const ofUnknown = await problemOf(makeSandbox(engine, "gardn", { now: () => now }));
    expect(ofUnknown).toEqual(["not-found", "unknown site `gardn`: did you mean `garden`?"]);
  });

  test("is made by one process at a time", async () => {
    for (const isNew of [true, false]) {
      let failure: unknown;
      const made = await make(
        beforeFirstBatch(async () => {
          failure = await problemOf(make());
        }),
      );
      expect(made.isNew).toBe(isNew);
      const what = "the sandbox of `garden` is already being copied";
      const how = "if that was interrupted, try again after 2026-01-31T12:01:00.000Z";
      expect(failure).toEqual(["conflict", `${what}; ${how}`]);
    }
    expect(await siteNames()).toEqual(["garden", "garden-sandbox"]);
  });

  test("lets others write while it's copied, and has the records as of one moment", async () => {
    const made = await make(beforeFirstBatch(() => engine.commit([createBrand(1, "Meanwhile"), deleteBrand(1, 1)])));
    expect(await bodiesOf(made.site.ID)).toEqual(['{"ID":1,"Name":"Acme"}', '{"ID":3,"Name":"Bolt"}']);
  });

  test("keeps a new name and key given to it during a renewal", async () => {
    const { site } = await make();
    let key = 0;
    const renewed = await make(
      beforePublication(async () => {
        await setSite(engine, "garden", { name: "park" }, now);
        key = (await createKey(engine, site, {}, now)).record.ID;
      }),
    );
    expect([renewed.live.Name, renewed.site.Name]).toEqual(["park", "park-sandbox"]);
    expect((await listKeys(engine, renewed.site)).map(({ ID }) => ID)).toEqual([key]);
    // The site as it was read before the renewal.
    const { record } = await createKey(engine, site, {}, now);
    const { webhook } = await createWebhook(
      engine,
      site,
      { url: "http://127.0.0.1:9/", resources: [], since: "now" },
      policy,
      now,
    );
    expect([record.Site, webhook.Site]).toEqual([String(renewed.site.ID), String(renewed.site.ID)]);
    expect(webhook.state).toMatchObject({ site: renewed.site.ID, epoch: await epochOf(renewed.site.ID) });
  });

  test.each([
    ["garden", "the site `garden` was removed during the copy"],
    ["garden-sandbox", "the sandbox of `garden` was removed during the copy, or the database was restored or renewed"],
  ])("leaves nothing if %s is removed while it's copied or published", async (name, why) => {
    for (const during of [beforeFirstBatch, beforePublication]) {
      await make();
      await addWebhook("garden-sandbox");
      const failure = await problemOf(make(during(() => removeSite(engine, name, now))));
      expect(failure).toEqual(["conflict", `${why}; nothing was kept`]);
      expect(await siteNames()).toEqual(name === "garden" ? [] : ["garden"]);
      expect(await engine.readSitesToDrop()).toEqual([]);
      expect(await engine.readWebhookStates()).toEqual([]);
      if (name !== "garden") continue;
      const { ID } = await createSite(engine, "garden", {}, now);
      await engine.commit([createBrand(ID, "Acme")]);
    }
  });

  test("is unchanged if the work is stopped or fails", async () => {
    const stop = new AbortController();
    const stopping = beforeFirstBatch(async () => stop.abort());
    expect(await problemOf(make(stopping, { signal: stop.signal }))).toEqual([
      "conflict",
      "the copy was stopped; nothing was kept",
    ]);
    expect(await siteNames()).toEqual(["garden"]);
    const { site } = await make();
    expect(await problemOf(make(engine, { signal: AbortSignal.abort() }))).toEqual([
      "conflict",
      "the copy was stopped; the sandbox of `garden` is as it was",
    ]);
    for (const during of [beforeFirstBatch, beforePublication]) {
      const failing = during(() => Promise.reject(new ProblemError("unavailable", "the disk is full")));
      expect(await problemOf(make(failing))).toEqual(["unavailable", "the disk is full"]);
      expect((await listSites(engine)).at(-1)).toEqual(site);
    }
    expect(await bodiesOf(site.ID)).toHaveLength(2);
    expect(await engine.readSitesToDrop()).toEqual([]);
  });

  test("isn't published if its copy lacks records, or the database was restored", async () => {
    await make();
    const lossy: Engine = {
      ...engine,
      readHeads: async (sites) =>
        (await engine.readHeads(sites)).map((head, n) => ((sites[n] ?? 0) > 2 ? { ...head, revision: 1 } : head)),
    };
    expect((await problemOf(make(lossy)))?.[0]).toBe("conflict");
    const restored = beforePublication(() => engine.replaceEpochs());
    expect((await problemOf(make(restored)))?.[0]).toBe("conflict");
    expect((await listSites(engine)).map(({ ID }) => ID)).toEqual([1, 2]);
  });

  test("is published even if its former records can't be deleted, and the next command deletes them", async () => {
    await make();
    const failing: Engine = {
      ...engine,
      dropSite: () => Promise.reject(new ProblemError("unavailable", "the disk is full")),
    };
    const { site, leftover } = await make(failing);
    expect(leftover).toBe(
      "its old records aren't all deleted yet (the disk is full); the next command you run will finish that",
    );
    expect(await getSite(engine, "garden-sandbox")).toEqual(site);
    expect(await rowsOf(2, "records")).toHaveLength(2);
    expect(await completeRemovals(engine, now)).toHaveLength(1);
    expect(await rowsOf(2, "records")).toEqual([]);
  });

  test("left incomplete by a killed process is removed once its reservation ends, by a command or the next renewal", async () => {
    const { site } = await make();
    const killed = {
      ...beforePublication(() => Promise.reject(new Error("killed"))),
      dropSite: () => Promise.reject(),
    };
    let isKilled = false;
    const dead: Engine = {
      ...killed,
      commit: async (intents, options) => {
        if (isKilled) throw new Error("killed");
        return killed.commit(intents, options).catch((error) => {
          isKilled = true;
          throw error;
        });
      },
    };
    expect(await problemOf(make(dead))).toEqual(new Error("killed"));
    expect(await siteNames()).toEqual(["garden", "garden-sandbox", "sandbox-of-1-being-made"]);
    expect(await getSite(engine, "garden-sandbox")).toEqual(site);
    expect((await problemOf(make()))?.[1]).toContain("is already being copied");
    const renewed = await make(engine, { now: () => later });
    expect(renewed).toMatchObject({ records: 2, site: { ID: 4 } });
    expect(await rowsOf(3, "records")).toEqual([]);
    expect(await siteNames()).toEqual(["garden", "garden-sandbox"]);
  });
});
