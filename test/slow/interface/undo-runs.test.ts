// A key undoes its own runs with POST /restapi/undo.json and .xml (contract section 14).

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { ProblemError } from "../../../src/model/errors.ts";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { pruneJournals } from "../../../src/operator/journal/prune-journals.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey, revokeKey, rotateKey } from "../../../src/operator/sites/keys.ts";
import { createSite, setSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { engines } from "../../support/engine/engines.ts";
import { createBrand, createIntent } from "../../support/engine/intents.ts";
import { type CallOptions, startTestServer, type TestServer } from "../../support/http/server.ts";

const path = "/restapi/undo.json";
const create = (Name: string) => ({ Method: "POST", Resource: "brands", Record: { Name } });
const update = (ID: number, Name: string) => ({ Method: "PUT", Resource: "brands", ID, Record: { Name } });
const remove = (ID: number) => ({ Method: "DELETE", Resource: "brands", ID });

describe.each(engines)("undo on $name", (kind) => {
  let server: TestServer;
  let clock = Date.now();
  beforeAll(() => kind.open());
  afterAll(() => kind.close());
  beforeEach(async () => {
    server = await startTestServer({ settings: { DATABASE: await kind.newDatabase() }, now: () => clock });
    for (const Name of ["A", "B", "C"]) await server.call("POST", "/restapi/brands.json", { body: { Name } });
  });
  afterEach(() => server.stop());

  /** Sends a batch request, and returns its run. */
  async function batch(operations: object[], options: CallOptions = {}): Promise<string> {
    const sent = await server.call("POST", "/restapi/batch.json", { body: { Operations: operations }, ...options });
    expect(sent.status).toBe(200);
    return sent.json.Run;
  }
  const undo = (run: unknown, query = "", options: CallOptions = {}) =>
    server.call("POST", path + query, { body: { Run: run }, ...options });
  const names = async (options: CallOptions = {}) =>
    (await server.call("GET", "/restapi/brands.json", options)).json.map(
      ({ ID, Name }: { ID: number; Name: string }) => `${ID} ${Name}`,
    );
  const revision = async () => (await server.engine.readHeads([server.site.ID]))[0]?.revision;
  const done = (counts: object) => ({
    Run: expect.stringMatching(/^[0-9A-Za-z]{8}-\d+-\d+$/),
    Deleted: 0,
    Restored: 0,
    Unchanged: 0,
    Skipped: [],
    ...counts,
  });
  const before = ["1 A", "2 B", "3 C"];

  test("deletes what the run created and restores the rest, after a dry run that stores nothing", async () => {
    const run = await batch([create("D"), update(1, "changed"), remove(2), create("E")]);
    expect(await names()).toEqual(["1 changed", "3 C", "4 D", "5 E"]);
    const dry = await undo(run, "?dryRun=1");
    expect([dry.status, dry.json]).toEqual([200, { ...done({ Deleted: 2, Restored: 2 }), Run: null }]);
    expect(await revision()).toBe(7);
    const undone = await undo(run);
    expect([undone.status, undone.json]).toEqual([200, done({ Deleted: 2, Restored: 2 })]);
    expect(undone.headers.get("Idempotency-Replayed")).toBeNull();
    expect(undone.json.Run).toEndWith("-8-4");
    expect(await names()).toEqual(before);
    // In the feed, the undo is itself a run by the key, with all its changes.
    const { Changes } = (await server.call("GET", "/restapi/changes.json")).json;
    expect(Changes.map(({ Run }: { Run?: string }) => Run)).toEqual([
      undefined,
      undefined,
      undefined,
      ...Array(4).fill(run),
      ...Array(4).fill(undone.json.Run),
    ]);
  });
  if (kind.name === "PostgreSQL") return;

  test("has the same effect and the same members in XML", async () => {
    const run = await batch([create("D"), update(1, "changed"), update(2, "x")]);
    await server.call("PUT", "/restapi/brands/2.json", { body: { Name: "later" } });
    const sent = await server.call("POST", "/restapi/undo.xml", { body: `<Undo Run="${run}"/>` });
    expect([sent.status, sent.headers.get("content-type")]).toEqual([200, "application/xml; charset=utf-8"]);
    expect(sent.text).toMatch(
      /^<\?xml version="1.0" encoding="utf-8"\?>\n<Undone Run="[0-9A-Za-z]{8}-8-2" Deleted="1" Restored="1" Unchanged="0"><Skipped Resource="brands" ID="2" Revision="7"\/><\/Undone>$/,
    );
    expect(await names()).toEqual(["1 A", "2 later", "3 C"]);
  });

  test("a record the run changed twice goes back to before the run; one it created and deleted stays as it is", async () => {
    const run = await batch([update(1, "x"), update(1, "y"), update(2, "x"), update(2, "B"), remove(3), create("D")]);
    const twice = await undo(run);
    expect(twice.json).toEqual(done({ Deleted: 1, Restored: 2, Unchanged: 1 }));
    expect(await names()).toEqual(before);
    // A batch can't name a record that it creates, so another writer makes a run that deletes its own record.
    const key = { actor: server.key.slice(0, 12), run: `k3J9aZ0q-${((await revision()) as number) + 1}-2` };
    await server.engine.commit([
      { ...createBrand(server.site.ID, "short"), ...key },
      createIntent({ site: server.site.ID, operation: "delete", id: 5, ...key }),
    ]);
    expect((await undo(key.run)).json).toEqual({ ...done({ Unchanged: 1 }), Run: null });
    expect(await names()).toEqual(before);
  });

  test("skips records that anyone changed later, and lists them with their latest revision", async () => {
    const run = await batch([create("D"), update(1, "x"), update(2, "x"), remove(3)]);
    await server.call("PUT", "/restapi/brands/1.json", { body: { Name: "by the same key" } });
    await server.call("DELETE", "/restapi/brands/4.json", { key: await server.issueKey() });
    await server.engine.commit([
      createIntent({ site: server.site.ID, operation: "restore", id: 3, values: { ID: 3, Name: "by an operator" } }),
    ]);
    const skipped = [
      { Resource: "brands", ID: 1, Revision: 8 },
      { Resource: "brands", ID: 3, Revision: 10 },
    ];
    // Record 4 was deleted later, just as the undo would have done.
    const expected = done({ Restored: 1, Unchanged: 1, Skipped: skipped });
    expect((await undo(run, "?dryRun=1")).json).toEqual({ ...expected, Run: null });
    expect((await undo(run)).json).toEqual(expected);
    expect(await names()).toEqual(["1 by the same key", "2 B", "3 by an operator"]);
  });

  test("a second undo changes nothing; an undo can be undone, again and again", async () => {
    const run = await batch([create("D"), update(1, "x"), remove(2)]);
    const after = await names();
    const first = (await undo(run)).json.Run;
    expect((await undo(run)).json).toEqual({ ...done({ Unchanged: 3 }), Run: null });
    const second = (await undo(first)).json;
    expect(second).toEqual(done({ Deleted: 1, Restored: 2 }));
    expect(await names()).toEqual(after);
    // The records' versions have changed by now, so the first run can't be undone again.
    expect((await undo(run)).json).toMatchObject({ Run: null, Deleted: 0, Restored: 0, Skipped: [{}, {}, {}] });
    expect((await undo(second.Run)).json).toEqual(done({ Deleted: 1, Restored: 2 }));
    expect(await names()).toEqual(before);
  });

  test("another key's or the operator's run gets a 403; a key that replaced another can undo its runs", async () => {
    const first = await server.issueKey();
    const run = await batch([create("D")], { key: first });
    const foreign = await undo(run);
    expect([foreign.status, foreign.json.type]).toEqual([403, "/docs/problems/forbidden"]);
    expect(foreign.json.detail).toBe("another key or an operator made this run");
    await server.engine.commit([{ ...createBrand(server.site.ID, "E"), run: "k3J9aZ0q-5-1" }]);
    expect((await undo("k3J9aZ0q-5-1")).json.detail).toBe("another key or an operator made this run");
    const ofCommand = await undo("k3J9aZ0q");
    expect([ofCommand.status, ofCommand.json.detail]).toEqual([
      403,
      "`k3J9aZ0q` looks like an operator's run, which only an operator can undo",
    ]);
    const second = await rotateKey(server.engine, first.slice(0, 12), 60_000, clock);
    const third = await rotateKey(server.engine, second.record.Prefix, 0, clock);
    // During the overlap of a rotation, the old key can still undo its own runs, but not the new key's.
    const later = await batch([create("F")], { key: third.key });
    expect((await undo(later, "", { key: first })).status).toBe(403);
    expect((await undo(run, "?dryRun=1", { key: first })).json).toMatchObject({ Deleted: 1 });
    expect((await undo(run, "", { key: third.key })).json).toEqual(done({ Deleted: 1 }));
    expect(await names()).toEqual([...before, "5 E", "6 F"]);
    const readOnly = await server.issueKey({ rights: ["read"] });
    expect((await undo(later, "", { key: readOnly })).json.detail).toContain("`brands:write` or `orderstatuses:write`");
  });

  test("text that isn't a run gets a 404, or a 400 if it's malformed, without a search", async () => {
    const run = await batch([create("D"), create("E")]);
    const [random] = run.split("-");
    const { readJournalPage } = server.engine;
    let reads = 0;
    Object.assign(server.engine, {
      readJournalPage: ((...args) => {
        reads++;
        return readJournalPage(...args);
      }) as Engine["readJournalPage"],
    });
    const unknown = [
      `${random}-4-1`,
      `${random}-4-10000`,
      `${random}-5-2`,
      `${random}-1-2`,
      `${random}-999999999999999-2`,
      "k3J9aZ0q-4-2",
      `${run}0`,
      `${random}-4-10001`,
      `${random}-4-999999999999999`,
      `${random}-0-2`,
      `${random}-04-2`,
      `${random}-4`,
      `${run} `,
      "",
      "nope",
      "x".repeat(500),
      "\u0000‮",
    ];
    for (const text of unknown) {
      const { status, json } = await undo(text);
      expect([text, status, json.type]).toEqual([text, 404, "/docs/problems/not-found"]);
      expect(json.detail.length).toBeLessThan(150);
    }
    expect(reads).toBe(7);
    for (const body of [{}, null, [], { Run: 7 }, { Run: null }, { Run: run, Force: true }, { run }, "", "<Undo/>"])
      expect([body, (await server.call("POST", path, { body })).status]).toEqual([body, 400]);
    for (const body of [
      "<Undo/>",
      `<Undo Run="${run}" Force="1"/>`,
      `<Undo Run="${run}"><Run/></Undo>`,
      `<Run>${run}</Run>`,
      "{}",
    ])
      expect([body, (await server.call("POST", "/restapi/undo.xml", { body })).status]).toEqual([body, 400]);
    expect(await names()).toEqual([...before, "4 D", "5 E"]);
  });

  test("only `dryRun` is allowed in the query, and no conditions, so that a misspelt dry run stores nothing", async () => {
    const run = await batch([create("D")]);
    for (const query of [
      "?dryrun=1",
      "?dryRun=true",
      "?dryRun=1&dryRun=1",
      "?match=Name",
      "?atomic=0",
      "?x=1",
      "?dryRun",
    ])
      expect([query, (await undo(run, query)).status]).toEqual([query, 400]);
    expect((await undo(run, "", { headers: { "If-Match": "*" } })).status).toBe(400);
    expect((await server.call("GET", path)).status).toBe(405);
    expect(await names()).toEqual([...before, "4 D"]);
    expect((await undo(run, "?dryRun=0")).json).toEqual(done({ Deleted: 1 }));
  });

  test("Idempotency-Key: replayed whatever happened to the records since", async () => {
    const run = await batch([create("D"), update(1, "x"), update(2, "x"), remove(3)]);
    await server.call("PUT", "/restapi/brands/2.json", { body: { Name: "later" } });
    const headers = { "Idempotency-Key": "undo it" };
    expect((await undo(run, "?dryRun=1", { headers })).json).toMatchObject({ Run: null, Restored: 2 });
    const first = await undo(run, "", { headers });
    expect(first.json).toMatchObject({ Deleted: 1, Restored: 2, Skipped: [{ ID: 2, Revision: 8 }] });
    await server.call("PUT", "/restapi/brands/2.json", { body: { Name: "even later" } });
    await undo(first.json.Run);
    const last = await revision();
    const again = await undo(run, "", { headers });
    expect([again.status, again.text, again.headers.get("Idempotency-Replayed")]).toEqual([200, first.text, "true"]);
    const other = await undo(first.json.Run, "", { headers });
    expect([other.status, other.json.type]).toEqual([422, "/docs/problems/idempotency-key-reused"]);
    expect((await server.call("PUT", "/restapi/brands/1.json", { body: { Name: "z" }, headers })).status).toBe(422);
    expect(await revision()).toBe(last as number);
    // An undo with nothing to do is remembered too.
    const empty = { "Idempotency-Key": "nothing to do" };
    const nothing = await undo(run, "", { headers: empty });
    expect(nothing.json).toMatchObject({ Run: null, Deleted: 0, Restored: 0 });
    const repeated = await undo(run, "", { headers: empty });
    expect([repeated.text, repeated.headers.get("Idempotency-Replayed")]).toEqual([nothing.text, "true"]);
  });

  test("two undos of the same run at once undo each record once", async () => {
    const run = await batch([
      create("D"),
      update(1, "x"),
      remove(2),
      ...Array.from({ length: 600 }, () => create("N")),
    ]);
    const all = await Promise.all([undo(run), undo(run)]);
    const changed = all.map(({ json }) => json.Deleted + json.Restored);
    expect(all.map(({ status }) => status)).toEqual([200, 200]);
    expect(changed.sort((a, b) => a - b)).toEqual([0, 603]);
    expect(all.map(({ json }) => json.Unchanged).sort((a, b) => a - b)).toEqual([0, 603]);
    expect(await names()).toEqual(before);
  });

  /** Runs `work` before the next undo is stored. */
  function beforeCommit(work: (attempt: number) => Promise<unknown>): { attempts: number } {
    const { commitAtomically } = server.engine;
    const counted = { attempts: 0 };
    Object.assign(server.engine, {
      commitAtomically: (async (...args) => {
        await work(++counted.attempts);
        return commitAtomically(...args);
      }) as Engine["commitAtomically"],
    });
    return counted;
  }

  test("key revoked or site suspended midway: stores nothing; epoch changed midway: starts over", async () => {
    const key = await server.issueKey();
    const run = await batch([create("D"), update(1, "x")], { key });
    const after = await names();
    const unchanged = await revision();
    const ends: [() => Promise<unknown>, () => Promise<unknown>, string][] = [
      [
        () => setSite(server.engine, "shop", { isSuspended: true }, clock),
        () => setSite(server.engine, "shop", { isSuspended: false }, clock),
        "site-suspended",
      ],
      [() => revokeKey(server.engine, key.slice(0, 12), clock), async () => undefined, "unauthorized"],
    ];
    for (const [end, restart, code] of ends) {
      let isEnded = false;
      beforeCommit(async () => {
        if (!isEnded) await end();
        isEnded = true;
      });
      expect((await undo(run, "", { key })).json.type).toBe(`/docs/problems/${code}`);
      await restart();
    }
    expect([await names(), await revision()]).toEqual([after, unchanged]);
    const own = await batch([update(2, "x")]);
    const counted = beforeCommit(async (attempt) => attempt === 1 && server.engine.replaceEpochs());
    expect((await undo(own)).json).toEqual(done({ Restored: 1 }));
    expect(counted.attempts).toBe(2);
  });

  test("lost result: 503, then the Idempotency-Key gets the response that was lost", async () => {
    const run = await batch([create("D"), update(1, "x")]);
    const { commitAtomically } = server.engine;
    const lose = async (...args: Parameters<Engine["commitAtomically"]>) => {
      await commitAtomically(...args);
      throw new ProblemError("unavailable", "the connection was lost");
    };
    Object.assign(server.engine, { commitAtomically: lose });
    const headers = { "Idempotency-Key": "lost" };
    expect((await undo(run, "", { headers })).status).toBe(503);
    Object.assign(server.engine, { commitAtomically });
    const again = await undo(run, "", { headers });
    expect([again.json, again.headers.get("Idempotency-Replayed")]).toEqual([
      done({ Deleted: 1, Restored: 1 }),
      "true",
    ]);
    expect(await names()).toEqual(before);
    // Without the idempotency key, a second undo would only find nothing left to do.
    expect((await undo(run)).json).toEqual({ ...done({ Unchanged: 2 }), Run: null });
  });

  test("records changed by others before it's stored are skipped, unless they're as they were before the run", async () => {
    const run = await batch([update(1, "x"), update(2, "x"), update(3, "x"), create("D"), create("E")]);
    const counted = beforeCommit(async () => {
      await server.call("PUT", "/restapi/brands/1.json", { body: { Name: "later" } });
      await server.call("PUT", "/restapi/brands/2.json", { body: { Name: "B" } });
      await server.call("DELETE", "/restapi/brands/4.json");
      await server.call("PUT", "/restapi/brands/5.json", { body: { Name: "later" } });
    });
    const headers = { "Idempotency-Key": "contended" };
    const undone = await undo(run, "", { headers });
    expect([undone.json, counted.attempts]).toEqual([
      done({
        Restored: 1,
        Unchanged: 2,
        Skipped: [
          { Resource: "brands", ID: 1, Revision: 9 },
          { Resource: "brands", ID: 5, Revision: 12 },
        ],
      }),
      1,
    ]);
    expect(await names()).toEqual(["1 later", "2 B", "3 C", "5 later"]);
    await server.call("PUT", "/restapi/brands/1.json", { body: { Name: "again" } });
    expect((await undo(run, "", { headers })).text).toBe(undone.text);
  });

  test("others writing while the records are read don't stop the plan", async () => {
    const run = await batch([update(1, "x"), update(2, "x")]);
    // The site is in memory now, and each write advances its snapshot's head.
    await names();
    const readRows = server.engine.readRows.bind(server.engine);
    server.engine.readRows = async (...wanted) => {
      const rows = await readRows(...wanted);
      await server.call("PUT", "/restapi/brands/3.json", { body: { Name: `later ${await revision()}` } });
      return rows;
    };
    const undone = await undo(run);
    server.engine.readRows = readRows;
    expect([undone.status, undone.json]).toEqual([200, done({ Restored: 2 })]);
  });

  test("a run whose changes were pruned, all or in part, gets a 410", async () => {
    const run = await batch([create("D"), create("E")]);
    const foreign = await batch([create("F"), create("G")], { key: await server.issueKey() });
    await pruneJournals(server.engine, [server.site.ID], { revision: 5 });
    const { status, json } = await undo(run);
    expect([status, json.type]).toEqual([410, "/docs/problems/gone"]);
    expect(json.detail).toContain("have been pruned from the journal");
    await pruneJournals(server.engine, [server.site.ID], { revision: 7 });
    expect((await undo(run)).status).toBe(410);
    // If an entry of another key's run is left, we still know whose it is.
    expect((await undo(foreign)).status).toBe(403);
    expect(await names()).toEqual([...before, "4 D", "5 E", "6 F", "7 G"]);
  });

  test("Idempotency-Key: replayed even after the run's changes were pruned", async () => {
    const run = await batch([create("D"), update(1, "x")]);
    const headers = { "Idempotency-Key": "before the prune" };
    const first = await undo(run, "", { headers });
    expect(first.json).toEqual(done({ Deleted: 1, Restored: 1 }));
    await pruneJournals(server.engine, [server.site.ID], { revision: 5 });
    const again = await undo(run, "", { headers });
    expect([again.status, again.text, again.headers.get("Idempotency-Replayed")]).toEqual([200, first.text, "true"]);
    expect((await undo(run, "", { headers: { "Idempotency-Key": "another" } })).status).toBe(410);
    expect((await undo(run)).status).toBe(410);
    expect(await names()).toEqual(before);
  });

  test("a run from before a restore can be undone if the backup has it, and gets a 404 otherwise", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-undo-"));
    try {
      const run = await batch([create("D"), update(1, "x")]);
      const file = join(folder, "backup.gz");
      await backUp(server.engine, file, clock);
      const later = await batch([update(2, "x")]);
      await restore(server.engine, file, join(folder, "kept"), clock);
      expect((await undo(later)).status).toBe(404);
      expect((await undo(run)).json).toEqual(done({ Deleted: 1, Restored: 1 }));
      expect(await names()).toEqual(before);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("a sandbox key undoes sandbox runs, which get a 404 after a renewal", async () => {
    const other = await openEngine(server.database, allResources);
    try {
      const { site } = await makeSandbox(other, server.site.Name, { now: () => clock });
      const { key } = await createKey(other, site, {}, clock);
      const run = await batch([create("D"), remove(1)], { key });
      const live = await batch([create("L")]);
      for (const query of ["", "?dryRun=1"]) {
        const [liveRun, sandboxRun] = [await undo(live, query, { key }), await undo(run, query)];
        expect([liveRun.status, sandboxRun.status]).toEqual([404, 404]);
        expect(liveRun.json.detail).toContain("is in the live site `shop`, and this API key is for its sandbox");
        expect(sandboxRun.json.detail).toContain(
          "is in the sandbox `shop-sandbox`, and this API key is for the live site",
        );
      }
      // Even if the live site once had this revision, and has pruned it.
      for (const Name of ["M", "N", "O"]) await server.call("POST", "/restapi/brands.json", { body: { Name } });
      await pruneJournals(server.engine, [server.site.ID], { revision: 6 });
      expect((await undo(run)).json.detail).toContain("is in the sandbox `shop-sandbox`");
      // Keys of other sites learn nothing.
      const garden = await createSite(other, "garden", { hostnames: ["garden.example"] }, clock);
      const theirs = { key: (await createKey(other, garden, {}, clock)).key, headers: { Host: "garden.example" } };
      for (const foreign of [run, live]) {
        const { status, json } = await undo(foreign, "", theirs);
        expect([status, json.detail]).toEqual([404, expect.stringContaining(`no such run: \`${foreign}\``)]);
      }
      const undone = await undo(run, "", { key });
      expect([undone.json, undone.headers.get("X-Sandbox")]).toEqual([
        done({ Deleted: 1, Restored: 1 }),
        "shop-sandbox",
      ]);
      expect(await names({ key })).toEqual(before);
      await makeSandbox(other, server.site.Name, { now: () => clock });
      const renewed = await undo(run, "", { key });
      expect([renewed.status, renewed.headers.get("X-Sandbox")]).toEqual([404, "shop-sandbox"]);
      expect(renewed.json.detail).toContain(`no such run: \`${run}\``);
      expect((await undo(run)).json.detail).not.toContain("sandbox");
      expect(await names()).toEqual([...before, "4 L", "5 M", "6 N", "7 O"]);
    } finally {
      await other.close();
    }
  });

  test("counts against the key's rate like a batch as large as its run", async () => {
    const key = await server.issueKey({ rate: 10 });
    const run = await batch(
      Array.from({ length: 1000 }, (_, index) => create(`N${index}`)),
      { key: server.key },
    );
    const { headers, status } = await undo(run, "", { key });
    expect([status, headers.get("RateLimit")]).toEqual([403, '"key";r=0;t=2']);
    expect((await undo(run, "", { key })).status).toBe(429);
    clock += 2000;
    expect((await undo(run, "?dryRun=1", { key })).status).toBe(403);
  });

  test("appears in the metrics", async () => {
    const run = await batch([create("D"), create("E")]);
    await undo(run, "?dryRun=1");
    await undo(run);
    const lines = (await server.metrics()).split("\n");
    const metric = (name: string) =>
      lines
        .find((line) => line.startsWith(`${name} `))
        ?.split(" ")
        .at(-1);
    expect(metric('storefront_http_requests_total{route="/restapi/undo.json",method="POST",status="200"}')).toBe("2");
    expect(metric('storefront_http_request_duration_seconds_count{operation="undo"}')).toBe("2");
    expect(metric('storefront_batch_operations_total{result="changed"}')).toBe("2");
  });
});
