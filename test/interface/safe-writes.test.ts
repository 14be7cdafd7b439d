// Safe writes (contract section 7). `Idempotency-Key` is in idempotency.test.ts.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { createIntent, deleteSiteRecord } from "../support/engine/intents.ts";
import { startTestServer, type TestServer } from "../support/http/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

async function createBrand(name = "x") {
  const response = await server.call("POST", "/restapi/brands.json", { body: { Name: name } });
  return { id: response.json.ID as number, etag: response.headers.get("ETag") as string };
}

describe("ETag", () => {
  test("of a record is the same after create, update and look-up, and changes with the record", async () => {
    const { id, etag } = await createBrand();
    expect((await server.call("GET", `/restapi/brands/${id}.json`)).headers.get("ETag")).toBe(etag);
    const updated = await server.call("PUT", `/restapi/brands/${id}.json`, { body: { Name: "y" } });
    expect(updated.headers.get("ETag")).not.toBe(etag);
    expect((await server.call("GET", `/restapi/brands/${id}.json`)).headers.get("ETag")).toBe(
      updated.headers.get("ETag"),
    );
  });

  test("differs between formats; that of a list changes with any of its records and with no other resource", async () => {
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
  test.each(["json", "xml"])("on an unchanged record or list is 304, in %s", async (format) => {
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

  test.each([
    "json",
    "xml",
  ])("on a record, a list, a page or a selection that has changed is 200, in %s", async (format) => {
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

test("If-None-Match on a write is 412 if it names the present version (RFC 9110 section 13.1.2)", async () => {
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

describe("If-Match", () => {
  test("allows a write to an unchanged record, and is 412 if it has changed", async () => {
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

  test("allows one of many concurrent writers", async () => {
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

test("many concurrent writers lose nothing: IDs, records and journal have no gap", async () => {
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

test("a write whose site was restored or removed in the meantime is rejected, and stores nothing", async () => {
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
