// `Idempotency-Key` on batch requests (contract section 14). Any process can rebuild the response from the journal.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { engines } from "../../support/engine/engines.ts";
import { sendBatch, statusesIn, toCreate, toDelete, toUpdate, toUpsert } from "../../support/http/batch.ts";
import { call, startTestServer, type TestResponse, type TestServer } from "../../support/http/server.ts";
import { type ServerProcess, startProcess } from "../../support/programs/processes.ts";

describe.each(engines)("a batch's idempotency key on $name", (kind) => {
  let server: TestServer;
  let second: ServerProcess;
  const start = Date.now();
  let clock = start;
  let names = 0;
  beforeAll(async () => {
    await kind.open();
    const DATABASE = await kind.newDatabase();
    server = await startTestServer({ settings: { DATABASE }, now: () => clock });
    second = await startProcess({ DATABASE });
  });
  afterAll(async () => {
    await second.end();
    await server.stop();
    await kind.close();
  });

  const newName = () => `${kind.name} ${++names}`;
  const createBrand = async (AccountNumber = "", Name = "Acme"): Promise<number> =>
    (await server.call("POST", "/restapi/brands.json", { body: { Name, AccountNumber } })).json.ID;
  const head = async () => (await server.engine.readHeads([server.site.ID]))[0]?.revision as number;
  /** Sends the body to both processes. */
  const sendAgain = async (path: string, body: unknown, name: string) => {
    const options = { body, key: server.key, headers: { "Idempotency-Key": name } };
    return [await server.call("POST", path, options), await call(second.url + path, "POST", options)];
  };
  /** The body without request IDs, which differ between requests. */
  const textOf = ({ text }: TestResponse) => text.replace(/("instance":|<instance>)"?[^"<]*/g, "$1");

  async function expectReplays(first: TestResponse, path: string, body: unknown, name: string): Promise<void> {
    const before = await head();
    for (const again of await sendAgain(path, body, name)) {
      expect([again.status, textOf(again)]).toEqual([200, textOf(first)]);
      expect(again.headers.get("Idempotency-Replayed")).toBe("true");
    }
    expect(await head()).toBe(before);
  }

  test.each(["json", "xml"])("replays the same bytes in %s, even after the records changed", async (format) => {
    const [id, unchanged, deleted] = [await createBrand(), await createBrand("", "Same"), await createBrand()];
    const operations = [
      toCreate({ Name: "New" }),
      toUpdate(id, { Name: "One" }),
      toUpdate(unchanged, { Name: "Same" }),
      toUpdate(id, { Name: "Two" }),
      toUpdate(id, { Name: "Two" }),
      toDelete(deleted),
    ];
    const inXml = operations.map(({ Method, ID, Record }) => {
      const { Name } = (Record ?? {}) as { Name?: string };
      const attribute = ID === undefined ? "" : ` ID="${ID}"`;
      const record = Name === undefined ? "" : `<Brand><Name>${Name}</Name></Brand>`;
      return `<Operation Method="${Method}" Resource="brands"${attribute}>${record}</Operation>`;
    });
    const body = format === "json" ? { Operations: operations } : `<Batch>${inXml.join("")}</Batch>`;
    const [path, name] = [`/restapi/batch.${format}`, newName()];
    const first = await server.call("POST", path, { body, headers: { "Idempotency-Key": name } });
    expect([first.status, first.headers.has("Idempotency-Replayed")]).toEqual([200, false]);
    await expectReplays(first, path, body, name);
    for (const changed of [id, unchanged])
      await server.call("PUT", `/restapi/brands/${changed}.json`, { body: { Name: "Later" } });
    await server.call("DELETE", `/restapi/brands/${unchanged}.json`);
    await expectReplays(first, path, body, name);
  });
  if (kind.name === "PostgreSQL") return;

  test("replays the results of `match` with `atomic=0`, even if they would now differ", async () => {
    const [known, moved, twin] = [newName(), newName(), newName()];
    const [id, other] = [await createBrand(known), await createBrand(moved)];
    for (const _ of [1, 2]) await createBrand(twin);
    const operations = [
      toUpsert({ AccountNumber: known, Name: "Known" }),
      toUpsert({ AccountNumber: newName(), Name: "Created" }),
      toUpsert({ AccountNumber: newName() }),
      toUpsert({ AccountNumber: twin, Name: "Twin" }),
      toUpsert({ AccountNumber: newName(), Name: "x" }, "*"),
      toUpsert({ AccountNumber: moved, Name: "x" }, '"abc.1.5d8c12ab-json"'),
      toUpsert({ AccountNumber: known, Name: "Known" }),
      toUpsert({ AccountNumber: "", Name: "x" }),
      toUpdate(99_999, { Name: "x" }),
      toUpdate(other, { Name: "" }),
      toDelete(other),
      toUpsert({ AccountNumber: moved, Name: "x" }),
    ];
    const [path, name] = ["/restapi/batch.json?match=AccountNumber&atomic=0", newName()];
    const body = { Operations: operations };
    const first = await server.call("POST", path, { body, headers: { "Idempotency-Key": name } });
    expect(statusesIn(first)).toEqual([200, 201, 400, 400, 412, 412, 400, 400, 404, 400, 200, 400]);
    await expectReplays(first, path, body, name);
    await server.call("DELETE", `/restapi/brands/${id}.json`);
    for (const _ of [1, 2]) await createBrand(known);
    await expectReplays(first, path, body, name);
  });

  test("replays a batch with `atomic=0` in which no operation found a match", async () => {
    const twin = newName();
    const [id] = [await createBrand(twin), await createBrand(twin)];
    const [path, name] = ["/restapi/batch.json?match=AccountNumber&atomic=0", newName()];
    const body = { Operations: [toUpsert({ AccountNumber: twin, Name: "Twin" }), toUpsert({ AccountNumber: "" })] };
    const first = await server.call("POST", path, { body, headers: { "Idempotency-Key": name } });
    expect([statusesIn(first), first.json.Run]).toEqual([[400, 400], null]);
    await server.call("DELETE", `/restapi/brands/${id}.json`);
    await expectReplays(first, path, body, name);
    expect(statusesIn(await server.call("POST", path, { body }))).toEqual([200, 400]);
  });

  test("replays an atomic batch with `match`, even if it would now be rejected", async () => {
    const account = newName();
    await createBrand(account);
    const [path, name] = ["/restapi/batch.json?match=AccountNumber", newName()];
    const body = { Operations: [toUpsert({ AccountNumber: account, Name: "Once" })] };
    const first = await server.call("POST", path, { body, headers: { "Idempotency-Key": name } });
    expect(statusesIn(first)).toEqual([200]);
    await createBrand(account);
    await expectReplays(first, path, body, name);
    expect((await server.call("POST", path, { body })).status).toBe(400);
  });

  test("is not used up by a rejected batch", async () => {
    const name = newName();
    const headers = { "Idempotency-Key": name };
    expect((await sendBatch(server, [toDelete(99_999)], { headers })).status).toBe(404);
    const first = await sendBatch(server, [toCreate({ Name: "x" })], { headers });
    expect([first.status, first.headers.has("Idempotency-Replayed")]).toEqual([200, false]);
  });

  test("gets a 422 with another body, path or write", async () => {
    const headers = { "Idempotency-Key": newName() };
    const operations = [toCreate({ Name: "x" })];
    expect((await sendBatch(server, operations, { headers })).status).toBe(200);
    const others = [
      await sendBatch(server, [toCreate({ Name: "y" })], { headers }),
      await sendBatch(server, operations, { headers, query: "atomic=0" }),
      await sendBatch(server, [toDelete(99_999), toUpsert({ Name: "" })], { headers }),
      await server.call("POST", "/restapi/brands.json", { body: { Name: "x" }, headers }),
    ];
    expect(others.map(({ status, json }) => [status, json.type])).toEqual(
      others.map(() => [422, "/docs/problems/idempotency-key-reused"]),
    );
    const single = { "Idempotency-Key": newName() };
    expect((await server.call("POST", "/restapi/brands.json", { body: { Name: "x" }, headers: single })).status).toBe(
      201,
    );
    expect((await sendBatch(server, operations, { headers: single })).status).toBe(422);
  });

  test("sent many times at once, is stored once", async () => {
    const [before, name] = [await head(), newName()];
    const body = { Operations: [toCreate({ Name: "storm" }), toCreate({ Name: "storm" })] };
    const responses = (await Promise.all([1, 2, 3].map(() => sendAgain("/restapi/batch.json", body, name)))).flat();
    const done = responses.filter(({ status }) => status === 200);
    expect(responses.filter(({ status }) => ![200, 409, 429].includes(status))).toEqual([]);
    expect(done.filter(({ headers }) => !headers.has("Idempotency-Replayed"))).toHaveLength(1);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    expect(await head()).toBe(before + 2);
  });

  test("has no effect on dry runs", async () => {
    const headers = { "Idempotency-Key": newName() };
    const operations = [toCreate({ Name: "x" })];
    const dry = await sendBatch(server, operations, { headers, query: "dryRun=1" });
    const real = await sendBatch(server, operations, { headers });
    expect([dry.json.Run, typeof real.json.Run, real.headers.has("Idempotency-Replayed")]).toEqual([
      null,
      "string",
      false,
    ]);
    expect((await sendBatch(server, [], { headers, query: "dryRun=1" })).status).toBe(200);
  });

  test("is forgotten after a day", async () => {
    const headers = { "Idempotency-Key": newName() };
    const operations = [toCreate({ Name: "x" })];
    const first = await sendBatch(server, operations, { headers });
    clock = start + 25 * 60 * 60 * 1000;
    const later = await sendBatch(server, operations, { headers });
    clock = start;
    expect([later.status, later.headers.has("Idempotency-Replayed")]).toEqual([200, false]);
    expect(later.json.Run).not.toBe(first.json.Run);
  });

  // Must run last: it prunes the journal.
  test("gets a 422 with the reason once the batch's changes are pruned", async () => {
    const name = newName();
    const id = await createBrand("", "Same");
    const body = { Operations: [toCreate({ Name: "x" }), toCreate({ Name: "y" })] };
    const sent = { body, headers: { "Idempotency-Key": name } };
    const first = await server.call("POST", "/restapi/batch.json", sent);
    const run = first.json.Run as string;
    const unchanged = {
      body: { Operations: [toUpdate(id, { Name: "Same" })] },
      headers: { "Idempotency-Key": newName() },
    };
    expect((await server.call("POST", "/restapi/batch.json", unchanged)).json.Run).toBeNull();
    await server.call("PUT", `/restapi/brands/${id}.json`, { body: { Name: "Later" } });
    await server.engine.pruneJournal(server.site.ID, (await head()) - 2, 100_000);
    const again = await server.call("POST", "/restapi/batch.json", sent);
    expect([again.status, again.json.type, again.json.detail]).toEqual([
      422,
      "/docs/problems/idempotency-key-reused",
      `this batch was stored as run ${run}, but the response is gone: its changes have been pruned from the journal. Don't send it again`,
    ]);
    const lost = await server.call("POST", "/restapi/batch.json", unchanged);
    expect([lost.status, lost.json.detail]).toEqual([
      422,
      "this batch was already handled, but the response is gone: its changes have been pruned from the journal. Don't send it again",
    ]);
  });
});
