import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { backUp, restore } from "../../src/operator/backup/backup.ts";
import { pruneJournals } from "../../src/operator/journal/prune-journals.ts";
import { revokeKey } from "../../src/operator/sites/keys.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { engines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";
import { type CallOptions, type TestServer, useServer } from "../support/http/server.ts";
import { waitUntil } from "../support/time.ts";

const at = Date.UTC(2026, 10, 21, 20, 15, 0, 123);
const time = "2026-11-21T20:15:00.123Z";
const location = {
  Code: "L1",
  Name: "Mill <Road> & Son\r\n",
  Telephone: { Daytime: "", Evening: "", Mobile: "" },
};

describe.each(engines)("the feed on $name", (kind) => {
  let server: TestServer;
  let site = 0;
  useServer(
    kind,
    (started) => {
      server = started;
    },
    { now: () => at },
  );
  beforeAll(async () => {
    site = server.site.ID;
    await server.call("POST", "/restapi/brands.json", { body: { Name: "Acme" } });
    await server.call("PUT", "/restapi/brands/1.json", { body: { Name: "Acme Ltd" } });
    await server.engine.commit([createIntent({ site, resource: "location", values: location, at })]);
    await server.engine.commit([createIntent({ site, resource: "unknown", values: {}, at })]);
    await server.call("DELETE", "/restapi/brands/1.json");
  });

  const get = (path: string, options: CallOptions = {}) => server.call("GET", `/restapi/changes${path}`, options);
  /** Replaces what depends on the random epoch: the digests in cursors and the versions in entity tags. */
  const marks = (text: string) =>
    text
      .replace(/\b[0-9a-f]{12}\./g, "mark.")
      .replace(/\b[0-9A-Za-z]+(\.[0-9]+)\.[0-9a-f]{8}(?=-(?:json|xml)\b)/g, "epoch$1.digest");

  test("is a document in JSON", async () => {
    const brand = (await get(".json?limit=1")).text.match(/"Record":(\{.*?\})\}\]/)?.[1];
    expect(JSON.parse(brand ?? "")).toMatchObject({ ID: 1, Name: "Acme", AccountNumber: "" });
    const { headers, status, text, json } = await get(".json");
    expect([status, headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
    expect([headers.get("cache-control"), headers.get("etag")]).toEqual(["no-cache, no-store, must-revalidate", null]);
    expect(marks(text)).toStartWith(
      `{"Changes":[{"Cursor":"mark.1","Revision":1,"Time":"${time}","Operation":"create","Resource":"brands","ID":1,"ETag":"\\"epoch.1.digest-json\\"","Record":${brand}},{`,
    );
    expect(marks(text)).toEndWith(
      `},{"Cursor":"mark.5","Revision":5,"Time":"${time}","Operation":"delete","Resource":"brands","ID":1,"ETag":null,"Record":null}],"Next":"mark.5","More":false}`,
    );
    expect(json.Changes.map(({ Record: record }: { Record: object | null }) => record)).toMatchObject([
      { Name: "Acme" },
      { Name: "Acme Ltd" },
      location,
      null,
    ]);
  });
  if (kind.name === "PostgreSQL") return;

  test("is a document in XML", async () => {
    const record = (await server.call("GET", "/restapi/locations/1.xml")).text.split("\n").slice(1).join("\n");
    const { headers, text } = await get(".xml?resource=locations,brands&collapse=1");
    expect([headers.get("content-type"), headers.get("etag")]).toEqual(["application/xml; charset=utf-8", null]);
    expect(marks(text)).toBe(
      `<?xml version="1.0" encoding="utf-8"?>\n<Changes Next="mark.5" More="false"><Change Cursor="mark.3" Revision="3" Time="${time}" Operation="create" Resource="locations" ID="1" ETag="&quot;epoch.3.digest-xml&quot;">${record}</Change><Change Cursor="mark.5" Revision="5" Time="${time}" Operation="delete" Resource="brands" ID="1"/></Changes>`,
    );
    expect(record).toContain("<Name>Mill &lt;Road&gt; &amp; Son&#13;\n</Name>");
  });

  test("continues from Next, skipping changes that don't match", async () => {
    const revisions = (page: { Changes: { Cursor: string }[] }) =>
      page.Changes.map(({ Cursor }) => Number(Cursor.split(".")[1]));
    const first = (await get(".json?limit=2")).json;
    expect([revisions(first), first.More]).toEqual([[1, 2], true]);
    const second = (await get(`.json?limit=2&since=${first.Next}`)).json;
    expect([revisions(second), second.More]).toEqual([[3, 5], false]);
    const none = (await get(`.json?since=${first.Next}&resource=orderstatuses`)).json;
    expect(none).toEqual({ Changes: [], Next: second.Next, More: false });
    expect((await get(".json?since=now")).json).toEqual({ Changes: [], Next: second.Next, More: false });
    expect((await get(".json?since=now&wait=55")).json.Next).toBe(second.Next);
    expect(revisions((await get(".json?resource=brands&resource=locations&limit=3")).json)).toEqual([1, 2, 3]);
    expect((await get(".json?_=1&cachebuster=x")).json.Changes).toHaveLength(4);
  });

  test("has a change once its write gets a response, and not before", async () => {
    const { Next } = (await get(".json?since=now")).json;
    expect((await get(`.json?since=${Next}`)).json.Changes).toEqual([]);
    const written = (await server.call("POST", "/restapi/brands.json", { body: { Name: "new" } })).json;
    expect((await get(`.json?since=${Next}`)).json.Changes).toMatchObject([{ Operation: "create", Record: written }]);
    expect((await get(`.xml?since=${Next}`)).text).toContain(`<Brand ID="${written.ID}"><Name>new</Name>`);
  });

  test("gives changes stored together by a batch or an undo one run, but never shows an operator's run", async () => {
    const { Next } = (await get(".json?since=now")).json;
    const create = (Name: string, run?: string) => createIntent({ site, values: { Name }, at, run });
    const run = "k3J9aZ0q-18-2";
    await server.engine.commit([create("A", run), create("B", run), create("C", "k3J9aZ0q"), create("D")]);
    const { Changes } = (await get(`.json?since=${Next}`)).json;
    expect(Changes.map((change: object) => ("Run" in change ? change.Run : "none"))).toEqual([
      run,
      run,
      "none",
      "none",
    ]);
    const xml = (await get(`.xml?since=${Next}`)).text;
    expect(xml.match(/ Run="[^"]*"/g)).toEqual([` Run="${run}"`, ` Run="${run}"`]);
  });

  test("has each record's ETag, usable in If-Match without a look-up, in both formats", async () => {
    const { Next } = (await get(".json?since=now")).json;
    const { ID } = (await server.call("POST", "/restapi/brands.json", { body: { Name: "A" } })).json;
    await server.call("PUT", `/restapi/brands/${ID}.json`, { body: { Name: "B" } });
    const path = `/restapi/brands/${ID}`;
    const page = (await get(`.json?since=${Next}`)).json;
    const [created, updated] = page.Changes;
    expect(updated.Revision).toBe(created.Revision + 1);
    expect((await server.call("GET", `${path}.json`)).headers.get("etag")).toBe(updated.ETag);
    // The tags stay the same on the other format's page, although the bytes differ.
    const text = (await get(`.xml?since=${Next}&collapse=1`)).text;
    const inXml = / ETag="&quot;([^"&]+)&quot;">/.exec(text)?.[1];
    expect((await server.call("GET", `${path}.xml`)).headers.get("etag")).toBe(`"${inXml}"`);
    expect(text).toContain(` Revision="${updated.Revision}" `);

    const write = (format: string, body: string | object, etag: string) =>
      server.call("PUT", `${path}.${format}`, { body, headers: { "If-Match": etag } });
    expect((await write("json", { Name: "C" }, created.ETag)).status).toBe(412);
    expect((await write("json", { Name: "C" }, updated.ETag)).status).toBe(200);
    expect((await write("json", { Name: "D" }, updated.ETag)).status).toBe(412);
    expect((await write("json", { Name: "D" }, `"${inXml}"`)).status).toBe(412);
    const [third] = (await get(`.json?since=${page.Next}`)).json.Changes;
    expect((await write("xml", "<Brand><Name>D</Name></Brand>", third.ETag)).status).toBe(200);
    expect((await write("xml", "<Brand><Name>E</Name></Brand>", third.ETag)).status).toBe(412);

    await server.call("DELETE", `${path}.json`);
    const last = (await get(`.json?since=${page.Next}&collapse=1`)).json.Changes;
    expect(last).toMatchObject([{ Operation: "delete", Revision: third.Revision + 2, ETag: null, Record: null }]);
  });

  test.each<[string, string]>([
    ["limit=0", "`limit` must be a whole number from 1 to 1000, not `0`"],
    ["limit=1001", "`limit`"],
    ["limit=1e2", "`limit`"],
    ["limit=5&limit=5", "`limit` appears more than once"],
    ["since=now&since=now", "`since` appears more than once"],
    ["wait=56", "`wait` must be a whole number from 0 to 55, not `56`"],
    ["wait=-1", "`wait`"],
    ["wait=", "`wait`"],
    ["collapse=true", "`collapse` must be 1, not `true`"],
    ["collapse=", "`collapse`"],
    ["resource=brand", "unknown resource `brand`; did you mean `brands`?"],
    ["resource=", "unknown resource ``; the resources are `brands`"],
    ["resource=sites", "unknown resource `sites`"],
    ["resource=brands,", "unknown resource ``"],
    ["resource=keys", "unknown resource `keys`"],
    [
      "filter[Name]=x",
      "the feed has no parameter `filter[Name]`; in a list (`/restapi/brands.FORMAT`), write `filter[Name]=x`",
    ],
    ["filter=x", "the feed has no parameter `filter`"],
    ["sort=Name", "the feed has no parameter `sort`"],
    ["fields=Name", "the feed has no parameter `fields`"],
    ["offset=1", "the feed has no parameter `offset`"],
    ["Name=Acme", "the feed has no parameter `Name`"],
    ["page=2", "the feed has no parameter `page`"],
    ["Since=now", "the feed has no parameter `Since`; did you mean `since`?"],
    ["cursor=x", "send `since` with a cursor"],
    ["resources=brands", "did you mean `resource`?"],
    ["timeout=5", "did you mean `wait`?"],
    ["starting_after=0.0", "send `since` with a cursor"],
    ["updated_since=2026-11-01", "send `since` with a cursor"],
    ["per_page=5", "write `limit=5`"],
    ["x=1", "it has `since`, `limit`, `wait`, `resource` and `collapse`"],
  ])("rejects ?%s", async (query, says) => {
    for (const format of ["json", "xml"]) {
      const { status, text } = await get(`.${format}?${query}`);
      const expected = says.replace("FORMAT", format);
      expect([status, text.replaceAll("&amp;", "&")]).toEqual([400, expect.stringContaining(expected)]);
    }
  });

  test.each<[string, string]>([
    ["", "empty"],
    ["null", "an unset value"],
    ["undefined", "another unset value"],
    ["0", "no revision"],
    ["-1", "negative"],
    ["1e3", "a float"],
    ["+5", "a sign"],
    ["%2B5", "an encoded sign"],
    ["%00", "a control character"],
    ["%EF%BF%BD", "a character that replaces invalid UTF-8"],
    ["2026-11-21", "a date"],
    ["2026-11-21T20:15:00.123Z", "a time"],
    ["2026-11-21T20:15:00.123", "a time without a zone"],
    ["21.11.2026", "a date with dots"],
    [".5", "no digest"],
    ["0123456789ab.", "a digest alone"],
    ["0123456789ab.5%20", "a blank"],
    ["<script>alert(1)</script>", "a script"],
    ["a".repeat(12_000), "long"],
  ])("since=%.20s (%s) gets a 400, because reading everything again wouldn't help", async (since) => {
    for (const [format, wait] of [
      ["json", ""],
      ["xml", "&wait=55"],
    ]) {
      const { status, text } = await get(`.${format}?since=${since}${wait}`);
      expect(status).toBe(400);
      expect(text).toContain("/docs/problems/bad-request");
      expect(text).toContain("invalid cursor `");
      expect(text).not.toContain("start over");
      expect(text.length).toBeLessThan(600);
    }
  });

  test.each<[string, string]>([
    ["%F0%9F%98%80.1", "a wrong digest"],
    ["0.1", "the first cursor's digest"],
    [`${"a".repeat(10_000)}.5`, "a long digest"],
    ["0123456789ab.99999999999999999999", "a revision too large for a number"],
    ["0123456789ab.9007199254740991", "ahead"],
    ["0123456789ab.1", "names no change"],
  ])("since=%.20s (%s) gets a 410 that says how to start over", async (since) => {
    const json = await get(`.json?since=${since}`);
    expect([json.status, json.headers.get("content-type")]).toEqual([410, "application/problem+json"]);
    expect(json.json).toMatchObject({
      type: "/docs/problems/gone",
      title: "These changes are no longer available",
      status: 410,
    });
    expect(json.json.detail).toEndWith(
      "start over: request `since=now`, read the lists, then continue from that page's `Next`",
    );
    expect(json.text.length).toBeLessThan(600);
    const xml = await get(`.xml?since=${since}&wait=55`);
    expect([xml.status, xml.headers.get("content-type")]).toEqual([410, "application/problem+xml"]);
    expect(xml.text).toContain("<type>/docs/problems/gone</type>");
  });

  test("is read-only; HEAD has the same header fields and doesn't wait", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const rejected = await server.call(method, "/restapi/changes.json");
      expect([rejected.status, rejected.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    }
    const allowed = await server.call("OPTIONS", "/restapi/changes.xml", { key: null });
    expect([allowed.status, allowed.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
    const { Next } = (await get(".json?since=now")).json;
    const head = await server.call("HEAD", `/restapi/changes.json?since=${Next}&wait=55`);
    const full = await get(`.json?since=${Next}`);
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers.get("content-length")).toBe(full.headers.get("content-length"));
  });

  test("is suggested for similar paths", async () => {
    for (const [path, meant] of [
      ["/restapi/change.json", "/restapi/changes.json"],
      ["/restapi/Changes.xml", "/restapi/changes.xml"],
      ["/restapi/changes", "/restapi/changes.json"],
      ["/restapi/changes/5.json", "/restapi/changes.json"],
      ["/changes.json", "/restapi/changes.json"],
    ]) {
      const { status, text } = await server.call("GET", path as string);
      expect([path, status, text]).toEqual([path, 404, expect.stringContaining(`did you mean \`${meant}\`?`)]);
    }
  });

  test("needs a valid key of this site, with any scope", async () => {
    const reader = await server.issueKey({ rights: ["read"] });
    expect((await get(".json", { key: reader })).status).toBe(200);
    expect((await get(".json", { key: null })).status).toBe(401);
    await createSite(server.engine, "other", { hostnames: ["other.example"] }, at);
    expect((await get(".json", { headers: { Host: "other.example" } })).status).toBe(403);
    await revokeKey(server.engine, reader.slice(0, 12), at);
    expect((await get(".json", { key: reader })).status).toBe(401);
  });

  test("is compressed when that makes it smaller", async () => {
    await server.engine.commit(Array.from({ length: 300 }, () => createIntent({ site, at })));
    const plain = (await get(".json?limit=1000", { headers: { "Accept-Encoding": "identity" } })).text;
    const raw = await fetch(`${server.url}/restapi/changes.json?limit=1000`, {
      headers: { "X-API-AUTH": server.key, "Accept-Encoding": "gzip" },
      decompress: false,
    });
    expect([raw.headers.get("content-encoding"), raw.headers.get("vary")]).toEqual(["gzip", "Accept-Encoding"]);
    const bytes = new Uint8Array(await raw.arrayBuffer());
    expect(bytes.length).toBeLessThan(plain.length / 5);
    expect(gunzipSync(bytes).toString()).toBe(plain);
  });

  test("pruned or restored: 410, unless the client has read everything", async () => {
    const { Next } = (await get(".json?since=now")).json;
    const [first] = (await get(".json?limit=1")).json.Changes;
    await pruneJournals(server.engine, [site], { revision: 1_000_000 });
    expect((await get(`.json?since=${first.Cursor}`)).json.detail).toMatch("has been pruned");
    // The old page stays shared for a moment.
    const rejected = await waitUntil(async () => {
      const page = await get(".json?limit=1");
      return page.status !== 200 && page;
    }, "the end of the shared page");
    expect(rejected.json.detail).toMatch("this site's first changes have been pruned");
    expect((await get(`.json?since=${Next}`)).json).toEqual({ Changes: [], Next, More: false });
    const folder = mkdtempSync(join(tmpdir(), "storefront-changes-"));
    await backUp(server.engine, join(folder, "a"), at);
    await restore(server.engine, join(folder, "a"), join(folder, "kept"), at);
    expect((await get(`.json?since=${Next}`)).json.detail).toMatch("doesn't match a change of this site");
    expect((await get(".xml?since=now")).status).toBe(200);
    rmSync(folder, { recursive: true, force: true });
  });
});
