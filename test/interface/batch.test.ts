// The operations of a batch request, their order, and their results in both formats (contract section 14).

import { describe, expect, test } from "bun:test";
import { engines } from "../support/engine/engines.ts";
import { sendBatch, statusesIn, toCreate, toDelete, toUpdate, toUpsert, waitForPlaces } from "../support/http/batch.ts";
import { type TestServer, useServer } from "../support/http/server.ts";
import { openClient, toRequest } from "../support/wire/client.ts";

describe.each(engines)("a batch on $name", (kind) => {
  let server: TestServer;
  useServer(kind, (started) => {
    server = started;
  });

  const head = async () => (await server.engine.readHeads([server.site.ID]))[0]?.revision as number;
  const createBrand = async (record: object = { Name: "Acme" }): Promise<{ ID: number; etag: string }> => {
    const { json, headers } = await server.call("POST", "/restapi/brands.json", { body: record });
    return { ID: json.ID, etag: headers.get("ETag") as string };
  };
  const lookUp = (ID: number, path = "brands") => server.call("GET", `/restapi/${path}/${ID}.json`);
  const entriesAfter = async (revision: number) =>
    (await server.engine.readJournalPage(server.site.ID, revision, 20_000)).entries;

  test("stores creates, updates and deletes of several resources in order, as one run", async () => {
    const { ID } = await createBrand();
    const status = await server.call("POST", "/restapi/orderstatuses.json", { body: { Name: "New" } });
    const before = await head();
    const response = await sendBatch(server, [
      toCreate({ Name: "First" }),
      toUpdate(ID, { AccountNumber: "A-1", Address: { Town: "Leeds" } }),
      { Method: "DELETE", Resource: "orderstatuses", ID: status.json.ID },
      { Method: "PATCH", Resource: "brands", Record: { ID, Name: "Acme Ltd" } },
    ]);
    expect(response.status).toBe(200);
    const { Run, Results } = response.json;
    expect(Run).toMatch(new RegExp(`^[0-9A-Za-z]{8}-${before + 1}-4$`));
    expect(Results.map(({ Status, Changed }: Record<string, unknown>) => [Status, Changed])).toEqual([
      [201, true],
      [200, true],
      [200, true],
      [200, true],
    ]);
    expect(Results[0].Record).toMatchObject({ ID: ID + 1, Name: "First", AccountNumber: "" });
    expect(Results[1].Record).toMatchObject({ ID, Name: "Acme", AccountNumber: "A-1", Address: { Town: "Leeds" } });
    expect(Results[2]).toEqual({ Status: 200, Changed: true, Record: { ID: status.json.ID, Name: "New" } });
    expect(Results[3].Record).toMatchObject({ ID, Name: "Acme Ltd", AccountNumber: "A-1" });
    const stored = await lookUp(ID);
    expect([stored.json, stored.headers.get("ETag")]).toEqual([Results[3].Record, Results[3].ETag]);
    expect((await lookUp(status.json.ID, "orderstatuses")).status).toBe(404);
    const entries = await entriesAfter(before);
    expect(entries.map(({ run, revision, operation }) => [run, revision - before, operation])).toEqual([
      [Run, 1, "create"],
      [Run, 2, "update"],
      [Run, 3, "delete"],
      [Run, 4, "update"],
    ]);
    expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set([server.key.slice(0, 12)]));
  });
  if (kind.name === "PostgreSQL") return;

  test("in XML contains the same record elements as single responses", async () => {
    const { ID } = await createBrand();
    const body =
      `<Batch><Operation Method="POST" Resource="brands"><Brand><Name>A &amp; B</Name></Brand></Operation>` +
      `<Operation Method="PUT" Resource="brands"><Brand ID="${ID}"><Name>Acme</Name></Brand></Operation>` +
      `<Operation Method="DELETE" Resource="brands" ID="${ID}"/></Batch>`;
    const { status, text } = await server.call("POST", "/restapi/batch.xml", { body });
    expect(status).toBe(200);
    expect(text).toMatch(
      /^<\?xml version="1\.0" encoding="utf-8"\?>\n<BatchResults Run="[^"]+"><Result Status="201" Changed="true" ETag="&quot;/,
    );
    const created = await server.call("GET", `/restapi/brands/${ID + 1}.xml`);
    expect(text).toContain(`${created.text.slice(created.text.indexOf("<Brand"))}</Result>`);
    expect(text).toMatch(new RegExp(`<Result Status="200" Changed="false" ETag="[^"]+"><Brand ID="${ID}">`));
    expect(text).toMatch(
      new RegExp(`<Result Status="200" Changed="true"><Brand ID="${ID}">.*</Result></BatchResults>$`),
    );
  });

  test("may change a record several times: `IfMatch` sees the operation before", async () => {
    const { ID, etag } = await createBrand();
    const operations = [
      toUpdate(ID, { Name: "One" }, etag),
      toUpdate(ID, { Name: "One" }, "*"),
      toUpdate(ID, { Name: "Two" }, etag),
    ];
    const response = await sendBatch(server, operations, { query: "atomic=0" });
    expect(statusesIn(response)).toEqual([200, 200, 412]);
    expect(response.json.Results[1]).toMatchObject({ Changed: false, ETag: response.json.Results[0].ETag });
    expect((await lookUp(ID)).json.Name).toBe("One");
    const deleted = await sendBatch(server, [toDelete(ID), toUpdate(ID, { Name: "Three" })], { query: "atomic=0" });
    expect(statusesIn(deleted)).toEqual([200, 404]);
  });

  test("accepts every form of the If-Match header field in `IfMatch`", async () => {
    const { ID, etag } = await createBrand();
    const xml = (await server.call("GET", `/restapi/brands/${ID}.xml`)).headers.get("ETag") as string;
    const other = '"abc.1.5d8c12ab-json"';
    const forms = ["*", " * ", etag, xml, `${other}, ${etag}`, ` , ${etag} ,, ${other}`, `W/${etag}, ${etag}`];
    const same = forms.map((form) => toUpdate(ID, { Name: "Acme" }, form));
    expect(statusesIn(await sendBatch(server, same))).toEqual(forms.map(() => 200));
    const found = await sendBatch(server, [toUpdate(ID, { AccountNumber: "forms" }, "*")]);
    const version = found.json.Results[0].ETag;
    const matched = [toUpsert({ AccountNumber: "forms", Name: "Matched" }, `${other}, ${version}`)];
    expect(statusesIn(await sendBatch(server, matched, { query: "match=AccountNumber" }))).toEqual([200]);
    expect(statusesIn(await sendBatch(server, [toDelete(ID, "*"), toCreate({ Name: "x" })]))).toEqual([200, 201]);
    const failing = [`W/${version}`, other, `W/*`, "x", `${other} ${other}`, `${other},x`];
    const { ID: last } = await createBrand();
    const results = failing.map((form) => toDelete(last, form));
    expect(statusesIn(await sendBatch(server, results, { query: "atomic=0" }))).toEqual([412, 412, 400, 400, 400, 400]);
  });

  test("can't name an ID that it creates", async () => {
    const { ID } = await createBrand();
    for (const query of ["", "dryRun=1"]) {
      const operations = [toCreate({ Name: "New" }), toUpdate(ID + 1, { Name: "Changed" }), toDelete(ID + 1)];
      const alone = await sendBatch(server, operations, { query: `atomic=0&${query}` });
      expect([query, ...statusesIn(alone)]).toEqual([query, 201, 404, 404]);
      if (query === "") await sendBatch(server, [toDelete(ID + 1)]);
      const all = await sendBatch(server, [toCreate({ Name: "New" }), toUpdate(ID + 2, { Name: "x" })], { query });
      expect([all.status, all.json.errors]).toEqual([
        404,
        [{ operation: 2, field: "", code: "not-found", detail: `there is no brand with the ID ${ID + 2}` }],
      ]);
    }
  });

  test("as a dry run has the results of the real one, and stores nothing", async () => {
    const { ID, etag } = await createBrand({ Name: "Acme", AccountNumber: "dry" });
    const before = await head();
    const operations = [
      toCreate({ Name: "New" }),
      toUpdate(ID, { Name: "Changed" }, etag),
      toUpdate(ID, { Name: "Changed" }),
      toCreate({ Name: "Newer" }),
      { Method: "PUT", Resource: "brands", Record: { Name: "Matched", AccountNumber: "dry" } },
      toDelete(ID),
    ];
    const dry = await sendBatch(server, operations, { query: "dryRun=1&match=AccountNumber" });
    expect([dry.status, dry.json.Run, await head()]).toEqual([200, null, before]);
    const real = await sendBatch(server, operations, { query: "match=AccountNumber&dryRun=0&atomic=1" });
    expect(real.json.Results).toEqual(dry.json.Results);
    expect(statusesIn(real)).toEqual([201, 200, 200, 201, 200, 200]);
    const none = await sendBatch(server, [toUpdate(ID + 1, { Name: "New" })]);
    expect([none.json.Run, none.json.Results[0].Changed]).toEqual([null, false]);
  });

  test("without operations gets a 200 and stores nothing", async () => {
    for (const options of [{}, { query: "dryRun=1&atomic=0" }, { headers: { "Idempotency-Key": "empty" } }]) {
      const response = await sendBatch(server, [], options);
      expect([response.status, response.json]).toEqual([200, { Run: null, Results: [] }]);
    }
    const xml = await server.call("POST", "/restapi/batch.xml", { body: "<Batch/>" });
    expect([xml.status, xml.text]).toEqual([
      200,
      '<?xml version="1.0" encoding="utf-8"?>\n<BatchResults></BatchResults>',
    ]);
  });

  test("may have 10,000 operations, creates and deletes alike, but no more", async () => {
    const before = await head();
    const names = Array.from({ length: 10_000 }, (_, index) => `Many ${index}`);
    const created = await sendBatch(
      server,
      names.map((Name) => toCreate({ Name })),
    );
    const ids: number[] = created.json.Results.map(({ Record }: { Record: { ID: number } }) => Record.ID);
    expect([new Set(statusesIn(created)), ids.length, await head()]).toEqual([new Set([201]), 10_000, before + 10_000]);
    const list = await server.call(
      "GET",
      `/restapi/brands.json?offset=9999&limit=1&sort=ID&filter[Name][contains]=Many`,
    );
    expect(list.json[0].Name).toBe("Many 9999");
    const tooMany = await sendBatch(
      server,
      [...ids, 1].map((ID) => toDelete(ID)),
    );
    expect([tooMany.status, tooMany.json.detail]).toEqual([
      413,
      "a batch can have up to 10,000 operations; split this one",
    ]);
    const deleted = await sendBatch(
      server,
      ids.map((ID) => toDelete(ID)),
      { headers: { "Accept-Encoding": "gzip" } },
    );
    expect([deleted.json.Results.length, new Set(statusesIn(deleted))]).toEqual([10_000, new Set([200])]);
    expect((await server.call("GET", "/restapi/brands.json?filter[Name][contains]=Many")).json).toEqual([]);
    expect(await server.engine.findInconsistencies()).toEqual([]);
  });

  test("is stored or not if its client leaves, and leaves nothing behind", async () => {
    const operations = Array.from({ length: 1000 }, (_, index) => toCreate({ Name: `Left ${index}` }));
    const body = JSON.stringify({ Operations: operations });
    const lines = ["Host: x", `X-API-AUTH: ${server.key}`, `Content-Length: ${Buffer.byteLength(body)}`];
    for (const length of [0, body.length / 2, body.length]) {
      const client = await openClient(server.port);
      client.send(toRequest("POST /restapi/batch.json HTTP/1.1", lines) + body.slice(0, length));
      client.socket.end();
      client.socket.destroy();
    }
    // A batch keeps its place until it ends.
    await waitForPlaces(server);
    const left = (await server.call("GET", "/restapi/brands.json?filter[Name][contains]=Left")).json.length;
    expect([0, 1000]).toContain(left);
    expect(await server.engine.findInconsistencies()).toEqual([]);
  });

  test("is never interleaved with another on the same records", async () => {
    const ids = await Promise.all([1, 2, 3].map(async () => (await createBrand()).ID));
    const before = await head();
    const send = (Name: string) =>
      sendBatch(
        server,
        ids.map((ID) => toUpdate(ID, { Name })),
      );
    const [first, second] = await Promise.all([send("one"), send("two")]);
    expect([first.status, second.status]).toEqual([200, 200]);
    const entries = await entriesAfter(before);
    expect(entries.map(({ run }) => run)).toEqual([
      ...Array(3).fill(entries[0]?.run),
      ...Array(3).fill(entries[3]?.run),
    ]);
    const last = JSON.parse(entries[5]?.body as string).Name;
    expect(await Promise.all(ids.map(async (ID) => (await lookUp(ID)).json.Name))).toEqual([last, last, last]);
  });
});
