// What clients can reach without a key, or with a read-only key, a sandbox key or another site's key. SECURITY.md has the threat model.

import { beforeAll, describe, expect, test } from "bun:test";
import { publicResources } from "../../../src/model/resource.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite, setSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { engines } from "../../support/engine/engines.ts";
import { type TestResponse, type TestServer, useServer } from "../../support/http/server.ts";
import { openClient, toRequest } from "../../support/wire/client.ts";

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const overrides = ["PUT", "PATCH", "DELETE", "put", "GET", "POST", "PUT, GET", "PUT\tx", ""];
const paths = [
  ...publicResources(allResources).flatMap(({ path }) => [path, `${path}/1`]),
  "changes",
  "batch",
  "undo",
].flatMap((path) => [`/restapi/${path}.json`, `/restapi/${path}.xml`]);

describe.each(engines)("client access on $name", (kind) => {
  let server: TestServer;
  let foreignKey: string;
  let sandboxKey: string;
  let foreignSandboxKey: string;
  useServer(kind, (started) => {
    server = started;
  });
  beforeAll(async () => {
    await setSite(server.engine, "shop", { hostnames: ["shop.example"], isDefault: false }, 0);
    const garden = await createSite(server.engine, "garden", { hostnames: ["garden.example"] }, 0);
    foreignKey = (await createKey(server.engine, garden, {}, 0)).key;
    // Before the records are created, so that the sandboxes are empty.
    const keyOfSandbox = async (name: string) => {
      const { site } = await makeSandbox(server.engine, name, { now: Date.now });
      return (await createKey(server.engine, site, {}, 0)).key;
    };
    sandboxKey = await keyOfSandbox("shop");
    foreignSandboxKey = await keyOfSandbox("garden");
    for (const path of ["brands", "orderstatuses"])
      await send("POST", `/restapi/${path}.json`, server.key, {}, { Name: "Confidential" });
  });

  const send = (method: string, path: string, key: string | null, headers = {}, body?: object): Promise<TestResponse> =>
    server.call(method, path, { key, body, headers: { Host: "shop.example", ...headers } });
  const everything = async () =>
    (await send("GET", "/restapi/changes.json", server.key)).text +
    JSON.stringify(await server.engine.readHeads([1, 2]));

  test("a read-only key can't change anything, by any method, override, path or parameter", async () => {
    const reader = await server.issueKey({ rights: ["read"] });
    const before = await everything();
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      for (const path of paths) {
        for (const query of ["", "?ID=1"]) {
          const { status } = await send(method, path + query, reader, {}, { ID: "1", Name: "changed" });
          expect([method, path, [403, 405].includes(status)]).toEqual([method, path, true]);
        }
      }
    }
    for (const override of overrides) {
      for (const method of methods) {
        const headers = {
          "X-HTTP-Method-Override": override,
          "X-HTTP-Method": "DELETE",
          "X-Method-Override": "DELETE",
        };
        const body = method === "GET" || method === "HEAD" ? undefined : { Name: "changed" };
        const { status } = await send(method, "/restapi/brands/1.json?_method=DELETE", reader, headers, body);
        if (status < 400) expect([method, status]).toEqual([method === "HEAD" ? "HEAD" : "GET", 200]);
      }
    }
    expect(await everything()).toBe(before);
  });
  if (kind.name === "PostgreSQL") return;

  test("a sandbox key can't read or change the live site, by any method, override, path or header", async () => {
    const before = await everything();
    const etag = (await send("GET", "/restapi/brands/1.json", server.key)).headers.get("ETag") ?? "";
    const statuses = new Set<number>();
    for (const method of methods) {
      for (const path of paths) {
        for (const [query, more] of [
          ["", {}],
          ["?ID=1", { "If-Match": etag }],
          ["?ID=1", { "X-HTTP-Method-Override": "DELETE" }],
        ] as const) {
          const headers = { "X-Sandbox": "shop", ...more };
          const body = method === "GET" || method === "HEAD" ? undefined : { Name: "changed" };
          const { status, text } = await send(method, `${path}${query}`, sandboxKey, headers, body);
          expect([method, path, text.includes("Confidential")]).toEqual([method, path, false]);
          statuses.add(status);
        }
      }
    }
    // Creates are stored in the sandbox, which had no records.
    expect([...statuses].filter((status) => status < 300).sort()).toEqual([200, 201]);
    expect(await everything()).toBe(before);
  });

  const secrets = ["Confidential", "x-total-count", "etag", "link", "ratelimit"];

  test.each([
    ["without a key", (): string | null => null, 401],
    ["with a key of another site", (): string | null => foreignKey, 403],
    ["with a key of another site's sandbox", (): string | null => foreignSandboxKey, 403],
  ] as const)("a client %s learns nothing about records, not even whether they exist", async (_, key, rejectedWith) => {
    const before = await everything();
    for (const method of methods) {
      const bodies = new Set<string>();
      for (const path of [...paths, "/restapi/brands/999.json", "/restapi/changes.json?since=now&wait=5"]) {
        const { status, text, headers } = await send(method, path, key(), {
          "If-None-Match": "*",
          "Idempotency-Key": "1",
        });
        expect([path, [rejectedWith, 405].includes(status)]).toEqual([path, true]);
        for (const secret of secrets) expect([...headers.keys(), text].join()).not.toContain(secret);
        if (status === rejectedWith && path.includes(".json")) bodies.add(text.replace(/"instance":"\w+"/, ""));
      }
      expect(bodies.size).toBe(1);
    }
    expect(await everything()).toBe(before);
  });

  test("another site's cursors, ETags and idempotency keys are useless", async () => {
    const own = { Host: "garden.example" };
    const name = { "Idempotency-Key": "the same" };
    const created = await send("POST", "/restapi/brands.json", server.key, name, { Name: "Confidential" });
    const theirs = await send("POST", "/restapi/brands.json", foreignKey, { ...own, ...name }, { Name: "Ours" });
    expect([theirs.status, theirs.json.Name, theirs.headers.get("Idempotency-Replayed")]).toEqual([201, "Ours", null]);
    const etag = { ...own, "If-None-Match": created.headers.get("ETag") as string };
    expect((await send("GET", "/restapi/brands/1.json", foreignKey, etag)).status).toBe(200);
    const { Next } = (await send("GET", "/restapi/changes.json", server.key)).json;
    const page = await send("GET", `/restapi/changes.json?since=${Next}`, foreignKey, own);
    expect([page.status, page.text.includes("Confidential")]).toEqual([410, false]);
  });

  test("a change in another site doesn't wake a waiting client", async () => {
    const own = { Host: "garden.example" };
    const { Next } = (await send("GET", "/restapi/changes.json?since=now", foreignKey, own)).json;
    const waiting = send("GET", `/restapi/changes.json?since=${Next}&wait=1`, foreignKey, own);
    await send("POST", "/restapi/brands.json", server.key, {}, { Name: "Confidential" });
    expect((await waiting).json).toMatchObject({ Changes: [], Next });
  });

  test("nothing but a 421, or the 401 at its own host, tells which sites exist", async () => {
    const publicPaths = ["/", "/docs", "/docs/guide", "/openapi.json", "/healthz", "/readyz", "/schemas/brand.json"];
    for (const path of [...publicPaths, "/nothing", "/metrics", "/operator/sites", "/restapi/sites.json"]) {
      const known = await send("GET", path, null, { "X-Request-Id": "x" });
      const other = await send("GET", path, null, { "X-Request-Id": "x", Host: "none.example" });
      for (const { text } of [known, other]) expect(text.replaceAll("shop.example", "")).not.toMatch(/garden|"shop"/);
      if (publicPaths.includes(path)) expect(other.text.replaceAll("none.example", "shop.example")).toBe(known.text);
      else expect([path, known.status, other.status]).toEqual([path, 404, 421]);
    }
    for (const path of paths) {
      const { status, text } = await send("GET", path, server.key, { Host: "none.example" });
      expect([status, /shop|garden/.test(text)]).toEqual([421, false]);
    }
    const { headers, text } = await send("GET", "/restapi/brands.json", null);
    expect(headers.get("WWW-Authenticate")).toBe('ApiKey realm="shop", header="X-API-AUTH"');
    expect(text).not.toContain("garden");
  });

  test("a webhook's secret isn't accepted as a key, and neither is a key's stored digest", async () => {
    const digest = Bun.SHA256.hash(server.key, "hex");
    for (const key of ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", digest, server.key.slice(0, 12)])
      expect((await send("GET", "/restapi/brands.json", key)).status).toBe(401);
  });

  test("no path leads outside the pages", async () => {
    const client = await openClient(server.port);
    const outside = [
      "/../package.json",
      "/docs/../../package.json",
      "/docs/%2e%2e/package.json",
      "/docs/..%2fREADME.md",
    ];
    for (const path of [
      ...outside,
      "//etc/passwd",
      "/docs/examples/../../package.json",
      "/.env",
      "/data/storefront.db",
    ])
      client.send(toRequest(`GET ${path} HTTP/1.1`, ["Host: shop.example"]));
    const responses = await client.responses(8);
    expect(responses.map(({ status }) => [400, 404].includes(status))).toEqual(Array(8).fill(true));
    client.socket.destroy();
  });
});
