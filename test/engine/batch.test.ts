// What a batch of writes affects besides records: last IDs, idempotency keys, and a removed site's row.

import { describe, expect, test } from "bun:test";
import type { Intent } from "../../src/model/change.ts";
import type { Engine } from "../../src/model/engine.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { engines, useEngineAndOpener } from "../support/engine/engines.ts";
import { createIntent, deleteSiteRecord, type TestIntent } from "../support/engine/intents.ts";
import { ticks, waitUntil } from "../support/time.ts";

describe.each(engines)("on $name", (kind) => {
  let engine: Engine;
  let url: string;
  let site = 0;
  useEngineAndOpener(kind, (first, address) => {
    [engine, url] = [first, address];
  });

  const newSite = () => ++site;
  const keyed = (name: string, intent: TestIntent = {}, keyId = 3): Intent =>
    createIntent({ site, ...intent, idempotency: { keyId, name, digest: "d" } });
  /** Returns the only outcome of `intent`. */
  async function commit(intent: Intent) {
    const [outcome] = await engine.commit([intent]);
    if (!outcome || outcome.kind === "rejected") throw new Error(`rejected: ${outcome?.rejectionReason}`);
    return outcome;
  }

  test("last IDs: the next ID never goes back", async () => {
    newSite();
    const make = async (intent: TestIntent = {}) => (await commit(createIntent({ site, ...intent }))).id;
    expect([await make(), await make({ id: 7 }), await make({ id: 3 })]).toEqual([1, 7, 3]);
    await commit(createIntent({ site, operation: "update", id: 1, values: { Name: "Bolt" } }));
    await commit(createIntent({ site, operation: "delete", id: 7, values: {} }));
    await commit(createIntent({ site, operation: "restore", id: 3, values: { ID: 3, Name: "again" } }));
    expect(await make()).toBe(8);
    const inOneBatch = await engine.commit([
      createIntent({ site, id: 20 }),
      createIntent({ site, id: 15 }),
      createIntent({ site }),
    ]);
    expect(inOneBatch.map((outcome) => "id" in outcome && outcome.id)).toEqual([20, 15, 21]);
  });

  test("record changed several times: stored as after the last, all in the journal", async () => {
    newSite();
    const other = { site, resource: "order-status", id: 1 } as const;
    await commit(createIntent({ site, values: { Name: "before" } }));
    await engine.commit([
      createIntent({ site, operation: "update", id: 1, values: { Name: "a" } }),
      createIntent({ ...other, values: { Name: "status" } }),
      createIntent({ site, operation: "delete", id: 1, values: {} }),
      createIntent({ site, operation: "restore", id: 1, values: { ID: 1, Name: "b" } }),
      createIntent({ site, values: { Name: "second" } }),
      createIntent({ site, operation: "update", id: 1, values: { Name: "c" } }),
      createIntent({ site, operation: "delete", id: 2, values: {} }),
    ]);
    expect((await readAllRows(engine, site)).rows.map(({ resource, body }) => [resource, body])).toEqual([
      ["brand", '{"ID":1,"Name":"c"}'],
      ["brand", null],
      ["order-status", '{"ID":1,"Name":"status"}'],
    ]);
    const changes = (await engine.readChangesSince(site, 1, {})) ?? [];
    expect(changes.map(({ revision, id, operation }) => [revision, id, operation])).toEqual([
      [2, 1, "update"],
      [3, 1, "create"],
      [4, 1, "delete"],
      [5, 1, "create"],
      [6, 2, "create"],
      [7, 1, "update"],
      [8, 2, "delete"],
    ]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("record newer than its site, or missing from the stored count: not changed", async () => {
    newSite();
    await commit(createIntent({ site }));
    const deletion = createIntent({ site, operation: "delete", id: 1, values: {} });
    const message = () => engine.commit([deletion]).catch((error) => error.message);
    await kind.run(url, `update records set revision = 2 where site_id = ${site}`);
    expect(await message()).toBe(`site ${site} is at revision 1, but its brand 1 at revision 2`);
    await kind.run(url, `update records set revision = 1 where site_id = ${site}`);
    await kind.run(url, `update sites set counts = '{"brand":{"count":0,"revision":1}}' where id = ${site}`);
    expect(await message()).toContain("run `storefront check`");
    expect((await engine.readHeads([site]))[0]?.revision).toBe(1);
    await kind.run(url, `update sites set counts = '{"brand":{"count":1,"revision":1}}' where id = ${site}`);
    expect((await commit(deletion)).revision).toBe(2);
  });

  test("idempotency key: belongs to its API key and site", async () => {
    const one = newSite();
    const first = await commit(keyed("a", { site: one }));
    const second = await commit(keyed("a", { site: one }, 4));
    const elsewhere = await commit(keyed("a", { site: newSite() }));
    expect([first, second, elsewhere].map(({ kind, id }) => [kind, id])).toEqual([
      ["done", 1],
      ["done", 2],
      ["done", 1],
    ]);
    const batch = await engine.commit([
      keyed("b", { site: one }),
      keyed("b", { site: one }, 4),
      keyed("b", { site: newSite() }),
    ]);
    expect(batch.map((outcome) => outcome.kind)).toEqual(["done", "done", "done"]);
    expect(await commit(keyed("a", { site: one }, 4))).toMatchObject({ kind: "replayed", id: 2 });
    expect(await commit(keyed("a", { site: one }))).toMatchObject({ kind: "replayed", id: 1 });
  });

  test("replay: even if the write changed nothing and the record has changed since", async () => {
    newSite();
    await commit(createIntent({ site, values: { Name: "Acme" } }));
    const update = (name: string, Name: string) => keyed(name, { operation: "update", id: 1, values: { Name } });
    const unchanged = await commit(update("a", "Acme"));
    expect(unchanged.kind).toBe("unchanged");
    await commit(createIntent({ site, operation: "update", id: 1, values: { Name: "Bolt" } }));
    const { kind: _, ...told } = unchanged;
    expect(await commit(update("a", "Acme"))).toEqual({ kind: "replayed", ...told });
    expect((await readAllRows(engine, site)).rows[0]?.body).toContain("Bolt");
  });

  describe("batches committed together", () => {
    const batchesOf = (count: number) =>
      Array.from({ length: count }, (_, at) => [
        createIntent({ site, values: { Name: `${at}` } }),
        createIntent({ site, operation: "update", id: 1, values: { Name: `changed ${at}` } }),
      ]);
    const stored = async () => (await readAllRows(engine, site)).rows.length;

    test("all stored, each sees earlier ones, nothing comes in between", async () => {
      newSite();
      const kinds: string[] = [];
      let other: Promise<unknown> | undefined;
      await engine.commitAtomically(batchesOf(3), async (outcomes) => {
        other ??= engine.commit([createIntent({ site, values: { Name: "other" } })]);
        // On SQLite, the other write waits in this process.
        if (kind.name === "SQLite") await ticks();
        else await waitUntil(() => kind.isWaitingForLock(url), "the other write");
        for (const { kind: what } of outcomes) kinds.push(what);
      });
      await other;
      expect(kinds).toEqual(new Array(6).fill("done"));
      const { rows, head } = await readAllRows(engine, site);
      expect(rows.map(({ id, body }) => `${id} ${JSON.parse(body ?? "").Name}`)).toEqual([
        "1 changed 2",
        "2 1",
        "3 2",
        "4 other",
      ]);
      expect(head.revision).toBe(7);
    });

    test("one intent rejected: nothing stored", async () => {
      newSite();
      const seen: string[] = [];
      const rejected = createIntent({ site, operation: "delete", id: 99, values: {} });
      const batches = batchesOf(4).map((batch, at) => (at === 2 ? [...batch, rejected] : batch));
      await engine.commitAtomically(batches, (outcomes) => {
        for (const { kind: what } of outcomes) seen.push(what);
      });
      expect([seen.length, seen.at(-1)]).toEqual([7, "rejected"]);
      expect(await stored()).toBe(0);
      await commit(createIntent({ site }));
      expect(await stored()).toBe(1);
    });

    test("one can't be made: nothing stored, and others can write again", async () => {
      newSite();
      function* batches() {
        yield batchesOf(1)[0] as Intent[];
        throw new Error("no more");
      }
      await expect(engine.commitAtomically(batches(), () => {})).rejects.toThrow("no more");
      expect(await stored()).toBe(0);
      await commit(createIntent({ site }));
      expect(await engine.findInconsistencies()).toEqual([]);
    });
  });

  test("sandbox write: rejected if its key, site or host's site has changed since authorization", async () => {
    const [host, sandbox] = [newSite(), newSite()];
    const change = async (resource: string, id?: number, operation: Intent["operation"] = "create") =>
      commit(
        createIntent({ site: 0, resource, operation, id, values: operation === "delete" ? {} : { Name: operation } }),
      );
    await change("site", host);
    await change("site", sandbox);
    const { id: keyId, revision: first } = await change("key");
    const write = async (authorizedBy: Intent["authorizedBy"]) => {
      const [outcome] = await engine.commit([createIntent({ site: sandbox, authorizedBy })]);
      return outcome?.kind === "rejected" ? outcome.rejectionReason : outcome?.kind;
    };
    const outcomesAt = async (revision: number) => [
      await write({ keyId, hostSite: host, revision }),
      await write({ keyId, revision }),
    ];
    const changed = "authorization-changed";
    expect(await outcomesAt(first)).toEqual(["done", "done"]);
    const { revision: second } = await change("site", host, "update");
    expect(await outcomesAt(first)).toEqual([changed, "done"]);
    expect(await outcomesAt(second)).toEqual(["done", "done"]);
    const { revision: third } = await change("site", sandbox, "update");
    expect(await outcomesAt(second)).toEqual([changed, changed]);
    const { revision: fourth } = await change("key", keyId, "update");
    expect(await outcomesAt(third)).toEqual([changed, changed]);
    await change("site", host, "delete");
    expect(await outcomesAt(fourth)).toEqual([changed, "done"]);
  });

  test("authorized before a failover: rejected, because the revision may now be another change", async () => {
    const site = newSite();
    await commit(createIntent({ site: 0, resource: "site", id: site, values: { Name: "s" } }));
    const { id: keyId, revision } = await commit(createIntent({ site: 0, resource: "key", values: { Name: "k" } }));
    const [{ timeline } = { timeline: undefined }] = await engine.readHeads([0]);
    const write = async (on: number | undefined) => {
      const authorizedBy = { keyId, revision, timeline: on };
      const [outcome] = await engine.commit([createIntent({ site, authorizedBy })]);
      return outcome?.kind === "rejected" ? outcome.rejectionReason : outcome?.kind;
    };
    expect([await write(timeline), await write((timeline ?? 1) - 1)]).toEqual(["done", "authorization-changed"]);
  });

  test("removed site: only its row in `sites` stays, other sites keep theirs", async () => {
    const [gone, kept] = [newSite(), newSite()];
    for (const number of [gone, kept]) {
      await commit(keyed("a", { site: number }));
      await commit(createIntent({ site: number, operation: "delete", id: 1, values: {} }));
      await commit(createIntent({ site: number, resource: "order-status" }));
    }
    const tablesOf = async (number: number) => {
      const rows = await Array.fromAsync(engine.dump());
      const ours = rows.filter(({ table, row }) => (table === "sites" ? row.id : row.site_id) === number);
      return ours.map(({ table }) => table);
    };
    const before = await tablesOf(gone);
    expect(before).toEqual(["sites", "records", "records", "journal", "journal", "journal", "idempotency"]);
    await deleteSiteRecord(engine, gone);
    await engine.dropSite(gone);
    expect(await tablesOf(gone)).toEqual(["sites"]);
    expect(await tablesOf(kept)).toEqual(before);
    expect(await engine.findInconsistencies()).toEqual([]);
  });
});
