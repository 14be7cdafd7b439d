import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { DumpedRow, Engine } from "../../src/model/engine.ts";
import { createKey } from "../../src/operator/keys.ts";
import { addSite, listSites, removeSite, setSite } from "../../src/operator/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { loadSite } from "../../src/store/load-site.ts";
import { openEngine } from "../../src/store/open.ts";
import { engines } from "../support/engines.ts";
import { createIntent } from "../support/intents.ts";

describe.each(engines)("sites on $name", (kind) => {
  let engine: Engine;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    await engine?.close();
    engine = await openEngine(await kind.newDatabase(), allResources);
  });
  afterAll(async () => {
    await engine.close();
    await kind.close();
  });

  const defaults = async () =>
    (await listSites(engine)).filter((site) => site.Default === "yes").map(({ Name }) => Name);
  const add = (name: string, isDefault?: boolean) => addSite(engine, name, { isDefault }, 1);

  test("have one default at most: the last that was made it", async () => {
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

  test("that there are, at most ten of them, are named to whoever misses one", async () => {
    const missed = async () => (await setSite(engine, "elsewhere", {}, 1).catch((error) => error)).message;
    const names = Array.from({ length: 11 }, (_, index) => `s${index}`);
    for (const name of names.slice(0, 10)) await add(name);
    expect(await missed()).toBe(`unknown site \`elsewhere\`: known sites: ${names.slice(0, 10).join(", ")}`);
    await add("s10");
    expect(await missed()).toBe(`unknown site \`elsewhere\`: known sites: ${names.slice(0, 10).join(", ")}, ...`);
  });

  test("that are removed leave nothing but their number, which is never used again", async () => {
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
    // Its row stays, without a history that anything could still be written to.
    expect(await rowsOf(gone.ID)).toEqual([
      { table: "sites", row: expect.objectContaining({ id: gone.ID, epoch: "" }) },
    ]);
    expect(await rowsOf(kept.ID)).toEqual(before);
    expect((await loadSite(engine, 0)).rows.filter(({ body }) => body?.includes("the site that goes"))).toEqual([]);
    expect((await loadSite(engine, gone.ID)).rows).toEqual([]);
    expect((await add("next")).ID).toBe(gone.ID + 1);
  });

  async function rowsOf(site: number): Promise<DumpedRow[]> {
    const rows: DumpedRow[] = [];
    for await (const dumped of engine.dump()) {
      if ((dumped.table === "sites" ? dumped.row.id : dumped.row.site_id) === site) rows.push(dumped);
    }
    return rows;
  }
});
