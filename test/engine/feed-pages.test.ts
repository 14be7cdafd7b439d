// The feed's pages, and which cursors are accepted.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../src/model/engine.ts";
import type { Head } from "../../src/model/head.ts";
import { backUp, restore } from "../../src/operator/backup/backup.ts";
import { pruneJournals } from "../../src/operator/journal/prune-journals.ts";
import { allResources } from "../../src/resources/all.ts";
import { type FeedPage, type FeedQuery, readCursorAt, readFeedPage } from "../../src/store/changes/feed.ts";
import { openEngine } from "../../src/store/open.ts";
import { engines, maxCreatedSite, useEngine } from "../support/engine/engines.ts";
import { readHeadCursor } from "../support/engine/head-cursor.ts";
import { createIntent } from "../support/engine/intents.ts";

const every = new Set(allResources.map(({ name }) => name));
const defaults: FeedQuery = { since: undefined, limit: 100, resources: every, isCollapsed: false };

describe.each(engines)("the feed on $name", (kind) => {
  let engine: Engine;
  let url = "";
  let site = maxCreatedSite;
  useEngine({ ...kind, newDatabase: async () => (url = await kind.newDatabase()) }, (opened) => {
    engine = opened;
  });

  const read = (query: Partial<FeedQuery> = {}, one = engine) => readFeedPage(one, site, { ...defaults, ...query });
  const update = (id: number, Name: string, at = 1) =>
    createIntent({ site, operation: "update", id, values: { Name }, at });
  const remove = (id: number) => createIntent({ site, operation: "delete", id, values: {} });
  const shown = ({ changes }: FeedPage) =>
    changes.map(({ change: { revision, operation, id } }) => `${revision} ${operation} ${id}`);
  const errorOf = (work: Promise<unknown>) =>
    work.then(
      () => "accepted",
      (error) => `${error.code}: ${error.message}`,
    );
  /** A site with the changes 1 to 5: brands 1 and 2 created, order status 1 created, brand 1 updated, brand 2 deleted. */
  async function makeSite(): Promise<void> {
    site++;
    const status = createIntent({ site, resource: "order-status" });
    await engine.commit([createIntent({ site }), createIntent({ site }), status, update(1, "A2"), remove(2)]);
  }
  const all = ["1 create 1", "2 create 2", "3 create 1", "4 update 1", "5 delete 2"];

  test("pages: all changes in order, at any size", async () => {
    await makeSite();
    expect(shown(await read())).toEqual(all);
    const found: string[] = [];
    let page = await read({ limit: 2 });
    for (; page.hasMore; page = await read({ limit: 2, since: page.next })) found.push(...shown(page));
    expect([...found, ...shown(page)]).toEqual(all);
    expect(page.next).toBe(await readHeadCursor(engine, site));
    expect(await read({ since: page.next })).toMatchObject({ changes: [], next: page.next, hasMore: false });
  });

  test("cursor: each change's continues after it", async () => {
    await makeSite();
    const { changes } = await read();
    const [head] = await engine.readHeads([site]);
    for (const [index, { cursor, change }] of changes.entries()) {
      expect(shown(await read({ since: cursor }))).toEqual(all.slice(index + 1));
      expect(await readCursorAt(engine, site, { ...(head as Head), revision: change.revision })).toBe(cursor);
    }
  });

  test("page: skips changes that don't match, up to the revision `until`", async () => {
    await makeSite();
    const statuses = await read({ resources: new Set(["order-status"]), limit: 1 });
    expect([shown(statuses), statuses.hasMore]).toEqual([["3 create 1"], true]);
    const none = await read({ resources: new Set(["location"]) });
    expect([shown(none), none.next, none.hasMore]).toEqual([[], await readHeadCursor(engine, site), false]);
    expect(shown(await read({ until: 2 }))).toEqual(all.slice(0, 2));
    expect(await read({ until: 2 })).toMatchObject({ hasMore: true, head: { revision: 5 } });
    expect(shown(await read({ since: (await read({ limit: 1 })).next, until: 1 }))).toEqual([]);
  });

  test("collapsed page: each record's last change, but all count towards the limit", async () => {
    await makeSite();
    expect(shown(await read({ isCollapsed: true }))).toEqual(["3 create 1", "4 update 1", "5 delete 2"]);
    const page = await read({ isCollapsed: true, limit: 4 });
    expect([shown(page), page.hasMore]).toEqual([["2 create 2", "3 create 1", "4 update 1"], true]);
  });

  test("page: reads at most 10,000 entries", async () => {
    site++;
    const create = createIntent({ site });
    await engine.commit(Array.from({ length: 10_001 }, () => create));
    await engine.commit([createIntent({ site, resource: "location" })]);
    const resources = new Set(["location"]);
    const first = await read({ resources });
    expect([first.changes, first.next.split(".")[1], first.hasMore]).toEqual([[], "10000", true]);
    expect(shown(await read({ resources, since: first.next }))).toEqual(["10002 create 1"]);
    expect((await read({ limit: 1000, since: first.next })).changes).toHaveLength(2);
    expect((await read({ limit: 1000 })).changes).toHaveLength(1000);
  });

  test("cursor: other text is rejected", async () => {
    await makeSite();
    const head = await readHeadCursor(engine, site);
    const [mark] = head.split(".");
    const malformed = [
      "",
      " ",
      "now",
      "null",
      "5",
      ".5",
      `${mark}`,
      `${mark}.`,
      `${mark}.+5`,
      `${mark}.-5`,
      `${mark}.1e3`,
    ]
      .concat(`${mark}.5.5`, `${mark}.5 `, ` ${head}`, `${head}\n`, `${mark}.٥`, "\ud800", "2026-11-21T20:15:00.123")
      .concat("9".repeat(100_000));
    const foreign = [`${mark}.05`, `${mark?.toUpperCase()}g.5`, "0.1", "0.00", `${mark}.0`, "\u0000.5"].concat(
      `${mark}.9007199254740993`,
      `${mark}.99999999999999999999`,
      `${"a".repeat(100_000)}.5`,
    );
    for (const [texts, code] of [
      [malformed, "bad-request"],
      [foreign, "gone"],
    ] as const)
      for (const text of texts)
        expect([text, await errorOf(read({ since: text }))]).toEqual([
          text,
          expect.stringContaining(`${code}: invalid cursor`),
        ]);
    expect((await errorOf(read({ since: "x".repeat(100_000) }))).length).toBeLessThan(300);
  });

  test("cursor: rejected if it's ahead, has another digest, or is another site's", async () => {
    await makeSite();
    const { changes } = await read();
    const marks = changes.map(({ cursor }) => cursor.split(".")[0]);
    expect(await errorOf(read({ since: `${marks[4]}.6` }))).toMatch("gone: the cursor");
    expect(await errorOf(read({ since: `${marks[4]}.9007199254740991` }))).toMatch("is ahead of the last change");
    expect(await errorOf(read({ since: `${marks[4]}.4` }))).toMatch("doesn't match a change of this site");
    const other = await readHeadCursor(engine, site);
    await makeSite();
    expect(await errorOf(read({ since: other }))).toMatch("doesn't match a change of this site");
  });

  test("cursor, pruning: valid as long as its own entry is kept", async () => {
    await makeSite();
    const { changes, next } = await read();
    await pruneJournals(engine, [site], { revision: 1000 });
    expect(await readHeadCursor(engine, site)).toBe(next);
    expect(await read({ since: next })).toMatchObject({ changes: [], next });
    await engine.commit([update(1, "A3")]);
    expect(shown(await read({ since: next }))).toEqual(["6 update 1"]);
    for (const { cursor } of changes.slice(0, 4))
      expect(await errorOf(read({ since: cursor }))).toMatch(/has been pruned; start over/);
    for (const since of [undefined, "0.0"])
      expect(await errorOf(read({ since }))).toMatch("this site's first changes have been pruned");
    const [head] = await engine.readHeads([site]);
    expect(await errorOf(readCursorAt(engine, site, { ...(head as Head), revision: 2 }))).toMatch(
      "gone: change 2 has been pruned",
    );
  });

  test("cursor, even the last entry pruned: earlier ones rejected, the head's new one continues", async () => {
    await makeSite();
    const { next } = await read();
    await kind.run(url, `delete from journal where site_id = ${site}; update sites set floor = 5 where id = ${site}`);
    const bare = await readHeadCursor(engine, site);
    expect(bare).not.toBe(next);
    expect(await errorOf(read({ since: next }))).toMatch("has been pruned");
    expect(await read({ since: bare })).toMatchObject({ changes: [], next: bare, hasMore: false });
    await engine.commit([update(1, "A3")]);
    expect(shown(await read({ since: bare }))).toEqual(["6 update 1"]);
    expect(await errorOf(read({ since: bare.replace(/.5$/, "f.5") }))).toMatch("gone");
  });

  test("cursor of a site without changes: still valid after the first change", async () => {
    site++;
    const start = await readHeadCursor(engine, site);
    expect([start, (await read()).next, (await read({ since: start })).hasMore]).toEqual(["0.0", "0.0", false]);
    await engine.commit([createIntent({ site })]);
    expect(shown(await read({ since: start }))).toEqual(["1 create 1"]);
  });

  test("cursor: rejected after a restore, a reset or lost commits", async () => {
    await makeSite();
    const folder = mkdtempSync(join(tmpdir(), "storefront-feed-"));
    await backUp(engine, join(folder, "a"), 0);
    const old = (await read()).next;
    await engine.replaceEpochs();
    expect(await errorOf(read({ since: old }))).toMatch("doesn't match a change of this site");
    const renewed = (await read()).next;
    await engine.commit([update(1, "lost")]);
    await restore(engine, join(folder, "a"), join(folder, "kept"), 0);
    for (const since of [old, renewed])
      expect(await errorOf(read({ since }))).toMatch("doesn't match a change of this site");
    // A standby that lagged has the same journal without the last change, and makes another change with its revision.
    await engine.commit([update(1, "lost")]);
    const lost = (await read()).next;
    await kind.run(
      url,
      `delete from journal where site_id = ${site} and revision = 6; update sites set revision = 5 where id = ${site};
update records set revision = 4, body = '{"ID":1,"Name":"A2"}' where site_id = ${site} and resource = 'brand' and id = 1`,
    );
    expect(await errorOf(read({ since: lost }))).toMatch("is ahead of");
    await engine.commit([update(1, "another")]);
    expect(await errorOf(read({ since: lost }))).toMatch(
      "doesn't match a change of this site: it's from another site or sandbox",
    );
    rmSync(folder, { recursive: true, force: true });
  });

  test("database behind the site's known head: no page or cursor is read", async () => {
    await makeSite();
    const [head] = await engine.readHeads([site]);
    const requiredHead = { ...(head as Head), revision: 6 };
    expect(await errorOf(read({ requiredHead }))).toMatch("unavailable: the database is behind");
    expect(await errorOf(readCursorAt(engine, site, requiredHead))).toMatch("unavailable: the database is behind");
    expect(await errorOf(readCursorAt(engine, site, { epoch: "other", revision: 5 }))).toMatch("unavailable");
  });

  test("page: ends early if pruning or a new epoch overtakes it", async () => {
    site++;
    await engine.commit(Array.from({ length: 2500 }, () => createIntent({ site })));
    const resources = new Set(["location"]);
    for (const overtake of [() => engine.replaceEpochs(), () => pruneJournals(engine, [site], { revision: 2000 })]) {
      let reads = 0;
      const overtaken = {
        readJournalPage: async (...args: Parameters<Engine["readJournalPage"]>) => {
          if (++reads === 2) await overtake();
          return engine.readJournalPage(...args);
        },
      };
      const { changes, next, hasMore } = await readFeedPage(overtaken, site, { ...defaults, resources });
      expect([changes, next.split(".")[1], hasMore]).toEqual([[], "100", true]);
      expect(await errorOf(read({ since: next }))).toMatch(/^gone/);
    }
  });
});

test("cursors: same on another engine with the same history", async () => {
  const [one, two] = await Promise.all(
    engines.map(async (kind) => {
      await kind.open();
      return openEngine(await kind.newDatabase(), allResources);
    }),
  );
  const epoch = "same";
  const cursors = [];
  for (const engine of [one, two] as Engine[]) {
    await engine.commit([createIntent({ values: { Name: 'é\u2028😀\r\n"' } })]);
    const journal: Engine["readJournalPage"] = async (...args) => {
      const page = await engine.readJournalPage(...args);
      return { ...page, head: { ...page.head, epoch } };
    };
    cursors.push(await readCursorAt({ readJournalPage: journal }, 1, { revision: 1, epoch }));
    await engine.close();
  }
  for (const kind of engines) await kind.close();
  expect(cursors[0]).toBe(cursors[1] as string);
});

test("cursors: same in every version of the program", async () => {
  const body = '{"ID":1,"Name":"é"}';
  const entry = { revision: 18, at: 1, actor: "test", resource: "brand", id: 1, operation: "update", body } as const;
  const head = { revision: 18, epoch: "k3f9" };
  const page = { head, floor: 0, entries: [{ ...entry, run: null, before: null }] };
  expect(await readCursorAt({ readJournalPage: async () => page }, 1, head)).toBe("ceec2e1d8a7d.18");
  expect(await readCursorAt({ readJournalPage: async () => ({ ...page, floor: 18, entries: [] }) }, 1, head)).toBe(
    "540be3ecab02.18",
  );
});
