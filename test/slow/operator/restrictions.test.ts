// Restoring a backup keeps later restrictions: revoked keys, suspensions, narrowed scopes and rotated secrets.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { copyDatabase } from "../../../src/operator/backup/copy.ts";
import { pruneJournals } from "../../../src/operator/journal/prune-journals.ts";
import {
  createOperator,
  listOperators,
  removeOperator,
  setOperator,
} from "../../../src/operator/operators/operators.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { exportSite } from "../../../src/operator/site-files/export-site.ts";
import { importSite } from "../../../src/operator/site-files/import-site.ts";
import { createKey, listKeys, revokeKey, rotateKey, setKey } from "../../../src/operator/sites/keys.ts";
import { removeSite } from "../../../src/operator/sites/site-removal.ts";
import { createSite, getSite, setSite } from "../../../src/operator/sites/sites.ts";
import { createWebhook } from "../../../src/operator/webhooks/webhook-creation.ts";
import { listWebhooks } from "../../../src/operator/webhooks/webhook-list.ts";
import {
  changeWebhookUrl,
  pauseWebhook,
  removeWebhook,
  rotateWebhook,
} from "../../../src/operator/webhooks/webhooks.ts";
import { allResources } from "../../../src/resources/all.ts";
import { operator as operatorResource } from "../../../src/resources/operator.ts";
import { openEngine } from "../../../src/store/open.ts";
import { commitSystemChanges, toUpdateIntent } from "../../../src/system/system-changes.ts";
import { toDeliveryPolicy } from "../../../src/webhooks/address-policy.ts";
import { engines } from "../../support/engine/engines.ts";

const day = 24 * 60 * 60_000;
const policy = { allow: [], isLoopbackAllowed: true, lookup: async () => [] };
const folder = mkdtempSync(join(tmpdir(), "storefront-restrictions-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(engines)("restrictions on $name", (kind) => {
  let url: string;
  let engine: Engine;
  let file: string;
  /** Milliseconds since 1970. Every change gets its own time, as people's changes do. */
  let now = 1_700_000_000_000;
  let count = 0;
  const opened: Engine[] = [];
  const next = () => (now += 1000);
  beforeAll(() => kind.open());
  beforeEach(async () => {
    url = await kind.newDatabase();
    engine = await open();
    file = join(folder, `${kind.name}-${++count}.backup`);
    await createSite(engine, "garden", {}, next());
    await createSite(engine, "toys", {}, next());
  });
  afterAll(async () => {
    for (const one of opened) await one.close();
    await kind.close();
  });

  async function open(at = url): Promise<Engine> {
    const one = await openEngine(at, allResources);
    opened.push(one);
    return one;
  }
  const backUpNow = () => backUp(engine, file, next());
  const restoreIt = (options = {}) => restore(engine, file, `${file}.kept-${now}`, next(), options);
  const addKey = async (label: string, settings = {}, site = "garden") =>
    (await createKey(engine, await getSite(engine, site), { label, ...settings }, next())).key;
  const hook = async (path: string, site = "garden") =>
    (
      await createWebhook(
        engine,
        await getSite(engine, site),
        { url: `http://localhost/${path}`, resources: [], since: { at: next() } },
        policy,
        now,
      )
    ).webhook.ID;
  const keys = async (one = engine) =>
    (await listKeys(one)).map(({ Label, Revoked, Expires, Rate, siteName }) => ({
      Label,
      siteName,
      state: Revoked ? "revoked" : Expires ? "ends" : "valid",
      Rate,
    }));
  const operators = async () => (await listOperators(engine)).map(({ Name, siteNames }) => [Name, siteNames ?? "all"]);
  const rolesOf = async () => (await listOperators(engine)).map(({ Name, role }) => [Name, role]);
  const webhooks = async () => (await listWebhooks(engine)).map(({ URL: to, status }) => [to, status]);

  test("sites that forbid webhooks by API still do after a restore or an import", async () => {
    await backUpNow();
    const siteFile = `${file}.site`;
    await exportSite(engine, "garden", siteFile, next());
    await setSite(engine, "garden", { allowsWebhooksByKey: false }, next());
    const { stays } = await restoreIt();
    expect(stays).toEqual([{ kind: "site", name: "garden", change: "narrowed" }]);
    const forbids = async () => (await getSite(engine, "garden")).KeyWebhooks;
    expect(await forbids()).toBe("no");
    await removeSite(engine, "garden", next());
    await importSite(engine, siteFile, { now: next });
    expect(await forbids()).toBe("no");
    await setSite(engine, "garden", { allowsWebhooksByKey: true }, next());
    expect(await forbids()).toBe("");
  });

  test("keys keep the rights and networks they were narrowed to, whatever is restored, copied or imported", async () => {
    const limited = { rights: ["brands:write", "orderstatuses:read"], networks: ["203.0.113.0/24", "10.0.0.0/8"] };
    const [whole, some, moved, wider] = [
      await addKey("whole"),
      await addKey("some", limited),
      await addKey("moved", limited),
      await addKey("wider", limited),
    ];
    await backUpNow();
    const siteFile = `${file}.site`;
    await exportSite(engine, "garden", siteFile, next());
    await setKey(engine, whole, { rights: ["read"], networks: ["203.0.113.7"] }, next());
    await setKey(engine, some, { rights: ["read"], networks: ["203.0.113.0/28", "192.0.2.0/24"] }, next());
    await setKey(engine, moved, { rights: ["orderstatuses:write"], networks: ["192.0.2.0/24"] }, next());
    await setKey(engine, wider, { rights: ["write", "webhooks:write"], networks: [] }, next());
    const narrowed = [
      ["read", "203.0.113.7/32"],
      ["brands:read orderstatuses:read", "203.0.113.0/28"],
      // Not one of its networks is left, so it has those of the last decision.
      ["orderstatuses:read", "192.0.2.0/24"],
      ["brands:write orderstatuses:read", "203.0.113.0/24 10.0.0.0/8"],
    ];
    const limitsIn = async (one = engine) => {
      const found = await listKeys(one);
      return [whole, some, moved, wider].map((key) => {
        const { Scope, Networks } = found.find(({ Prefix }) => key.startsWith(Prefix)) ?? {};
        return [Scope, Networks];
      });
    };
    const { stays } = await restoreIt();
    expect(stays.map(({ change }) => change)).toEqual(["narrowed", "narrowed", "narrowed"]);
    expect(await limitsIn()).toEqual(narrowed as never);
    await removeSite(engine, "garden", next());
    await importSite(engine, siteFile, { now: next });
    expect(await limitsIn()).toEqual(narrowed as never);
    const copy = await open(await kind.newDatabase());
    await copyDatabase(engine, copy, () => {}, next());
    expect(await limitsIn(copy)).toEqual(narrowed as never);
  });

  test("keys in a site file stay without webhooks:write if they came without it", async () => {
    const key = await addKey("hooks", { rights: ["write", "webhooks:write"] });
    await exportSite(engine, "garden", `${file}.wide`, next());
    await setKey(engine, key, { rights: ["write"] }, next());
    await exportSite(engine, "garden", `${file}.narrow`, next());
    const other = await open(await kind.newDatabase());
    await importSite(other, `${file}.narrow`, { now: next });
    await removeSite(other, "garden", next());
    await importSite(other, `${file}.wide`, { now: next });
    expect((await listKeys(other)).map(({ Scope }) => Scope)).toEqual(["write"]);
  });

  test("keys that were revoked, narrowed or rotated stay that way, and their replacements are valid", async () => {
    const [revoked, ends, slow, old, twice] = await Promise.all(
      ["revoked", "ends", "slow", "old", "twice"].map((label) => addKey(label, { rate: 50 })),
    );
    const same = await addKey("same", { rate: 50 });
    await backUpNow();
    await revokeKey(engine, revoked as string, next());
    await setKey(engine, ends as string, { expiresAt: now + day }, next());
    await setKey(engine, slow as string, { rate: 5 }, next());
    const rotated = await rotateKey(engine, old as string, 0, next());
    const once = await rotateKey(engine, twice as string, day, next());
    const last = await rotateKey(engine, once.key, 0, next());
    await revokeKey(engine, twice as string, next());
    await setKey(engine, same, { rate: 1000, label: "faster" }, next());
    await addKey("later");
    const { stays, revived, isUnknown } = await restoreIt();
    expect([revived, isUnknown]).toEqual([[], false]);
    expect(stays.map(({ name, change, site }) => [name, change, site]).sort()).toEqual(
      [
        [revoked, "revoked", "garden"],
        [ends, "narrowed", "garden"],
        [slow, "narrowed", "garden"],
        [old, "rotated", "garden"],
        [twice, "rotated", "garden"],
      ]
        .map(([key, ...rest]) => [key?.slice(0, 12), ...rest])
        .sort(),
    );
    const found = await listKeys(engine);
    const stateOf = (key: string) => {
      const { Revoked, Expires, Rate } = found.find(({ Prefix }) => key.startsWith(Prefix)) ?? {};
      return [Revoked === undefined ? "gone" : Revoked ? "revoked" : Expires ? "ends" : "valid", Rate];
    };
    expect([revoked, ends, slow, old, twice].map((key) => stateOf(key as string))).toEqual([
      ["revoked", "50"],
      ["ends", "50"],
      ["valid", "5"],
      ["revoked", "50"],
      ["revoked", "50"],
    ]);
    expect([rotated.key, once.key, last.key, same].map(stateOf)).toEqual([
      ["valid", "50"],
      ["gone", undefined],
      ["valid", "50"],
      ["valid", "50"],
    ]);
    const lineage = found.find(({ Prefix }) => last.key.startsWith(Prefix))?.Former;
    expect(lineage).toBe([once.record.Prefix, twice?.slice(0, 12)].join(" "));
    expect(found.some(({ Label }) => Label === "later")).toBe(false);
    expect(await engine.findInconsistencies()).toEqual([]);
    // The system site has a new epoch now. A second restore keeps the same restrictions.
    const again = await restoreIt();
    expect(again.stays).toEqual(stays);
    expect((await listKeys(engine)).map(({ Prefix, endsAt }) => [Prefix, endsAt])).toEqual(
      found.map(({ Prefix, endsAt }) => [Prefix, endsAt]),
    );
  });
  if (kind.name === "PostgreSQL") return;

  test("operators who were removed or limited stay that way, and the restore doesn't give anyone all sites", async () => {
    await createOperator(engine, "all", [], next());
    for (const name of ["removed", "fewer", "again"]) await createOperator(engine, name, [], next());
    for (const name of ["some", "more", "moved"]) await createOperator(engine, name, ["garden", "toys"], next());
    await backUpNow();
    await createSite(engine, "later", {}, next());
    await removeOperator(engine, "removed", next());
    await setOperator(engine, "fewer", { sites: ["toys", "later"] }, next());
    await setOperator(engine, "some", { sites: ["garden"] }, next());
    await setOperator(engine, "more", { sites: [] }, next());
    await setOperator(engine, "moved", { sites: ["later"] }, next());
    await removeOperator(engine, "again", next());
    await createOperator(engine, "again", ["garden"], next());
    const { stays } = await restoreIt();
    expect(stays.map(({ name, change }) => [name, change])).toEqual([
      ["removed", "removed"],
      ["fewer", "narrowed"],
      ["again", "narrowed"],
      ["some", "narrowed"],
      ["moved", "removed"],
    ]);
    const after = [
      ["all", "all"],
      ["fewer", ["toys"]],
      ["again", ["garden"]],
      ["some", ["garden"]],
      ["more", ["garden", "toys"]],
    ];
    expect(await operators()).toEqual(after);
    await restoreIt();
    expect(await operators()).toEqual(after);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("operators whose role was reduced keep that role, even one this program doesn't know", async () => {
    for (const name of ["reader", "temp", "future", "back"]) await createOperator(engine, name, [], next());
    await setOperator(engine, "temp", { role: "editor" }, next());
    await setOperator(engine, "back", { role: "viewer" }, next());
    await backUpNow();
    await setOperator(engine, "reader", { role: "viewer", sites: ["garden"] }, next());
    await setOperator(engine, "temp", { role: "viewer" }, next());
    await setOperator(engine, "back", { role: "admin" }, next());
    const { ID = 0 } = (await listOperators(engine)).find(({ Name }) => Name === "future") ?? {};
    await commitSystemChanges(engine, () => [toUpdateIntent(operatorResource, ID, { Role: "of-tomorrow" }, next())]);
    const { stays } = await restoreIt();
    expect(stays.map(({ name, change }) => [name, change])).toEqual([
      ["reader", "narrowed"],
      ["temp", "narrowed"],
      ["future", "narrowed"],
    ]);
    const after = { reader: "viewer", temp: "viewer", future: "unknown", back: "viewer" };
    expect(await rolesOf()).toEqual(Object.entries(after));
    expect((await operators())[0]).toEqual(["reader", ["garden"]]);
    expect((await restoreIt({ isAsOfBackup: true })).revived).toHaveLength(3);
    const before = { reader: "admin", temp: "editor", future: "admin", back: "viewer" };
    expect(await rolesOf()).toEqual(Object.entries(before));
  });

  test("webhooks that were removed or paused stay that way, their new secrets are valid, and suspended sites stay suspended", async () => {
    const [gone, paused, rotated] = [await hook("gone"), await hook("paused"), await hook("rotated")];
    await backUpNow();
    await removeWebhook(engine, gone, next());
    await pauseWebhook(engine, paused, next());
    const { secret } = await rotateWebhook(engine, rotated, next());
    await setSite(engine, "toys", { isSuspended: true }, next());
    const { stays } = await restoreIt();
    expect(stays.map(({ name, change, site }) => [name, change, site])).toEqual([
      ["http://localhost/gone", "removed", "garden"],
      ["http://localhost/paused", "paused", "garden"],
      ["http://localhost/rotated", "rotated", "garden"],
      ["toys", "suspended", undefined],
    ]);
    expect(await webhooks()).toEqual([
      ["http://localhost/paused", "paused"],
      ["http://localhost/rotated", "active"],
    ]);
    const secrets = await engine.readWebhookSecrets({ site: 1, webhook: rotated });
    expect([secrets.length, secrets[0]?.secret]).toEqual([2, secret]);
    expect(await engine.readWebhookSecrets({ site: 1, webhook: gone })).toEqual([]);
    expect((await engine.readWebhookStates()).map(({ webhook }) => webhook)).toEqual([paused, rotated]);
    expect((await getSite(engine, "toys")).Suspended).not.toBe("");
    expect(await engine.findInconsistencies()).toEqual([]);
    expect((await restoreIt()).stays).toHaveLength(4);
  });

  test("webhooks keep a later URL and their other restrictions, unless restored as of the backup", async () => {
    const [moved, both] = [await hook("moved"), await hook("both")];
    await backUpNow();
    const change = (id: number, path: string) =>
      changeWebhookUrl(engine, id, `http://localhost/${path}`, toDeliveryPolicy([]), next());
    await change(moved, "new");
    await change(both, "newer");
    await pauseWebhook(engine, both, next());
    const { secret } = await rotateWebhook(engine, both, next());
    const { stays } = await restoreIt();
    expect(stays.map(({ name, change: kind }) => [name, kind])).toEqual([
      ["http://localhost/moved", "changed"],
      ["http://localhost/both", "changed"],
      ["http://localhost/both", "paused"],
      ["http://localhost/both", "rotated"],
    ]);
    expect(await webhooks()).toEqual([
      ["http://localhost/new", "active"],
      ["http://localhost/newer", "paused"],
    ]);
    expect((await engine.readWebhookSecrets({ site: 1, webhook: both }))[0]?.secret).toBe(secret);
    await restoreIt({ isAsOfBackup: true });
    expect(await webhooks()).toEqual([
      ["http://localhost/moved", "active"],
      ["http://localhost/both", "active"],
    ]);
  });

  test("a sandbox's keys and webhooks stay restricted even if it was renewed after the backup or the journal was pruned", async () => {
    const make = () => makeSandbox(engine, "garden", { now: next });
    await make();
    const add = (path: string) => hook(path, "garden-sandbox");
    const [pruned, gone] = [await add("pruned"), await add("gone")];
    const [paused, rotated] = [await add("paused"), await add("rotated")];
    const key = await addKey("till", {}, "garden-sandbox");
    await backUpNow();
    await removeWebhook(engine, pruned, next());
    await make();
    await pruneJournals(engine, [0], { revision: 1000 });
    await removeWebhook(engine, gone, next());
    await make();
    await pauseWebhook(engine, paused, next());
    const { secret } = await rotateWebhook(engine, rotated, next());
    await revokeKey(engine, key, next());
    const { stays } = await restoreIt();
    expect(stays.map(({ name, change, site }) => [name, change, site])).toEqual([
      [key.slice(0, 17), "revoked", "garden-sandbox"],
      ["http://localhost/pruned", "removed", "garden-sandbox"],
      ["http://localhost/gone", "removed", "garden-sandbox"],
      ["http://localhost/paused", "paused", "garden-sandbox"],
      ["http://localhost/rotated", "rotated", "garden-sandbox"],
    ]);
    const sandbox = await getSite(engine, "garden-sandbox");
    expect((await engine.readWebhookSecrets({ site: sandbox.ID, webhook: rotated }))[0]?.secret).toBe(secret);
    expect(await webhooks()).toEqual([
      ["http://localhost/paused", "paused"],
      ["http://localhost/rotated", "active"],
    ]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("the webhooks of a sandbox that was removed on its own are restored with it", async () => {
    await makeSandbox(engine, "garden", { now: next });
    await hook("kept", "garden-sandbox");
    await backUpNow();
    await removeSite(engine, "garden-sandbox", next());
    expect((await restoreIt()).stays).toEqual([]);
    expect(await webhooks()).toEqual([["http://localhost/kept", "active"]]);
  });

  test("a restore as of the backup keeps no restrictions, and lists those it lifts", async () => {
    const key = await addKey("till");
    await createOperator(engine, "anna", [], next());
    const id = await hook("gone");
    await backUpNow();
    await revokeKey(engine, key, next());
    await removeOperator(engine, "anna", next(), { mayBeLast: true });
    await removeWebhook(engine, id, next());
    await setSite(engine, "toys", { isSuspended: true }, next());
    const { stays, revived } = await restoreIt({ isAsOfBackup: true });
    expect([stays, revived.map(({ kind: of, change }) => [of, change])]).toEqual([
      [],
      [
        ["key", "revoked"],
        ["operator", "removed"],
        ["webhook", "removed"],
        ["site", "suspended"],
      ],
    ]);
    expect([await keys(), await operators(), await webhooks()]).toMatchObject([
      [{ state: "valid" }],
      [["anna", "all"]],
      [["http://localhost/gone", "active"]],
    ]);
    expect((await getSite(engine, "toys")).Suspended).toBe("");
  });

  test("a key revoked just before the restored data takes over stays revoked", async () => {
    const key = await addKey("till");
    await backUpNow();
    const other = await open();
    const late: Engine = {
      ...engine,
      replaceAllData: (rows, save, amend) =>
        engine.replaceAllData(
          (async function* () {
            yield* rows;
            await revokeKey(other, key, next());
          })(),
          save,
          amend,
        ),
    };
    const { stays } = await restore(late, file, `${file}.kept`, next());
    expect([stays.length, await keys()]).toMatchObject([1, [{ state: "revoked" }]]);
  });

  test("a removed site is restored with its keys and webhooks, except those revoked or removed before it", async () => {
    const [valid, revoked] = [await addKey("valid"), await addKey("revoked")];
    const [kept, removed] = [await hook("kept"), await hook("removed")];
    await backUpNow();
    await revokeKey(engine, revoked, next());
    await removeWebhook(engine, removed, next());
    await removeSite(engine, "garden", next());
    const { stays } = await restoreIt();
    expect(stays.map(({ name, change }) => [name, change])).toEqual([
      [revoked.slice(0, 12), "revoked"],
      ["http://localhost/removed", "removed"],
    ]);
    expect([valid !== "", kept, await keys(), await webhooks()]).toMatchObject([
      true,
      1,
      [
        { Label: "valid", state: "valid" },
        { Label: "revoked", state: "revoked" },
      ],
      [["http://localhost/kept", "active"]],
    ]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("a database unrelated to the backup says so, and one with a pruned journal keeps its restrictions", async () => {
    const key = await addKey("till");
    await createOperator(engine, "anna", [], next());
    await backUpNow();
    await revokeKey(engine, key, next());
    await removeOperator(engine, "anna", next(), { mayBeLast: true });
    await pruneJournals(engine, [0], { revision: 1000 });
    const { stays, isUnknown } = await restoreIt();
    expect([isUnknown, stays.map(({ change }) => change)]).toEqual([false, ["revoked", "removed"]]);
    const empty = await open(await kind.newDatabase());
    expect(await restore(empty, file, `${file}.none`, next())).toMatchObject({
      isUnknown: true,
      stays: [],
      revived: [],
    });
    const strange = await open(await kind.newDatabase());
    await createSite(strange, "elsewhere", {}, next());
    expect(await restore(strange, file, `${file}.else`, next())).toMatchObject({ isUnknown: true, stays: [] });
    expect(await keys(strange)).toMatchObject([{ state: "valid" }]);
  });

  test("import-site restores a removed site's keys, except that those revoked or narrowed in this database stay so", async () => {
    const [, revoked, ended] = [await addKey("valid"), await addKey("revoked"), await addKey("ended")];
    await exportSite(engine, "garden", `${file}.site`, next());
    await revokeKey(engine, revoked, next());
    await setKey(engine, ended, { expiresAt: now + day }, next());
    await removeSite(engine, "garden", next());
    for (let n = 0; n < 3; n++) {
      const { keys: imported, restrictedKeys } = await importSite(engine, `${file}.site`, { now: next });
      expect([imported, restrictedKeys]).toEqual([
        3,
        [
          { name: revoked.slice(0, 12), change: "revoked" },
          { name: ended.slice(0, 12), change: "narrowed" },
        ],
      ]);
      expect((await keys()).map(({ Label, state }) => [Label, state])).toEqual([
        ["valid", "valid"],
        ["revoked", "revoked"],
        ["ended", "ends"],
      ]);
      await removeSite(engine, "garden", next());
    }
    const elsewhere = await open(await kind.newDatabase());
    expect(await importSite(elsewhere, `${file}.site`, { now: next })).toMatchObject({ keys: 3, restrictedKeys: [] });
  });

  describe("recorded restrictions", () => {
    const files: string[] = [];
    const backUpTo = async (one = engine) => {
      const to = `${file}.${files.push("")}`;
      await backUp(one, to, next());
      return to;
    };
    const restoreFrom = (from: string, options = {}, one = engine) =>
      restore(one, from, `${file}.kept-${now}`, next(), options);

    test("of an operator to sites don't apply to later sites with the same IDs", async () => {
      await createOperator(engine, "anna", [], next());
      await createOperator(engine, "all", [], next());
      const older = await backUpTo();
      await createSite(engine, "later", {}, next());
      const right = await backUpTo();
      await setOperator(engine, "anna", { sites: ["later", "toys"] }, next());
      await restoreFrom(older);
      expect((await operators())[0]).toEqual(["anna", ["toys"]]);
      await createSite(engine, "other", {}, next());
      const other = await backUpTo();
      await restoreFrom(other);
      expect((await operators())[0]).toEqual(["anna", ["toys"]]);
      await restoreFrom(right);
      expect((await operators())[0]).toEqual(["anna", ["toys", "later"]]);
    });

    test("from before the backup are known to a copy and a new database, which say what they can't know", async () => {
      const key = await addKey("till");
      const backup = await backUpTo();
      await revokeKey(engine, key, next());
      const revoked = await backUpTo();
      expect(await restoreFrom(backup)).toMatchObject({ isUnknown: false });
      const copy = await open(await kind.newDatabase());
      await copyDatabase(engine, copy, () => {}, next());
      expect(await restoreFrom(backup, {}, copy)).toMatchObject({ isUnknown: false, stays: [{ change: "revoked" }] });
      const fresh = await open(await kind.newDatabase());
      expect(await restoreFrom(revoked, {}, fresh)).toMatchObject({ isUnknown: true, stays: [] });
      expect(await restoreFrom(backup, {}, fresh)).toMatchObject({ isUnknown: true, stays: [{ change: "revoked" }] });
      expect(await restoreFrom(await backUpTo(fresh), {}, fresh)).toMatchObject({ isUnknown: false });
      const own = await backUpTo(copy);
      expect((await restoreFrom(own, {}, copy)).isUnknown).toBe(false);
      // The database may have lost decisions if it was restored by other means.
      await copy.replaceEpochs();
      const { isUnknown, knownSince } = await restoreFrom(own, {}, copy);
      expect([isUnknown, knownSince !== undefined]).toEqual([true, true]);
    });

    test("are kept for 400 days, and a restore of an older backup says so", async () => {
      const older = await backUpTo();
      const [first, second] = [await addKey("first"), await addKey("second")];
      const backup = await backUpTo();
      await revokeKey(engine, first, next());
      now += 300 * day;
      await revokeKey(engine, second, next());
      now += 150 * day;
      // It takes two decisions: the first may come from a wrong clock, so it forgets nothing.
      await setSite(engine, "toys", { isSuspended: true }, next());
      await setSite(engine, "toys", { isSuspended: false }, next());
      await restoreFrom(older);
      const { isUnknown, knownSince = "", stays } = await restoreFrom(backup);
      expect([isUnknown, Date.parse(knownSince)]).toEqual([true, now - 400 * day]);
      expect(stays).toMatchObject([{ name: second.slice(0, 12), change: "revoked" }]);
    });

    test("are kept up to 100,000, and a restore says since when", async () => {
      const key = await addKey("till");
      const backup = await backUpTo();
      await revokeKey(engine, key, next());
      const first = now;
      const rows = await Array.fromAsync(engine.dump());
      const many = Array.from({ length: 100_000 }, (_, n) => ({
        table: "restrictions",
        row: { kind: "operator", name: `${n}`, field: "Removed", value: "yes", at: first + 1 + n },
      }));
      await engine.replaceAllData(
        (async function* () {
          yield* rows;
          yield* many;
        })(),
      );
      now += 200_000;
      await setSite(engine, "toys", { isSuspended: true }, next());
      expect(await engine.readRestrictions()).toHaveLength(90_000);
      expect((await restoreFrom(backup)).knownSince).toBe(new Date(first + 10_002).toISOString());
    });

    test("on webhooks of a site imported under another name don't apply to the original", async () => {
      const id = await hook("kept", "garden");
      await changeWebhookUrl(engine, id, "https://hooks.example/kept", policy, next());
      await exportSite(engine, "garden", `${file}.site`, next());
      const backup = await backUpTo();
      await importSite(engine, `${file}.site`, { name: "twin", now: next });
      const [, twin] = await listWebhooks(engine);
      await removeWebhook(engine, twin?.ID ?? 0, next());
      expect((await restoreFrom(backup)).stays).toEqual([]);
      expect(await webhooks()).toEqual([["https://hooks.example/kept", "active"]]);
    });
  });
});
