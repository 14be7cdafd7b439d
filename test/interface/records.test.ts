// Records and lists over HTTP: reads, creates, updates and deletes in JSON and XML, and the pages that need no key.

import { afterAll, describe, expect, test } from "bun:test";
import { createIntent } from "../support/engine/intents.ts";
import { startTestServer } from "../support/http/server.ts";

const address = {
  Title: "",
  Firstname: "",
  Surname: "",
  AddressLine1: "",
  AddressLine2: "",
  Town: "",
  County: "",
  Postcode: "",
  Country: "",
};
const telephone = { Daytime: "", Evening: "", Mobile: "" };
const full = {
  Name: "Acme",
  AccountNumber: "ACC-001",
  Telephone: { Daytime: "01632 960001", Evening: "01632 960002", Mobile: "07700 900001" },
  Address: {
    ...address,
    Title: "Ms",
    Firstname: "Ada",
    Surname: "Smith",
    AddressLine1: "1 High Street",
    Country: "GB",
  },
};

const server = await startTestServer();
const location = {
  Code: "N1",
  Name: "North",
  Manager: "",
  Email: "n@shop.example",
  Telephone: telephone,
  Address: address,
};
await server.engine.commit([createIntent({ site: server.site.ID, resource: "location", values: location })]);
afterAll(() => server.stop());

describe.each([
  { path: "brands", element: "Brand", body: full, whole: full },
  { path: "orderstatuses", element: "OrderStatus", body: { Name: "Paid" }, whole: { Name: "Paid" } },
])("$path", ({ path, element, body, whole }) => {
  test("are created, read, listed, updated and deleted in JSON", async () => {
    const created = await server.call("POST", `/restapi/${path}.json`, { body });
    expect(created.status).toBe(201);
    const id = created.json.ID;
    expect(created.json).toEqual({ ID: id, ...whole });
    expect(created.headers.get("Location")).toBe(`/restapi/${path}/${id}.json`);

    const lookedUp = await server.call("GET", `/restapi/${path}/${id}.json`);
    expect(lookedUp.text).toBe(created.text);
    const list = await server.call("GET", `/restapi/${path}.json`);
    expect(list.json).toContainEqual({ ID: id, ...whole });

    const updated = await server.call("PUT", `/restapi/${path}.json`, { body: { ID: id, Name: "Other" } });
    expect([updated.status, updated.json]).toEqual([200, { ID: id, ...whole, Name: "Other" }]);
    const deleted = await server.call("DELETE", `/restapi/${path}/${id}.json`);
    expect([deleted.status, deleted.json]).toEqual([200, updated.json]);
    expect((await server.call("GET", `/restapi/${path}/${id}.json`)).status).toBe(404);
  });

  test("are created, read, listed, updated and deleted in XML", async () => {
    const name = `<${element}><Name>A &amp; B</Name></${element}>`;
    const created = await server.call("POST", `/restapi/${path}.xml`, { body: name });
    expect(created.status).toBe(201);
    expect(created.headers.get("Content-Type")).toBe("application/xml; charset=utf-8");
    const id = /ID="(\d+)"/.exec(created.text)?.[1];
    expect(created.headers.get("Location")).toBe(`/restapi/${path}/${id}.xml`);
    expect(created.text).toStartWith(
      `<?xml version="1.0" encoding="utf-8"?>\n<${element} ID="${id}"><Name>A &amp; B</Name>`,
    );

    const lookedUp = await server.call("GET", `/restapi/${path}/${id}.xml`);
    expect(lookedUp.text).toBe(created.text);
    const list = await server.call("GET", `/restapi/${path}.xml`);
    expect(list.text).toStartWith('<?xml version="1.0" encoding="utf-8"?>\n<Results>');
    expect(list.text).toEndWith("</Results>");
    expect(list.text).toContain(created.text.split("\n")[1] as string);

    const updated = await server.call("PUT", `/restapi/${path}.xml`, {
      body: `<${element} ID="${id}"><Name>C</Name></${element}>`,
    });
    expect(updated.status).toBe(200);
    expect(updated.text).toContain("<Name>C</Name>");
    const deleted = await server.call("DELETE", `/restapi/${path}/${id}.xml`);
    expect([deleted.status, deleted.text]).toEqual([200, updated.text]);
  });

  test("are updated by PATCH, and by POST with X-HTTP-Method-Override", async () => {
    const { ID } = (await server.call("POST", `/restapi/${path}.json`, { body: { Name: "1" } })).json;
    const patched = await server.call("PATCH", `/restapi/${path}/${ID}.json`, { body: { Name: "2" } });
    expect([patched.status, patched.json.Name]).toEqual([200, "2"]);
    for (const [override, name] of [
      ["PUT", "3"],
      ["patch", "4"],
    ] as const) {
      const headers = { "X-HTTP-Method-Override": override };
      const overridden = await server.call("POST", `/restapi/${path}/${ID}.json`, { body: { Name: name }, headers });
      expect([overridden.status, overridden.json.Name]).toEqual([200, name]);
    }
    const deleted = await server.call("POST", `/restapi/${path}.json`, {
      body: { ID },
      headers: { "X-HTTP-Method-Override": "DELETE" },
    });
    expect([deleted.status, deleted.json.ID]).toEqual([200, ID]);
  });
});

test("IDs are never reused, not even after a delete", async () => {
  const first = (await server.call("POST", "/restapi/orderstatuses.json", { body: { Name: "x" } })).json.ID;
  await server.call("DELETE", `/restapi/orderstatuses/${first}.json`);
  const second = (await server.call("POST", "/restapi/orderstatuses.json", { body: { Name: "x" } })).json.ID;
  expect(second).toBe(first + 1);
});

test("locations are listed and read in both formats", async () => {
  const list = await server.call("GET", "/restapi/locations.json");
  expect(list.json).toEqual([
    { ID: 1, Code: "N1", Name: "North", Manager: "", Email: "n@shop.example", Telephone: telephone, Address: address },
  ]);
  expect((await server.call("GET", "/restapi/locations/1.json")).json).toEqual(list.json[0]);
  const one = await server.call("GET", "/restapi/locations/1.xml");
  expect(one.text).toContain('<Location ID="1"><Code>N1</Code><Name>North</Name>');
  expect((await server.call("GET", "/restapi/locations.xml")).text).toContain(one.text.split("\n")[1] as string);
});

test.each(["POST", "PUT", "PATCH", "DELETE"])("locations don't allow %s", async (method) => {
  for (const path of ["/restapi/locations.json", "/restapi/locations/1.json"]) {
    const response = await server.call(method, path, { body: { ID: 1, Name: "x" } });
    expect([response.status, response.headers.get("Allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  }
});

describe("response headers of a read", () => {
  const fixed = {
    "cache-control": "no-cache, no-store, must-revalidate",
    pragma: "no-cache",
    expires: "-1",
    "access-control-allow-origin": "*",
    "x-content-type-options": "nosniff",
  };

  test.each([
    ["/restapi/locations/1.json", "application/json; charset=utf-8"],
    ["/restapi/locations/1.xml", "application/xml; charset=utf-8"],
  ])("%s: the interface's own, nosniff, an ETag and the request's ID", async (path, type) => {
    const response = await server.call("GET", path);
    const { date, etag, "x-request-id": id, ...rest } = Object.fromEntries(response.headers);
    expect(rest).toEqual({
      ...fixed,
      "content-type": type,
      "content-length": String(Buffer.byteLength(response.text)),
    });
    expect(Date.parse(date as string)).toBeGreaterThan(Date.now() - 5000);
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(id).toMatch(/^\w+$/);
  });

  test("a list: those, plus Vary and the number of records", async () => {
    const response = await server.call("GET", "/restapi/locations.json", {
      headers: { "Accept-Encoding": "identity" },
    });
    const { date: _, etag: __, "x-request-id": ___, ...rest } = Object.fromEntries(response.headers);
    expect(rest).toEqual({
      ...fixed,
      "content-type": "application/json; charset=utf-8",
      "content-length": String(response.text.length),
      vary: "Accept-Encoding",
      "x-total-count": "1",
    });
  });

  test("HEAD: those of GET, without a body", async () => {
    for (const path of ["/restapi/locations.json", "/restapi/locations/1.xml"]) {
      const headers = { "Accept-Encoding": "identity" };
      const get = await server.call("GET", path, { headers });
      const head = await server.call("HEAD", path, { headers });
      expect([head.status, head.text]).toEqual([200, ""]);
      const without = ({ date: _, "x-request-id": __, ...others }: Record<string, string>) => others;
      expect(without(Object.fromEntries(head.headers))).toEqual(without(Object.fromEntries(get.headers)));
      expect(head.headers.get("Date")).toBeTruthy();
    }
  });

  test("CORS: scripts on other origins may read the ones they need", async () => {
    const response = await server.call("GET", "/restapi/locations.json", {
      headers: { Origin: "https://app.example" },
    });
    expect(response.headers.get("Access-Control-Expose-Headers")?.split(", ")).toEqual([
      "Date",
      "ETag",
      "Idempotency-Replayed",
      "Link",
      "Location",
      "RateLimit",
      "RateLimit-Policy",
      "Retry-After",
      "X-Dry-Run",
      "X-Key-Expires",
      "X-Request-Id",
      "X-Sandbox",
      "X-Total-Count",
    ]);
    const own = await server.call("GET", "/restapi/locations.json");
    expect(own.headers.has("Access-Control-Expose-Headers")).toBe(false);
  });
});

test("OPTIONS needs no key and answers a browser's preflight", async () => {
  const headers = { Origin: "https://app.example", "Access-Control-Request-Method": "PUT" };
  const response = await server.call("OPTIONS", "/restapi/brands.json", { key: null, headers });
  expect(response.status).toBe(204);
  expect(response.headers.get("Allow")).toBe("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
  expect(response.headers.get("Access-Control-Allow-Methods")).toBe(response.headers.get("Allow") as string);
  expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
});

test("CORS: a browser may send every header field of the interface, and those of libraries and tracing", async () => {
  const allowed = async (path: string) => {
    const { headers } = await server.call("OPTIONS", path, { key: null, headers: { Origin: "https://app.example" } });
    return (headers.get("Access-Control-Allow-Headers") ?? "").toLowerCase().split(", ");
  };
  // Browsers ask for header fields in lower case.
  const sent = [
    ...[
      "x-api-auth",
      "authorization",
      "content-type",
      "content-encoding",
      "if-match",
      "if-none-match",
      "idempotency-key",
      "x-http-method-override",
    ],
    ...["x-request-id", "traceparent", "tracestate", "baggage", "cache-control", "x-requested-with"],
  ];
  for (const path of ["/restapi/brands.json", "/restapi/brands/1.xml", "/restapi/changes.json"])
    expect((await allowed(path)).sort()).toEqual(sent.toSorted());
});

test("X-HTTP-Method-Override: any method but PUT, PATCH and DELETE is rejected", async () => {
  const response = await server.call("POST", "/restapi/brands.json", {
    body: { Name: "x" },
    headers: { "X-HTTP-Method-Override": "GET" },
  });
  expect([response.status, response.json.type]).toEqual([400, "/docs/problems/bad-request"]);
});

test.each([
  ["GET", "DELETE"],
  ["HEAD", "DELETE"],
  ["GET", "nonsense"],
  ["PUT", "DELETE"],
])("on a %s, X-HTTP-Method-Override: %s is ignored", async (method, override) => {
  const { ID } = (await server.call("POST", "/restapi/brands.json", { body: { Name: "kept" } })).json;
  const path = `/restapi/brands/${ID}.json`;
  const body = method === "PUT" ? { Name: "kept" } : undefined;
  const headers = { "X-HTTP-Method-Override": override };
  expect((await server.call(method, path, { body, headers })).status).toBe(200);
  expect((await server.call("GET", path)).json.Name).toBe("kept");
});

test("neither Accept nor Content-Type changes the format", async () => {
  const headers = { Accept: "application/xml", "Content-Type": "application/xml" };
  const response = await server.call("POST", "/restapi/brands.json", { body: { Name: "x" }, headers });
  expect([response.status, response.headers.get("Content-Type")]).toEqual([201, "application/json; charset=utf-8"]);
});

test.each([
  "0",
  "01",
  "-1",
  "1e1",
  "1.0",
  "100000000000000000000",
  "%zz",
  "%31",
  "abc",
  " 1",
])("the ID %p in a path gets a 404, whatever the method", async (id) => {
  const before = (await server.call("GET", "/restapi/brands.json")).text;
  for (const method of ["GET", "PUT", "DELETE"]) {
    const body = method === "PUT" ? { Name: "y" } : undefined;
    const response = await server.call(method, `/restapi/brands/${id}.json`, { body });
    expect(response.status).toBe(404);
    expect(response.headers.get("Content-Type")).toBe("application/problem+json");
  }
  expect((await server.call("GET", "/restapi/brands.json")).text).toBe(before);
});

test("pages for people and machines need no key", async () => {
  for (const path of ["/", "/healthz", "/readyz", "/docs/problems/not-found"]) {
    expect((await server.call("GET", path, { key: null })).status).toBe(200);
  }
  expect((await server.call("GET", "/metrics", { key: null })).status).toBe(404);
});

test("every problem type is a page on the server", async () => {
  const { type } = (await server.call("GET", "/restapi/brands/999.json")).json;
  const page = await server.call("GET", type, { key: null });
  expect([page.status, page.headers.get("Content-Type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(page.text).toContain("no record with this ID");
});
