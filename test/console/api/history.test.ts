// The history of a site in the API of the console.

import { describe, expect, test } from "bun:test";
import { pruneJournals } from "../../../src/operator/journal/prune-journals.ts";
import { removeOperator, setOperator } from "../../../src/operator/operators/operators.ts";
import { signOutEverywhere } from "../../../src/operator/operators/sessions.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { withActor } from "../../../src/system/with-actor.ts";
import type { ConsoleClient, TestConsole } from "../../support/console/server.ts";
import { useConsoleOn } from "../../support/console/use-console.ts";
import { engines } from "../../support/engine/engines.ts";
import { ticks, waitUntil } from "../../support/time.ts";

const history = "/sites/shop/history";
const brands = "/sites/shop/records/brands";

describe.each(engines)("the history in the console on $name", (kind) => {
  let server: TestConsole;
  let anna: ConsoleClient;
  useConsoleOn(kind, (started, operator) => {
    [server, anna] = [started, operator];
  });

  /** Creates brands in one run. */
  async function createMany(run: string, count: number, actor = "operator:import") {
    const engine = withActor(server.engine, actor, run);
    for (let done = 0; done < count; done += 1000) {
      const intents = Array.from({ length: Math.min(1000, count - done) }, (_, index) => ({
        site: server.site.ID,
        resource: "brand",
        operation: "create" as const,
        valuesJson: JSON.stringify({ Name: `${run} ${done + index}` }),
        actor: "operator",
        at: Date.now(),
      }));
      await engine.commit(intents);
    }
  }
  const pageOf = async (query = "") => (await anna.call("GET", `${history}${query}`)).json;

  test("lists each change with its author, and with the record before and after", async () => {
    await anna.call("POST", brands, { Name: "Acme" });
    await anna.change(brands, 1, { Name: "Acme Ltd" });
    await anna.call("DELETE", brands, { ids: [1] });
    const { entries, next, begins } = await pageOf();
    const changes = entries.map(({ change }: { change: { operation: string } }) => change);
    expect(changes).toMatchObject([
      { operation: "delete", resource: "brands", id: 1, before: { Name: "Acme Ltd" }, after: null },
      { operation: "update", before: { Name: "Acme" }, after: { Name: "Acme Ltd" } },
      { operation: "create", before: null, after: { Name: "Acme" } },
    ]);
    expect(entries[0]).toMatchObject({ actor: "console:anna", run: expect.any(String), counts: { delete: 1 } });
    expect([next, begins]).toEqual([null, 1]);
  });
  if (kind.name === "PostgreSQL") return;

  test("shows the changes of a run as one entry, also if they are read in several chunks", async () => {
    await createMany("spring", 1200);
    await anna.call("POST", brands, { Name: "Acme" });
    await createMany("summer", 3);
    const { entries, next } = await pageOf();
    expect(entries).toMatchObject([
      { run: "summer", first: 1202, last: 1204, counts: { create: 3 } },
      { first: 1201, last: 1201, counts: { create: 1 } },
      { run: "spring", first: 1, last: 1200, counts: { create: 1200 }, resources: ["brands"] },
    ]);
    expect(next).toBeNull();
    // A run at the end of a page is complete. The next page begins with the next run.
    const page = await pageOf("?limit=2");
    expect([page.entries.length, page.next]).toEqual([2, 1201]);
    expect((await pageOf(`?limit=2&before=${page.next}`)).entries).toMatchObject([{ run: "spring", first: 1 }]);
    const single = await pageOf("?single=1&limit=5&run=spring");
    expect(single.entries.map(({ last }: { last: number }) => last)).toEqual([1200, 1199, 1198, 1197, 1196]);
  });

  test("reads at most 10,000 changes per page, and continues after them on the next page", async () => {
    await anna.call("POST", brands, { Name: "Acme" });
    await createMany("spring", 10_100);
    const first = await pageOf("?resource=brands&id=1");
    expect(first).toMatchObject({ entries: [], next: 102 });
    const second = await pageOf(`?resource=brands&id=1&before=${first.next}`);
    expect(second).toMatchObject({ entries: [{ first: 1, last: 1 }], next: null });
  });

  test("is filtered by record, operator and run", async () => {
    const ben = await server.signIn("ben");
    await anna.call("POST", brands, { Name: "Acme" });
    await ben.call("POST", "/sites/shop/records/locations", { Name: "Mill" });
    await ben.change(brands, 1, { Name: "Acme Ltd" });
    const { entries } = await pageOf();
    const revisionsOf = async (query: string) =>
      (await pageOf(query)).entries.map(({ last }: { last: number }) => last);
    expect(await revisionsOf("?resource=brands")).toEqual([3, 1]);
    expect(await revisionsOf("?resource=brands&id=1&actor=console:anna")).toEqual([1]);
    expect(await revisionsOf("?actor=console:ben")).toEqual([3, 2]);
    expect(await revisionsOf(`?run=${entries[1].run}`)).toEqual([2]);
    expect(await revisionsOf("?actor=nobody")).toEqual([]);
    for (const [query, status] of [
      ["?resource=nothing", 404],
      ["?limit=0", 400],
      ["?limit=201", 400],
      ["?limit=1&limit=2", 400],
      ["?before=x", 400],
      ["?id=x", 400],
    ] as const)
      expect([query, (await anna.call("GET", history + query)).status]).toEqual([query, status]);
  });

  test("is filtered by time, kind and the name of a person; an entry counts the changes of its run that the filter hides", async () => {
    const commit = (operation: "create" | "update" | "delete", id: number | undefined, at: number, run: string) =>
      withActor(server.engine, "operator:anna", run).commit([
        {
          site: server.site.ID,
          resource: "brand",
          operation,
          ...(id === undefined ? {} : { id }),
          valuesJson: JSON.stringify({ Name: `${run} ${at}` }),
          actor: "operator",
          at,
        },
      ]);
    const second = (n: number) => Date.parse("2026-03-01T10:00:00Z") + n * 1000;
    for (const n of [0, 1, 2]) await commit("create", undefined, second(n), "spring");
    for (const id of [1, 2]) await commit("update", id, second(2), "spring");
    await commit("delete", 3, second(4), "spring");
    await commit("create", undefined, second(5), "summer");
    const revisionsOf = async (query: string) =>
      (await pageOf(query)).entries.map(({ first, last }: { first: number; last: number }) => [first, last]);
    expect(await revisionsOf("?from=2026-03-01T10:00:02Z&to=2026-03-01T10:00:04Z")).toEqual([[3, 5]]);
    expect(await revisionsOf("?from=2026-03-01T10:00:04Z")).toEqual([
      [7, 7],
      [6, 6],
    ]);
    expect(await revisionsOf("?to=2026-03-01T10:00:00Z")).toEqual([]);
    expect(await revisionsOf("?to=2026-03-01T10:00:01Z")).toEqual([[1, 1]]);
    expect(await revisionsOf("?from=2026-03-01T11:00:00Z")).toEqual([]);
    expect((await pageOf("?from=2026-03-01T11:00:00Z")).next).toBeNull();
    // A page that ends within the range continues at the place where it ended.
    const page = await pageOf("?from=2026-03-01T10:00:01Z&limit=1&single=1");
    expect(page).toMatchObject({ entries: [{ first: 7 }], next: 7 });
    expect(await revisionsOf(`?from=2026-03-01T10:00:01Z&limit=9&single=1&before=${page.next}`)).toHaveLength(5);
    expect((await pageOf("?kind=delete")).entries).toMatchObject([
      { first: 6, last: 6, counts: { delete: 1 }, others: 0 },
    ]);
    expect((await pageOf("?resource=brands&id=1")).entries).toMatchObject([
      { first: 1, last: 4, counts: { create: 1, update: 1 }, others: 2 },
    ]);
    expect(await revisionsOf("?actor=anna&kind=update")).toEqual([[4, 5]]);
    expect(await revisionsOf("?actor=ann")).toEqual([]);
    for (const query of ["?kind=restore", "?from=yesterday", "?to=2026-02-30", "?from=2026-03-01&from=2026-03-02"])
      for (const path of [history, `${history}/export`])
        expect([query, (await anna.call("GET", path + query)).status]).toEqual([query, 400]);
  });

  test("is downloaded as CSV, one row for each changed field, without invisible characters", async () => {
    const key = (await anna.call("POST", "/sites/shop/keys", { label: "till", scope: "write" })).json;
    await anna.call("POST", brands, { Name: "=2+3", AccountNumber: 'a,"b' });
    await anna.change(brands, 1, { Name: "Acme", Address: { Town: "+44", County: "\u009b2J\u202eab" } });
    await createMany("spring", 1, key.prefix);
    await anna.call("DELETE", brands, { ids: [1] });
    const { status, json } = await anna.call("GET", `${history}/export?to=2999-01-01`);
    expect([status, json.changes, json.next]).toEqual([200, 4, null]);
    const [header, ...rows] = (json.text as string).trimEnd().split("\r\n");
    expect(header).toBe("time,person,actor,run,change,resource,ID,name,field,before,after,revision");
    const shown = rows.map((row) => row.replace(/^[^,]+Z,/, "").replace(/,console:anna,\w{8},/, ",console:anna,…,"));
    expect(shown).toEqual([
      "anna,console:anna,…,create,brands,1,=2+3,Name,,=2+3,1",
      `anna,console:anna,…,create,brands,1,=2+3,AccountNumber,,"a,""b",1`,
      "anna,console:anna,…,update,brands,1,Acme,Name,=2+3,Acme,2",
      "anna,console:anna,…,update,brands,1,Acme,Address.Town,,+44,2",
      "anna,console:anna,…,update,brands,1,Acme,Address.County,,\\u009b2J\\u202eab,2",
      `till,${key.prefix},spring,create,brands,2,spring 0,Name,,spring 0,3`,
      "anna,console:anna,…,delete,brands,1,Acme,Name,Acme,,4",
      `anna,console:anna,…,delete,brands,1,Acme,AccountNumber,"a,""b",,4`,
      "anna,console:anna,…,delete,brands,1,Acme,Address.Town,+44,,4",
      "anna,console:anna,…,delete,brands,1,Acme,Address.County,\\u009b2J\\u202eab,,4",
    ]);
    expect(rows.every((row) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,/.test(row))).toBe(true);
    const deleted = await anna.call("GET", `${history}/export?kind=delete&resource=brands&id=1`);
    expect(deleted.json.text.trimEnd().split("\r\n")).toHaveLength(5);
    expect((await anna.call("GET", `${history}/export?actor=nobody`)).json.text).toStartWith("time,person");
    const rest = await anna.call("GET", `${history}/export?after=2`);
    expect(rest.json).toMatchObject({
      text: rows
        .slice(5)
        .map((row) => `${row}\r\n`)
        .join(""),
      changes: 2,
      next: null,
    });
  });

  test("is downloaded in parts that together have each change once", async () => {
    // Enough text for two parts.
    await createMany("x".repeat(100), 6500, "spring");
    const { next, changes, text } = (await anna.call("GET", `${history}/export`)).json;
    expect(text.length).toBeGreaterThan(2_000_000);
    const later = (await anna.call("GET", `${history}/export?after=${next}`)).json;
    expect([changes + later.changes, later.next]).toEqual([6500, null]);
    const revisions = `${text}${later.text}`
      .trimEnd()
      .split("\r\n")
      .slice(1)
      .map((row: string) => Number(row.split(",").at(-1)));
    expect(revisions).toEqual(Array.from({ length: 6500 }, (_, index) => index + 1));
  });

  test("begins with the first change that was not pruned", async () => {
    for (const Name of ["a", "b", "c"]) await anna.call("POST", brands, { Name });
    await pruneJournals(server.engine, [server.site.ID], { revision: 3 });
    const page = await pageOf();
    expect(page.next).toBeNull();
    expect(page.begins).toBe(3);
    expect(page.entries.map(({ last }: { last: number }) => last)).toEqual([3]);
    expect((await anna.call("POST", "/sites/shop/undo", { since: 0 })).status).toBe(404);
  });

  test("undoes a run after a dry run, skips records that were changed again later, and shows the undo as an entry", async () => {
    await createMany("spring", 3);
    const ben = await server.signIn("ben");
    await ben.change(brands, 2, { Name: "Ben's" });
    const range = { since: 0, until: 3, run: "spring" };
    const dryRun = await anna.call("POST", "/sites/shop/undo", { ...range, dryRun: true });
    const skipped = [{ resource: "brands", id: 2, changed: { revision: 4, actor: "console:ben" } }];
    expect(dryRun.json).toMatchObject({ deleted: 2, restored: 0, skipped });
    expect((await anna.call("GET", brands)).json.total).toBe(3);
    const done = await anna.call("POST", "/sites/shop/undo", range);
    expect(done.json).toMatchObject({ deleted: 2, skipped, revisions: { first: 5, last: 6 } });
    expect((await anna.call("GET", brands)).json.records).toMatchObject([{ record: { ID: 2, Name: "Ben's" } }]);
    expect((await pageOf()).entries[0]).toMatchObject({ actor: "console:anna", counts: { delete: 2 } });
    // The undo can be undone.
    const again = { since: 4, until: 6, run: done.json.run };
    expect((await anna.call("POST", "/sites/shop/undo", again)).json).toMatchObject({ restored: 2, skipped: [] });
    expect((await anna.call("GET", brands)).json.total).toBe(3);
  });

  test("shows a batch request of a key as one entry, which can be undone", async () => {
    await anna.call("POST", brands, { Name: "Acme" });
    const run = "k3J9aZ0q-2-3";
    await createMany(run, 3, "sfk_AbCd1234");
    const [entry] = (await pageOf()).entries;
    expect(entry).toMatchObject({ run, actor: "sfk_AbCd1234", first: 2, last: 4, counts: { create: 3 } });
    const range = { since: entry.first - 1, until: entry.last, run: entry.run };
    expect((await anna.call("POST", "/sites/shop/undo", range)).json).toMatchObject({ deleted: 3, skipped: [] });
    expect((await anna.call("GET", brands)).json.total).toBe(1);
  });

  test("runs at most two undos at once, to limit their memory", async () => {
    await anna.call("POST", brands, { Name: "a" });
    const { readJournalPage: journal } = server.engine;
    let [running, most] = [0, 0];
    const counted: typeof journal = async (...args) => {
      most = Math.max(most, ++running);
      await waitUntil(() => most >= 2, "a second undo at the same time");
      // A third one would begin in this time.
      await ticks(5);
      return Promise.resolve(journal(...args)).finally(() => running--);
    };
    Object.assign(server.engine, { readJournalPage: counted });
    const undo = () => anna.call("POST", "/sites/shop/undo", { since: 0, dryRun: true });
    const all = await Promise.all(Array.from({ length: 12 }, undo));
    Object.assign(server.engine, { readJournalPage: journal });
    expect([all.every(({ status }) => status === 200), most]).toEqual([true, 2]);
  });

  const removed = "was signed out or removed";
  const ends: [string, string, (ben: ConsoleClient) => Promise<unknown>][] = [
    ["is removed", removed, () => removeOperator(server.engine, "ben", Date.now())],
    ["is signed out everywhere", removed, () => signOutEverywhere(server.engine, "ben", Date.now())],
    ["signs out", removed, (ben) => ben.call("DELETE", "/session")],
    [
      "loses the site",
      "can no longer manage this site",
      () => setOperator(server.engine, "ben", { sites: ["toys"] }, Date.now()),
    ],
    ["may only read", "now has another role", () => setOperator(server.engine, "ben", { role: "viewer" }, Date.now())],
  ];
  test.each(ends)("stops an undo when its operator %s", async (_, reason, end) => {
    await createSite(server.engine, "toys", {}, Date.now());
    await createMany("spring", 3);
    const ben = await server.signIn("ben", ["shop"]);
    const { readJournalPage: journal } = server.engine;
    const late: typeof journal = async (...args) => {
      Object.assign(server.engine, { readJournalPage: journal });
      await end(ben);
      return journal(...args);
    };
    Object.assign(server.engine, { readJournalPage: late });
    const undone = await ben.call("POST", "/sites/shop/undo", { since: 0, run: "spring" });
    expect([undone.status, undone.json.detail]).toEqual([403, `the undo was stopped, because ben ${reason}`]);
    expect((await anna.call("GET", brands)).json.total).toBe(3);
  });

  const badUndos: [unknown, number][] = [
    [{}, 400],
    [null, 400],
    [{ since: -1 }, 400],
    [{ since: "0" }, 400],
    [{ since: 0, until: 1.5 }, 400],
    [{ since: 0, run: 7 }, 400],
    [{ since: 0, dryRun: "true" }, 400],
    [{ since: 0, dryRun: 1 }, 400],
    [{ since: 0, force: "no" }, 400],
    [{ since: 99 }, 404],
  ];
  test("rejects an undo with an invalid range or options", async () => {
    await anna.call("POST", brands, { Name: "a" });
    for (const [body, status] of badUndos)
      expect([body, (await anna.call("POST", "/sites/shop/undo", body)).status]).toEqual([body, status]);
  });

  test("restores an earlier state of a record, also after it was deleted", async () => {
    await anna.call("POST", brands, { Name: "Acme" });
    await anna.change(brands, 1, { Name: "Acme Ltd" });
    await anna.call("DELETE", brands, { ids: [1] });
    const path = `${brands}/1/restore`;
    expect((await anna.call("POST", path, { revision: 3 })).status).toBe(404);
    expect((await anna.call("POST", path, { revision: "1" })).status).toBe(400);
    expect((await anna.call("POST", `${brands}/2/restore`, {})).status).toBe(404);
    const restored = await anna.call("POST", path, { revision: 1 });
    expect(restored.json).toMatchObject({ revisions: { first: 4, last: 4 }, run: expect.any(String) });
    expect((await anna.call("GET", `${brands}/1`)).json.record.Name).toBe("Acme");
  });
});
