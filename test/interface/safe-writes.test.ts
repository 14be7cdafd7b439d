// Safe writes (contract section 7). `Idempotency-Key` is in idempotency.test.ts.

import { afterAll, describe, expect, test } from "bun:test";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { createIntent, deleteSiteRecord } from "../support/engine/intents.ts";
import { startTestServer } from "../support/http/server.ts";

const server = await startTestServer();
afterAll(() => server.stop());

async function createBrand(name = "x") {
  const response = await server.call("POST", "/restapi/brands.json", { body: { Name: name } });
  return { id: response.json.ID as number, etag: response.headers.get("ETag") as string };
}

describe("ETag", () => {
  test("a record's is the same from create, update and read, and changes with the record", async () => {
    const { id, etag } = await createBrand();
    expect((await server.call("GET", `/restapi/brands/${id}.json`)).headers.get("ETag")).toBe(etag);
    const updated = await server.call("PUT", `/restapi/brands/${id}.json`, { body: { Name: "y" } });
    expect(updated.headers.get("ETag")).not.toBe(etag);
    expect((await server.call("GET", `/restapi/brands/${id}.json`)).headers.get("ETag")).toBe(
      updated.headers.get("ETag"),
    );
  });

  test("formats differ, and a list's changes with any of its records but with no other resource", async () => {
    const { id, etag } = await createBrand();
    expect((await server.call("GET", `/restapi/brands/${id}.xml`)).headers.get("ETag")).not.toBe(etag);
    const listTag = async () =>
      (await server.call("GET", "/restapi/brands.json", { headers: { "Accept-Encoding": "identity" } })).headers.get(
        "ETag",
      );
    const before = await listTag();
    await server.call("POST", "/restapi/orderstatuses.json", { body: { Name: "x" } });
    expect(await listTag()).toBe(before);
    await server.call("DELETE", `/restapi/brands/${id}.json`);
    expect(await listTag()).not.toBe(before);
  });
});

describe("If-None-Match", () => {
  test.each(["json", "xml"])("on an unchanged record or list is a 304, in %s", async (format) => {
    const { id } = await createBrand();
    for (const path of [`brands/${id}.${format}`, `brands.${format}`, `brands.${format}?limit=1`]) {
      const first = await server.call("GET", `/restapi/${path}`);
      const etag = first.headers.get("ETag") as string;
      for (const header of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        for (const method of ["GET", "HEAD"]) {
          const response = await server.call(method, `/restapi/${path}`, { headers: { "If-None-Match": header } });
          expect([path, response.status, response.text, response.headers.get("ETag")]).toEqual([path, 304, "", etag]);
          expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
        }
      }
      expect((await server.call("GET", `/restapi/${path}`, { headers: { "If-None-Match": '"other"' } })).status).toBe(
        200,
      );
    }
  });

  test.each(["json", "xml"])("on a changed record, list, page or selection is a 200, in %s", async (format) => {
    const { id } = await createBrand("before");
    const paths = ["", "?limit=1000", "?sort=-Name&limit=1000", "?filter[Name][contains]=e", "?fields=Name"];
    const all = [`brands/${id}.${format}`, ...paths.map((query) => `brands.${format}${query}`)];
    const etags = new Map<string, string>();
    for (const path of all) {
      etags.set(path, (await server.call("GET", `/restapi/${path}`)).headers.get("ETag") as string);
    }
    await server.call("PUT", `/restapi/brands/${id}.json`, { body: { Name: "changed" } });
    for (const [path, etag] of etags) {
      const again = await server.call("GET", `/restapi/${path}`, { headers: { "If-None-Match": etag } });
      expect([path, again.status, again.text.includes("changed")]).toEqual([path, 200, true]);
      expect([path, again.headers.get("ETag")]).not.toEqual([path, etag]);
    }
  });
});

test("on a write is a 412 if it names the current version (RFC 9110 section 13.1.2)", async () => {
  const { id, etag } = await createBrand();
  const path = `/restapi/brands/${id}.json`;
  const write = async (method: string, header: string) => {
    const body = method === "DELETE" ? undefined : { Name: `${method} ${header}` };
    return (await server.call(method, path, { body, headers: { "If-None-Match": header } })).status;
  };
  for (const method of ["PUT", "PATCH", "DELETE"]) {
    for (const header of ["*", etag, `W/${etag}`, `"other", ${etag.replace("json", "xml")}`]) {
      expect([method, header, await write(method, header)]).toEqual([method, header, 412]);
    }
  }
  expect((await server.call("GET", path)).headers.get("ETag")).toBe(etag);
  expect(await write("PUT", '"other"')).toBe(200);
  expect(await write("DELETE", etag)).toBe(200);
});

describe("If-Match on a read", () => {
  const read = (path: string, headers: Record<string, string>, method = "GET") =>
    server.call(method, path, { headers });

  test.each(["json", "xml"])("is a 412 unless it names the current version, in %s", async (format) => {
    const { id } = await createBrand();
    const paths = [
      `brands/${id}.${format}`,
      `brands.${format}`,
      `brands.${format}?limit=1`,
      `brands.${format}?sort=Name`,
    ];
    for (const path of paths.map((one) => `/restapi/${one}`)) {
      const first = await read(path, {});
      const etag = first.headers.get("ETag") as string;
      const version = etag.slice(0, etag.lastIndexOf("."));
      for (const [header, status] of [
        [etag, 200],
        ["*", 200],
        [`"other", ${etag}`, 200],
        [`${version}.another-representation"`, 200],
        ['"other"', 412],
        ['""', 412],
        [`W/${etag}`, 412],
        [etag.slice(1, -1), 400],
        ["", 400],
      ] as const) {
        for (const method of ["GET", "HEAD"]) {
          const response = await read(path, { "If-Match": header }, method);
          expect([path, method, header, response.status]).toEqual([path, method, header, status]);
          if (status === 200 && method === "GET") expect(response.text).toBe(first.text);
        }
      }
    }
  });

  test("is a 412 after a change, on lists and pages too", async () => {
    const { id } = await createBrand();
    const paths = [`/restapi/brands/${id}.json`, "/restapi/brands.json", "/restapi/brands.json?limit=1"];
    const etags = await Promise.all(paths.map(async (path) => (await read(path, {})).headers.get("ETag") as string));
    await server.call("PUT", `/restapi/brands/${id}.json`, { body: { Name: "changed" } });
    for (const [index, path] of paths.entries()) {
      const etag = etags[index] as string;
      const changed = await read(path, { "If-Match": etag });
      expect([path, changed.status, changed.json.type]).toEqual([path, 412, "/docs/problems/precondition-failed"]);
      // The problem says which tag would match.
      const [current] = /"[^"`]*"/.exec(changed.json.detail) ?? [];
      expect((await read(path, { "If-Match": current as string })).status).toBe(200);
    }
  });

  test("takes precedence over If-None-Match (RFC 9110 section 13.2.2), and dates have no effect", async () => {
    const { id, etag } = await createBrand();
    const path = `/restapi/brands/${id}.json`;
    const old = "Tue, 15 Nov 1994 12:45:26 GMT";
    for (const [headers, status] of [
      [{ "If-Match": '"other"', "If-None-Match": etag }, 412],
      [{ "If-Match": etag, "If-None-Match": etag }, 304],
      [{ "If-Match": "*", "If-None-Match": "*" }, 304],
      [{ "If-Match": etag, "If-None-Match": '"other"' }, 200],
      [{ "If-Unmodified-Since": old, "If-Modified-Since": new Date().toUTCString() }, 200],
      [{ "If-Match": etag, "If-Unmodified-Since": old }, 200],
      [{ "If-None-Match": etag, "If-Modified-Since": old }, 304],
    ] as const)
      expect([headers, (await read(path, headers)).status]).toEqual([headers, status]);
  });

  test("has no effect on a response that's an error anyway", async () => {
    for (const header of ["*", '"other"']) {
      expect((await read("/restapi/brands/999999.json", { "If-Match": header })).status).toBe(404);
      expect((await read("/restapi/brands.json?limit=0", { "If-Match": header })).status).toBe(400);
      expect(
        (await server.call("GET", "/restapi/brands.json", { key: null, headers: { "If-Match": header } })).status,
      ).toBe(401);
    }
  });

  test("is a 412 for every tag on the feed, whose pages have no ETag", async () => {
    expect((await read("/restapi/changes.json", { "If-Match": "*" })).status).toBe(200);
    for (const format of ["json", "xml"])
      expect((await read(`/restapi/changes.${format}?since=now&wait=55`, { "If-Match": '"a"' })).status).toBe(412);
  });

  test("works on the documentation too", async () => {
    const etag = (await read("/docs/guide", {})).headers.get("ETag") as string;
    expect((await read("/docs/guide", { "If-Match": etag })).status).toBe(200);
    expect((await read("/docs/guide", { "If-Match": '"other"' })).status).toBe(412);
    expect((await read("/docs/guide", { "If-Match": etag, "If-None-Match": etag })).status).toBe(304);
  });
});

describe("If-Match on a write", () => {
  test("allows it if the record is unchanged, and is a 412 otherwise", async () => {
    const { id, etag } = await createBrand();
    const ifMatch = { headers: { "If-Match": etag } };
    const first = await server.call("PUT", `/restapi/brands/${id}.json`, { body: { Name: "1" }, ...ifMatch });
    expect(first.status).toBe(200);
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      const body = method === "DELETE" ? undefined : { Name: "2" };
      const response = await server.call(method, `/restapi/brands/${id}.json`, { body, ...ifMatch });
      expect([method, response.status, response.json.type]).toEqual([
        method,
        412,
        "/docs/problems/precondition-failed",
      ]);
    }
    expect((await server.call("GET", `/restapi/brands/${id}.json`)).json.Name).toBe("1");
  });

  test("accepts the tag of either format, several tags, and *", async () => {
    const { id } = await createBrand();
    const tagOf = async (format: string) =>
      (await server.call("GET", `/restapi/brands/${id}.${format}`)).headers.get("ETag");
    const put = async (header: string | null) =>
      (
        await server.call("PUT", `/restapi/brands/${id}.json`, {
          body: { Name: String(Math.random()) },
          headers: { "If-Match": header as string },
        })
      ).status;
    expect(await put(await tagOf("xml"))).toBe(200);
    expect(await put(`"a", ${await tagOf("json")}`)).toBe(200);
    expect(await put("*")).toBe(200);
    expect(await put(`W/${await tagOf("json")}`)).toBe(412);
    expect(await put('"a"')).toBe(412);
  });

  test("allows only one of many concurrent writers", async () => {
    const { id, etag } = await createBrand();
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        server.call("PUT", `/restapi/brands/${id}.json`, { body: { Name: `n${i}` }, headers: { "If-Match": etag } }),
      ),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(responses.filter(({ status }) => status === 412)).toHaveLength(49);
  });
});

test("concurrent writers lose nothing: IDs, records and journal have no gaps", async () => {
  const other = await startTestServer();
  const responses = await Promise.all(
    Array.from({ length: 500 }, (_, i) =>
      other.call("POST", `/restapi/brands.${i % 2 ? "json" : "xml"}`, {
        body: i % 2 ? { Name: `n${i}` } : `<Brand><Name>n${i}</Name></Brand>`,
      }),
    ),
  );
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]));
  for (const { text, headers } of responses) {
    const id = /"ID":(\d+)|ID="(\d+)"/.exec(text)?.slice(1).find(Boolean);
    expect(headers.get("Location")).toMatch(new RegExp(`/${id}\\.(json|xml)$`));
  }
  const list = (await other.call("GET", "/restapi/brands.json")).json as { ID: number; Name: string }[];
  expect(list.map(({ ID }) => ID)).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
  expect(new Set(list.map(({ Name }) => Name)).size).toBe(500);
  const journal = await other.engine.readChangesSince(other.site.ID, 0);
  expect(journal?.map(({ revision }) => revision)).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
  expect(await other.engine.findInconsistencies()).toEqual([]);
  await other.stop();
});

test("a write whose site was restored or removed meanwhile is rejected, and stores nothing", async () => {
  const other = await startTestServer();
  await other.call("POST", "/restapi/brands.json", { body: { Name: "x" } });
  const intent = createIntent({ site: other.site.ID, values: { Name: "late" } });
  expect(await other.engine.commit([{ ...intent, ifEpoch: "another" }])).toEqual([
    { kind: "rejected", rejectionReason: "other-epoch" },
  ]);
  await deleteSiteRecord(other.engine, other.site.ID);
  await other.engine.dropSite(other.site.ID);
  expect(await other.engine.commit([{ ...intent, ifEpoch: "another" }])).toEqual([
    { kind: "rejected", rejectionReason: "other-epoch" },
  ]);
  expect((await readAllRows(other.engine, other.site.ID)).rows).toEqual([]);
  await other.stop();
});
