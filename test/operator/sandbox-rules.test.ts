// Rules for sandboxes: name, suspension, operators and end follow the live site; they have no settings or files of their own; key prefixes are longer.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { ProblemError } from "../../src/model/errors.ts";
import {
  canManage,
  createOperator,
  listOperators,
  managedSites,
  setOperator,
} from "../../src/operator/operators/operators.ts";
import { exportSite } from "../../src/operator/site-files/export-site.ts";
import { createKey, listKeys, revokeKey, rotateKey, setKey } from "../../src/operator/sites/keys.ts";
import {
  findSandboxRecord,
  requireLive,
  requireSandbox,
  requireSandboxName,
  sandboxName,
  suspensionOf,
} from "../../src/operator/sites/sandboxes.ts";
import { completeRemovals, removeIncompleteSite, removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite, getSite, listSites, setSite } from "../../src/operator/sites/sites.ts";
import { createWebhook } from "../../src/operator/webhooks/webhook-creation.ts";
import { listWebhooks } from "../../src/operator/webhooks/webhook-list.ts";
import { allResources } from "../../src/resources/all.ts";
import { key as keyResource } from "../../src/resources/key.ts";
import { site as siteResource } from "../../src/resources/site.ts";
import { openEngine } from "../../src/store/open.ts";
import { readSystemRecords } from "../../src/system/read-system-records.ts";
import {
  commitSystemChanges,
  toCreateIntent,
  toDeleteIntent,
  toInstant,
  toUpdateIntent,
} from "../../src/system/system-changes.ts";
import type { SiteRecord } from "../../src/system/system-records.ts";
import { engines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";
import { problemOf } from "../support/failure.ts";

const now = Date.parse("2026-01-31T12:00:00Z");
const minute = 60_000;

describe.each(engines)("sandbox on $name", (kind) => {
  let engine: Engine;
  let garden: SiteRecord;
  let sandbox: SiteRecord;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    await engine?.close();
    engine = await openEngine(await kind.newDatabase(), allResources);
    garden = await createSite(engine, "garden", { hostnames: ["garden.example"] }, now);
    sandbox = await store("garden-sandbox");
  });
  afterAll(async () => {
    await engine.close();
    await kind.close();
  });

  /** Stores the record of a sandbox of `garden`, as `site sandbox` does. */
  async function store(name: string, importing = ""): Promise<SiteRecord> {
    const values = { Name: name, Importing: importing, SandboxOf: String(garden.ID) };
    await commitSystemChanges(engine, () => [toCreateIntent(siteResource, values, now)]);
    return (await listSites(engine)).at(-1) as SiteRecord;
  }
  const names = async () => (await listSites(engine)).map(({ Name }) => Name);
  const rename = (name: string) => problemOf(setSite(engine, "garden", { name }, now));

  test("is named after its site, even when that's renamed", async () => {
    expect(sandboxName(garden)).toBe("garden-sandbox");
    expect(await rename("park")).toBeUndefined();
    expect(await names()).toEqual(["park", "park-sandbox"]);
  });
  if (kind.name === "PostgreSQL") return;

  test("keeps its site from getting a name whose sandbox name is too long or taken", async () => {
    await createSite(engine, "park-sandbox", {}, now);
    const how = "choose another name, or first remove the sandbox with `site remove garden-sandbox --yes`";
    expect(await rename("park")).toEqual([
      "conflict",
      `its sandbox would be called \`park-sandbox\`, which is taken; ${how}`,
    ]);
    const long = "x".repeat(57);
    expect(await rename(long)).toEqual([
      "conflict",
      `its sandbox would be called \`${long}-sandbox\`, which is longer than 64 characters; ${how}`,
    ]);
    expect(await names()).toEqual(["garden", "garden-sandbox", "park-sandbox"]);
    expect(await rename("x".repeat(56))).toBeUndefined();
  });

  test("needs a name that's free and short enough", async () => {
    const check = async (name: string) => {
      const live = await createSite(engine, name, {}, now);
      try {
        return requireSandboxName(await listSites(engine), live);
      } catch (error) {
        return error instanceof ProblemError ? [error.code, error.message] : error;
      }
    };
    await createSite(engine, "park-sandbox", {}, now);
    expect(await check("park")).toEqual([
      "conflict",
      "another site is already called `park-sandbox`; first rename it with `site set park-sandbox --name NAME`",
    ]);
    const long = "y".repeat(57);
    expect(await check(long)).toEqual([
      "conflict",
      `the sandbox would be called \`${long}-sandbox\`, but names have at most 64 characters; first rename the site to at most 56 with \`site set ${long} --name NAME\``,
    ]);
    expect(await check("y".repeat(56))).toBe(`${"y".repeat(56)}-sandbox`);
    expect(requireSandboxName(await listSites(engine), garden)).toBe("garden-sandbox");
  });

  test("has no settings, sandbox or file of its own", async () => {
    for (const settings of [{ name: "test" }, { hostnames: ["a.example"] }, { isDefault: true }, { isSuspended: true }])
      expect(await problemOf(setSite(engine, "garden-sandbox", settings, now))).toEqual([
        "conflict",
        "`garden-sandbox` is a sandbox, which has the settings of its site; change `garden` instead",
      ]);
    const sites = await listSites(engine);
    expect(() => requireLive(sandbox, sites)).toThrow(
      "`garden-sandbox` is a sandbox itself; to refresh it, run `site sandbox garden`",
    );
    expect(requireLive(garden, sites)).toBe(garden);
    expect(await problemOf(exportSite(engine, "garden-sandbox", "unused.site", now))).toEqual([
      "conflict",
      "`garden-sandbox` is a sandbox, which can't be exported; export `garden` instead",
    ]);
  });

  test("is suspended with its site, along with its webhooks", async () => {
    const policy = { allow: [], isLoopbackAllowed: true, lookup: async () => [] };
    const settings = { url: "http://127.0.0.1/", resources: [], since: { at: now } };
    await createWebhook(engine, sandbox, settings, policy, now);
    const state = async () => [
      suspensionOf(sandbox, await listSites(engine)),
      (await listWebhooks(engine)).map(({ siteName, status, detail }) => [siteName, status, detail]),
    ];
    expect(await state()).toEqual(["", [["garden-sandbox", "active", ""]]]);
    await setSite(engine, "garden", { isSuspended: true }, now);
    const suspended = [["garden-sandbox", "paused", "the site is suspended"]];
    expect(await state()).toEqual([toInstant(now), suspended]);
    await setSite(engine, "garden", { isSuspended: false }, now);
  });

  test("is managed by its site's operators, and nobody else", async () => {
    await createSite(engine, "toys", {}, now);
    const [anna, ben, all] = [
      await createOperator(engine, "anna", ["garden"], now),
      await createOperator(engine, "ben", ["toys"], now),
      await createOperator(engine, "all", [], now),
    ];
    expect([anna, ben, all].map((operator) => canManage(operator, sandbox))).toEqual([true, false, true]);
    const sites = await listSites(engine);
    expect([anna, ben, all].map((operator) => managedSites(operator, sites).map(({ Name }) => Name))).toEqual([
      ["garden", "garden-sandbox"],
      ["toys"],
      ["garden", "garden-sandbox", "toys"],
    ]);
    const refused = ["conflict", "operators of `garden` can manage its sandbox `garden-sandbox` too, so use `garden`"];
    expect(await problemOf(createOperator(engine, "cleo", ["garden-sandbox"], now))).toEqual(refused);
    expect(await problemOf(setOperator(engine, "ben", { sites: ["toys", "garden-sandbox"] }, now))).toEqual(refused);
    expect((await listOperators(engine)).map(({ siteNames }) => siteNames)).toEqual([["garden"], ["toys"], undefined]);
  });

  test("is removed with its site in one step, along with its keys, records and any copy being made", async () => {
    const copy = await store("sandbox-of-1-being-made", toInstant(now + minute));
    for (const site of [garden, sandbox]) await createKey(engine, site, {}, now);
    for (const { ID } of [garden, sandbox, copy]) await engine.commit([createIntent({ site: ID })]);
    const [before] = await engine.readHeads([0]);
    expect((await removeSite(engine, "garden", now)).Name).toBe("garden");
    expect([await names(), await listKeys(engine)]).toEqual([[], []]);
    const removals = await engine.readJournalPage(0, before?.revision as number, 100);
    expect(new Set(removals.entries.map(({ at }) => at)).size).toBe(1);
    for (const { ID } of [garden, sandbox, copy])
      expect((await Array.fromAsync(engine.dump(ID))).map(({ table }) => table)).toEqual(["sites"]);
    expect([await completeRemovals(engine, now), await engine.findInconsistencies()]).toEqual([[], []]);
  });

  test("can be removed on its own, with any copy being made, which can also be removed without it", async () => {
    const copy = await store("sandbox-of-1-being-made", toInstant(now + minute));
    await removeIncompleteSite(engine, copy.ID, now);
    expect(await names()).toEqual(["garden", "garden-sandbox"]);
    expect(await problemOf(removeIncompleteSite(engine, sandbox.ID, now))).toEqual([
      "not-found",
      "the site was removed, or is complete",
    ]);
    await store("sandbox-of-1-being-made", toInstant(now + minute));
    await createKey(engine, garden, {}, now);
    await createKey(engine, sandbox, {}, now);
    expect((await removeSite(engine, "garden-sandbox", now)).Name).toBe("garden-sandbox");
    expect(await names()).toEqual(["garden"]);
    expect((await listKeys(engine)).map(({ siteName }) => siteName)).toEqual(["garden"]);
  });

  test("is removed once its reservation ends if copying was interrupted, or if its site is gone", async () => {
    const end = toInstant(now + minute);
    await store("sandbox-of-1-being-made", end);
    expect(await problemOf(getSite(engine, "sandbox-of-1-being-made"))).toEqual([
      "conflict",
      `the sandbox of \`garden\` is already being copied; if that was interrupted, try again after ${end}`,
    ]);
    expect(await problemOf(getSite(engine, "park"))).toEqual([
      "not-found",
      "unknown site `park`: known sites: garden, garden-sandbox",
    ]);
    expect(await completeRemovals(engine, now)).toEqual([]);
    const full: Engine = {
      ...engine,
      commit: () => Promise.reject(new ProblemError("unavailable", "the disk is full")),
      commitAtomically: () => Promise.reject(new ProblemError("unavailable", "the disk is full")),
    };
    expect(await completeRemovals(full, now + minute)).toEqual([
      "couldn't remove the partial copy of an interrupted `site sandbox garden`: the disk is full; the next command you run will try again",
    ]);
    expect(await completeRemovals(engine, now + minute)).toEqual([
      "removed the partial copy of an interrupted `site sandbox garden`",
    ]);
    expect(await names()).toEqual(["garden", "garden-sandbox"]);
  });

  test("has its own form of keys, even after a rotation; one created during a renewal is for the new copy", async () => {
    const { key, record } = await createKey(engine, sandbox, { label: "till" }, now);
    expect([key.slice(0, 17), record.Site]).toEqual([record.Prefix, String(sandbox.ID)]);
    expect(key).toStartWith("sfk_test_");
    expect((await rotateKey(engine, record.Prefix, 0, now)).record.Prefix).toStartWith("sfk_test_");
    expect((await createKey(engine, garden, {}, now)).key).not.toStartWith("sfk_test_");
    await commitSystemChanges(engine, () => [toDeleteIntent(siteResource, sandbox.ID, now)]);
    expect(await problemOf(createKey(engine, sandbox, {}, now))).toEqual([
      "not-found",
      "the site `garden-sandbox` was removed",
    ]);
    const next = await store("garden-sandbox");
    expect((await createKey(engine, sandbox, {}, now)).record.Site).toBe(String(next.ID));
  });

  test("is found by its site; without one, the error says how to create it or that the first one is being made", async () => {
    const sites = await listSites(engine);
    expect([requireSandbox(sites, garden), findSandboxRecord(sites, garden)]).toEqual([sandbox, sandbox]);
    await commitSystemChanges(engine, () => [
      toUpdateIntent(siteResource, sandbox.ID, { Importing: toInstant(now + minute) }, now),
    ]);
    const { sites: made } = await readSystemRecords(engine);
    expect(findSandboxRecord(made, garden)).toBeUndefined();
    expect(() => requireSandbox(made, garden)).toThrow("the sandbox of `garden` is already being copied");
    await removeSite(engine, "garden-sandbox", now);
    expect(() => requireSandbox([garden], garden)).toThrow(
      "the site `garden` has no sandbox yet; create it with `site sandbox garden`",
    );
  });

  test("has keys named by four characters after `sfk_test_`, never by `sfk_test`", async () => {
    const { key, record } = await createKey(engine, sandbox, {}, now);
    const name = (prefix: string) => problemOf(setKey(engine, prefix, { label: "named" }, now));
    const short = "the key prefix is too short: give at least the first 13 characters, such as sfk_test_AbCd";
    for (const length of [8, 9, 12]) expect(await name(key.slice(0, length))).toEqual(["bad-request", short]);
    for (const length of [13, 17, 30, key.length]) expect(await name(key.slice(0, length))).toBeUndefined();
    expect(await name(key.slice(0, 7))).toEqual(["bad-request", short.replace("13", "8").replace("_test", "")]);
    expect(await name("sfk_test_0000")).toEqual(["not-found", "no key starts with sfk_test_0000; see `key list`"]);
    // A live key whose random part starts with "test" is named by eight characters, like any live key.
    const live = await createKey(engine, garden, {}, now);
    const prefix = "sfk_testAbCd";
    const { Digest } = live.record;
    await commitSystemChanges(engine, ({ keys }) => [
      toUpdateIntent(keyResource, keys.find((one) => one.Digest === Digest)?.ID as number, { Prefix: prefix }, now),
    ]);
    expect((await revokeKey(engine, "sfk_test", now)).Digest).toBe(Digest);
    expect((await listKeys(engine)).find(({ ID }) => ID === record.ID)?.Revoked).toBe("");
  });
});
