import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { DumpedRow, Engine } from "../../src/model/engine.ts";
import { ProblemError } from "../../src/model/errors.ts";
import { listOperators } from "../../src/operator/operators/operators.ts";
import { createDemo, createDemoLink } from "../../src/operator/sites/demo.ts";
import { createKey } from "../../src/operator/sites/keys.ts";
import { completeRemovals, removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite, getSite, listSites, setSite, summarizeSite } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { openEngine } from "../../src/store/open.ts";
import { withActor } from "../../src/system/with-actor.ts";
import { engines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";

describe.each(engines)("sites on $name", (kind) => {
  let engine: Engine;
  let database: string;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    await engine?.close();
    database = await kind.newDatabase();
    engine = await openEngine(database, allResources);
  });
  afterAll(async () => {
    await engine.close();
    await kind.close();
  });

  const defaults = async () =>
    (await listSites(engine)).filter((site) => site.Default === "yes").map(({ Name }) => Name);
  const add = (name: string, isDefault?: boolean) => createSite(engine, name, { isDefault }, 1);

  test("are read as of now, even after another process changed or restored them", async () => {
    const other = await openEngine(database, allResources);
    try {
      await add("a");
      expect((await listSites(engine)).map(({ Name }) => Name)).toEqual(["a"]);
      await setSite(other, "a", { name: "b" }, 1);
      const [listed] = await listSites(engine);
      expect(listed?.Name).toBe("b");
      expect((await getSite(engine, "b")).Name).toBe("b");
      const before = await other.readHeads([0]);
      await other.replaceEpochs();
      expect(await engine.readHeads([0])).not.toEqual(before);
      expect((await listSites(engine)).map(({ Name }) => Name)).toEqual(["b"]);
      await createSite(engine, "c", {}, 1);
      expect((await listSites(other)).map(({ Name }) => Name)).toEqual(["b", "c"]);
    } finally {
      await other.close();
    }
  });
  if (kind.name === "PostgreSQL") return;

  test("and operators of a demo are created once, even if several servers start it at the same time", async () => {
    const demos = await Promise.all([1, 2, 3].map(() => createDemo(engine, 1)));
    expect(demos.filter((key) => key !== undefined)).toHaveLength(1);
    const links = await Promise.all([1, 2, 3].map(() => createDemoLink(engine, 1)));
    expect(new Set(links.filter((link) => link !== undefined)).size).toBe(3);
    expect([(await listSites(engine)).length, (await listOperators(engine)).length]).toEqual([1, 1]);
  });

  test("have at most one default, the one set last", async () => {
    await add("a", true);
    await add("b", true);
    expect(await defaults()).toEqual(["b"]);
    await add("c");
    expect(await defaults()).toEqual(["b"]);
    await setSite(engine, "c", { isDefault: true }, 1);
    expect(await defaults()).toEqual(["c"]);
    await setSite(engine, "c", { isDefault: true }, 1);
    await setSite(engine, "a", { hostnames: ["a.example"] }, 1);
    expect(await defaults()).toEqual(["c"]);
    await setSite(engine, "c", { isDefault: false }, 1);
    expect(await defaults()).toEqual([]);
  });

  test("gain and lose single hostnames, and removing one they don't have is an error", async () => {
    await createSite(engine, "a", { hostnames: ["one.example"] }, 1);
    await createSite(engine, "b", { hostnames: ["other.example"] }, 1);
    const change = async (settings: Parameters<typeof setSite>[2]) =>
      setSite(engine, "a", settings, 1).then(
        ({ Hostnames }) => Hostnames,
        (error) => error.message,
      );
    expect(await change({ addedHostnames: ["Two.example.", "one.example"] })).toBe("one.example two.example");
    expect(await change({ addedHostnames: ["other.example"] })).toMatch(/already belongs to the site `b`/);
    expect(await change({ removedHostnames: ["ONE.example"] })).toBe("two.example");
    expect(await change({ removedHostnames: ["one.example"] })).toMatch(/`a` doesn't have the hostname `one.example`/);
    expect(await change({ addedHostnames: ["one.example"], removedHostnames: ["two.example"] })).toBe("one.example");
    const both = await Promise.all(["x.example", "y.example"].map((host) => change({ addedHostnames: [host] })));
    expect(both.map((after) => after.includes("one.example "))).toEqual([true, true]);
    expect((await listSites(engine))[0]?.Hostnames.split(" ").sort()).toEqual([
      "one.example",
      "x.example",
      "y.example",
    ]);
  });

  test("keep the time of their first suspension if they're suspended again", async () => {
    await add("a");
    const suspended = await setSite(engine, "a", { isSuspended: true }, 1);
    expect(suspended.Suspended).toBe("1970-01-01T00:00:00.001Z");
    expect((await setSite(engine, "a", { isSuspended: true }, 2)).Suspended).toBe(suspended.Suspended);
    expect((await setSite(engine, "a", { hostnames: ["a.example"] }, 2)).Suspended).toBe(suspended.Suspended);
    expect((await setSite(engine, "a", { isSuspended: false }, 3)).Suspended).toBe("");
  });

  test("are summarized with their keys, records and last change, whether or not the number of records is stored", async () => {
    const { ID } = await createSite(engine, "a", { hostnames: ["a.example"] }, 1);
    const site = await getSite(engine, "a");
    await createKey(engine, site, {}, 1);
    await createKey(engine, site, { expiresAt: 5 }, 1);
    expect(await summarizeSite(engine, "a", 10)).toMatchObject({
      revision: 0,
      records: { brands: 0 },
      changed: undefined,
    });
    await engine.commit([1, 2, 3].map((at) => createIntent({ site: ID, at })));
    await engine.commit([createIntent({ site: ID, at: 4, operation: "delete", id: 2, values: {} })]);
    const expected = {
      site,
      keys: 2,
      validKeys: 1,
      webhooks: 0,
      records: { brands: 2 },
      revision: 4,
      changed: new Date(4),
    };
    expect(await summarizeSite(engine, "a", 10)).toMatchObject(expected);
  });

  test("are parsed once for all callers, and again only after a change", async () => {
    let reads = 0;
    const counted: Engine = {
      ...engine,
      readSite: (...args) => {
        reads++;
        return engine.readSite(...args);
      },
    };
    const actors = ["console:anna", "console:ben"].map((actor) => withActor(counted, actor, "run"));
    for (const one of [counted, ...actors]) expect(await listSites(one)).toEqual([]);
    expect(reads).toBe(1);
    const { ID } = await add("shop");
    for (const one of [...actors, counted]) expect(await listSites(one)).toMatchObject([{ ID }]);
    expect(reads).toBe(2);
  });

  test("are listed in the error for an unknown site, up to ten", async () => {
    const missed = async () => (await setSite(engine, "elsewhere", {}, 1).catch((error) => error)).message;
    const names = Array.from({ length: 11 }, (_, index) => `s${index}`);
    for (const name of names.slice(0, 10)) await add(name);
    expect(await missed()).toBe(`unknown site \`elsewhere\`: known sites: ${names.slice(0, 10).join(", ")}`);
    await add("s10");
    expect(await missed()).toBe(`unknown site \`elsewhere\`: known sites: ${names.slice(0, 10).join(", ")}, ...`);
  });

  test("leave only their ID when removed, and it's never used again", async () => {
    const kept = await add("kept");
    const gone = await add("gone");
    for (const { ID } of [kept, gone]) {
      await engine.commit([
        createIntent({ site: ID, at: 1, idempotency: { keyId: 1, name: "first", digest: "d" } }),
        createIntent({ site: ID, resource: "location", at: 1 }),
      ]);
    }
    await createKey(engine, gone, { label: "key of the site that goes" }, 1);
    await createKey(engine, kept, {}, 1);
    const before = await rowsOf(kept.ID);
    await removeSite(engine, "gone", 1);
    // Its row in `sites` stays, without an epoch, so that it accepts no writes.
    expect(await rowsOf(gone.ID)).toEqual([
      { table: "sites", row: expect.objectContaining({ id: gone.ID, epoch: "" }) },
    ]);
    expect(await rowsOf(kept.ID)).toEqual(before);
    expect((await readAllRows(engine, 0)).rows.filter(({ body }) => body?.includes("the site that goes"))).toEqual([]);
    expect((await readAllRows(engine, gone.ID)).rows).toEqual([]);
    expect((await add("next")).ID).toBe(gone.ID + 1);
  });

  test("whose removal fails, say on a full disk, are reported and removed later", async () => {
    const { ID } = await add("gone");
    await engine.commit([createIntent({ site: ID })]);
    const full: Engine = {
      ...engine,
      dropSite: () => Promise.reject(new ProblemError("unavailable", "the disk is full")),
    };
    expect(await removeSite(full, "gone", 1).catch(({ code }) => code)).toBe("unavailable");
    expect(await completeRemovals(full, 1)).toEqual([
      `couldn't finish the interrupted removal of site ${ID}: the disk is full`,
    ]);
    expect(await completeRemovals(engine, 1)).toEqual([`finished the interrupted removal of site ${ID}`]);
    expect(await completeRemovals(engine, 1)).toEqual([]);
  });

  async function rowsOf(site: number): Promise<DumpedRow[]> {
    const rows: DumpedRow[] = [];
    for await (const dumped of engine.dump()) {
      if ((dumped.table === "sites" ? dumped.row.id : dumped.row.site_id) === site) rows.push(dumped);
    }
    return rows;
  }
});
