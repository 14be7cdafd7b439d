import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { createKey, listKeys, revokeKey, rotateKey, setKey, toKeyRecord } from "../../src/operator/sites/keys.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { key as keyResource } from "../../src/resources/key.ts";
import { openEngine } from "../../src/store/open.ts";
import { readSystemRecords } from "../../src/system/read-system-records.ts";
import { commitSystemChanges, toCreateIntent } from "../../src/system/system-changes.ts";
import type { KeyRecord, SiteRecord } from "../../src/system/system-records.ts";
import { engines } from "../support/engine/engines.ts";

const now = Date.parse("2026-01-01T00:00:00.000Z");
const hour = 3_600_000;
const instant = (at: number) => new Date(at).toISOString();

const thrown = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => error,
  );

describe.each(engines)("keys on $name", (kind) => {
  let engine: Engine;
  let site: SiteRecord;
  beforeAll(async () => {
    await kind.open();
    engine = await openEngine(await kind.newDatabase(), allResources);
    site = await createSite(engine, "shop", {}, now);
  });
  afterAll(async () => {
    await engine.close();
    await kind.close();
  });

  const find = async (prefix: string) => (await readSystemRecords(engine)).keys.find(({ Prefix }) => Prefix === prefix);

  test("aren't created for a site that was just removed", async () => {
    const gone = await createSite(engine, "gone", {}, now);
    await removeSite(engine, "gone", now);
    const before = (await readSystemRecords(engine)).keys.length;
    expect(await thrown(createKey(engine, gone, {}, now))).toMatchObject({
      code: "not-found",
      message: "the site `gone` was removed",
    });
    expect((await readSystemRecords(engine)).keys).toHaveLength(before);
  });
  if (kind.name === "PostgreSQL") return;

  test("are listed for their own site, with the time of last use", async () => {
    const other = await createSite(engine, "other", {}, now);
    await createKey(engine, site, {}, now);
    const { record } = await createKey(engine, other, {}, now);
    const unused = await createKey(engine, other, {}, now);
    await engine.saveKeyUses(new Map([[record.ID, now + 5]]));
    expect((await listKeys(engine, other)).map(({ ID, lastUsed }) => [ID, lastUsed])).toEqual([
      [record.ID, new Date(now + 5)],
      [unused.record.ID, undefined],
    ]);
  });

  test("of all sites are listed together", async () => {
    const other = await createSite(engine, "listed", {}, now);
    const { record } = await createKey(engine, other, { rate: 5 }, now);
    const all = await listKeys(engine);
    expect(all.find(({ ID }) => ID === record.ID)).toMatchObject({ siteName: "listed", Rate: "5" });
    expect(new Set(all.map(({ siteName }) => siteName)).has("shop")).toBe(true);
  });

  test("only change in the settings that were given, and not at all once revoked", async () => {
    const { record } = await createKey(engine, site, { label: "till", rate: 5, expiresAt: now + hour }, now);
    const change = (changes: Parameters<typeof setKey>[2]) => setKey(engine, record.Prefix, changes, now);
    expect(await change({ label: "new till" })).toEqual({ ...record, Label: "new till" });
    expect(await change({ rate: 7 })).toMatchObject({ Label: "new till", Rate: "7", Expires: instant(now + hour) });
    expect(await change({ rate: null, expiresAt: null })).toMatchObject({ Rate: "", Expires: "" });
    expect(await thrown(change({ label: "x".repeat(129) }))).toMatchObject({ code: "invalid-record" });
    expect(await thrown(change({ rate: 1.5 }))).toMatchObject({ code: "invalid-record" });
    await revokeKey(engine, record.Prefix, now);
    expect(await thrown(change({ expiresAt: now + hour }))).toMatchObject({ code: "conflict" });
  });

  test("keep the time of their first revocation if they're revoked again", async () => {
    const { record } = await createKey(engine, site, {}, now);
    expect((await revokeKey(engine, record.Prefix, now + 1)).Revoked).toBe(instant(now + 1));
    expect((await revokeKey(engine, record.Prefix, now + 2)).Revoked).toBe(instant(now + 1));
    expect((await find(record.Prefix))?.Revoked).toBe(instant(now + 1));
  });

  test.each([
    ["rate and expiry", "5", now + hour],
    ["no rate or expiry", "", undefined],
  ])("pass on label, scope, and %s when rotated", async (_, rate, expiresAt) => {
    const settings = {
      label: "till",
      rights: ["read"],
      rate: rate === "" ? undefined : Number(rate),
      expiresAt,
    } as const;
    const { record } = await createKey(engine, site, settings, now);
    const next = await rotateKey(engine, record.Prefix, 0, now + 1);
    expect(next.record).toMatchObject({
      Site: String(site.ID),
      Label: "till",
      Scope: "read",
      Rate: rate,
      Expires: expiresAt === undefined ? "" : instant(expiresAt),
      Created: instant(now + 1),
      Revoked: "",
    });
    expect(next.key).toStartWith(next.record.Prefix);
  });

  test("list the keys they replaced, latest first, at most 20", async () => {
    let { record } = await createKey(engine, site, {}, now);
    expect(record.Former).toBe("");
    const prefixes = [record.Prefix];
    for (let rotation = 0; rotation < 21; rotation++) {
      record = (await rotateKey(engine, record.Prefix, 0, now)).record;
      expect(record.Former).toBe(prefixes.slice(0, 20).join(" "));
      prefixes.unshift(record.Prefix);
    }
    expect((await setKey(engine, record.Prefix, { label: "till" }, now)).Former).toBe(record.Former);
  });

  const ends: [string, number | undefined, number, Partial<KeyRecord>][] = [
    ["without an overlap revokes the key at once", undefined, 0, { Expires: "", Revoked: instant(now) }],
    [
      "without an overlap revokes the key at once, even if it has an expiry",
      now + hour,
      0,
      { Expires: instant(now + hour), Revoked: instant(now) },
    ],
    ["with an overlap makes the key expire after it", undefined, hour, { Expires: instant(now + hour), Revoked: "" }],
    ["keeps an expiry before the overlap ends", now + 1, hour, { Expires: instant(now + 1) }],
    ["moves an expiry after the overlap to its end", now + hour, 1, { Expires: instant(now + 1) }],
  ];
  test.each(ends)("rotation %s", async (_, expiresAt, overlap, end) => {
    const { record } = await createKey(engine, site, { expiresAt }, now);
    await rotateKey(engine, record.Prefix, overlap, now);
    expect(await find(record.Prefix)).toMatchObject(end);
  });

  test.each([
    ["expires at that moment", now, ""],
    ["expired", now - 1, ""],
    ["was revoked", now + hour, instant(now - 1)],
  ])("a key that %s can't be rotated", async (_, expiresAt, revoked) => {
    const { record } = await createKey(engine, site, { expiresAt }, now - hour);
    if (revoked) await revokeKey(engine, record.Prefix, Date.parse(revoked));
    expect(await thrown(rotateKey(engine, record.Prefix, 0, now))).toMatchObject({ code: "conflict" });
  });

  test("an ambiguous prefix changes no key; the whole key does", async () => {
    const { record } = await createKey(engine, site, {}, now);
    const { ID: _, ...values } = toKeyRecord(record);
    const like = (Prefix: string) => toCreateIntent(keyResource, { ...values, Prefix, Digest: "0".repeat(64) }, now);
    const beginning = record.Prefix.slice(0, 8);
    const twin = `${record.Prefix.slice(0, 11)}${record.Prefix.endsWith("x") ? "y" : "x"}`;
    await commitSystemChanges(engine, () => [like(twin)]);
    for (const change of [revokeKey, (e: Engine, text: string, at: number) => rotateKey(e, text, 0, at)]) {
      expect(await thrown(change(engine, beginning, now))).toMatchObject({
        code: "conflict",
        message: `2 keys start with ${beginning}; give the whole key`,
      });
    }
    await revokeKey(engine, twin, now);
    expect([(await find(record.Prefix))?.Revoked, (await find(twin))?.Revoked]).toEqual(["", instant(now)]);
  });
});
