// A dry run of a single write (contract section 3) gets the write's response, but stores nothing.

import { describe, expect, test } from "bun:test";
import { engines } from "../support/engine/engines.ts";
import { sendBatch, toCreate } from "../support/http/batch.ts";
import { type CallOptions, type TestResponse, type TestServer, useServer } from "../support/http/server.ts";

describe.each(engines)("a dry run on $name", (kind) => {
  let server: TestServer;
  useServer(kind, (started) => {
    server = started;
  });

  const head = async () => (await server.engine.readHeads([server.site.ID]))[0];
  const bodyIn = (format: string, Name: string) =>
    format === "json" ? { Name } : `<Brand><Name>${Name}</Name></Brand>`;
  /** What the responses to a dry run and to the write have in common. */
  const shown = ({ status, headers, text }: TestResponse) => ({
    status,
    text: text.replace(/"instance":"[^"]*"|<instance>[^<]*<\/instance>/, ""),
    ...Object.fromEntries(["ETag", "Location", "Content-Type"].map((name) => [name, headers.get(name)])),
  });
  const toDry = (path: string) => `${path}${path.includes("?") ? "&" : "?"}dryRun=1`;

  /** Sends a dry run, then the write. Expects the same response from both, and a change only from the write. */
  async function expectSame(method: string, path: string, options: CallOptions = {}): Promise<TestResponse> {
    const before = await head();
    const dry = await server.call(method, toDry(path), options);
    expect(await head()).toEqual(before);
    const real = await server.call(method, path, options);
    expect(shown(dry)).toEqual(shown(real));
    expect([dry.headers.get("X-Dry-Run"), real.headers.get("X-Dry-Run")]).toEqual(["1", null]);
    return real;
  }

  // The first test needs a site without records.
  test.each(["json", "xml"])("gets the write's response, in %s", async (format) => {
    const list = `/restapi/brands.${format}`;
    const created = await expectSame("POST", list, { body: bodyIn(format, "Acme") });
    const path = created.headers.get("Location") as string;
    const [, id] = /(\d+)\.\w+$/.exec(path) as unknown as [string, string];
    const headers = { "If-Match": created.headers.get("ETag") as string };
    await expectSame("PUT", path, { body: bodyIn(format, "Acme Ltd"), headers });
    await expectSame("PUT", path, { body: bodyIn(format, "Acme Ltd") });
    await expectSame("PATCH", `${list}?ID=${id}`, { body: bodyIn(format, "Acme plc") });
    const override = { "X-HTTP-Method-Override": "PUT" };
    await expectSame("POST", path, { body: bodyIn(format, "Overridden"), headers: override });
    await expectSame("DELETE", `${list}?ID=${id}&_=1`);
    const fresh = await expectSame("POST", list, { body: bodyIn(format, "Fresh") });
    await expectSame("DELETE", fresh.headers.get("Location") as string);
  });
  if (kind.name === "PostgreSQL") return;

  test("gets the write's errors", async () => {
    const { json } = await server.call("POST", "/restapi/brands.json", { body: { Name: "Acme" } });
    const path = `/restapi/brands/${json.ID}.json`;
    const cases: [number, string, string, CallOptions][] = [
      [404, "DELETE", "/restapi/brands/999999.json", {}],
      [404, "PUT", "/restapi/brands/999999.json", { body: { Name: "x" } }],
      [404, "DELETE", "/restapi/brands/x.json", {}],
      [412, "DELETE", path, { headers: { "If-Match": '"x"' } }],
      [412, "PUT", path, { body: { Name: "x" }, headers: { "If-None-Match": "*" } }],
      [400, "PUT", path, { body: { Name: "", Nmae: "x" } }],
      [400, "POST", "/restapi/brands.json", { body: {} }],
      [400, "POST", "/restapi/brands.json", { body: "{" }],
      [400, "DELETE", "/restapi/brands.json", {}],
      [400, "DELETE", `${path}?ID=999999`, {}],
      [400, "DELETE", path, { headers: { "If-Match": "x" } }],
      [400, "DELETE", path, { headers: { "Idempotency-Key": "é" } }],
      [415, "PUT", path, { body: { Name: "x" }, headers: { "Content-Type": "text/json; charset=latin1" } }],
    ];
    for (const [status, ...request] of cases) expect((await expectSame(...request)).status).toBe(status);
    const key = await server.issueKey({ rights: ["read"] });
    expect((await server.call("DELETE", toDry(path), { key })).status).toBe(403);
    expect((await server.call("DELETE", toDry(path), { key: "sfk_x" })).status).toBe(401);
    expect((await server.call("GET", path)).status).toBe(200);
  });

  test("neither stores nor replays an idempotency key", async () => {
    const options = { body: { Name: "Once" }, headers: { "Idempotency-Key": "once" } };
    const dry = () => server.call("POST", "/restapi/brands.json?dryRun=1", options);
    const first = (await dry()).json.ID;
    expect((await dry()).json.ID).toBe(first);
    const real = await server.call("POST", "/restapi/brands.json", options);
    expect([real.json.ID, real.headers.get("Idempotency-Replayed")]).toEqual([first, null]);
    const later = await dry();
    expect([later.status, later.json.ID, later.headers.get("Idempotency-Replayed")]).toEqual([201, first + 1, null]);
    const again = await server.call("POST", "/restapi/brands.json", options);
    expect([again.json.ID, again.headers.get("Idempotency-Replayed")]).toEqual([first, "true"]);
  });

  test("with dryRun=0 is a real write", async () => {
    const { json } = await server.call("POST", "/restapi/brands.json?dryRun=0", { body: { Name: "Acme" } });
    const response = await server.call("DELETE", `/restapi/brands/${json.ID}.json?dryRun=0`);
    expect([response.status, response.headers.get("X-Dry-Run")]).toEqual([200, null]);
    expect((await server.call("GET", `/restapi/brands/${json.ID}.json`)).status).toBe(404);
  });

  test("of a batch or an undo is marked with X-Dry-Run too", async () => {
    const { json, headers } = await sendBatch(server, [toCreate({ Name: "Batch" })]);
    expect(headers.get("X-Dry-Run")).toBeNull();
    const marks = [
      await sendBatch(server, [toCreate({ Name: "Batch" })], { query: "dryRun=1" }),
      await sendBatch(server, [toCreate({ Name: "" })], { query: "dryRun=1" }),
      await server.call("POST", "/restapi/undo.json?dryRun=1", { body: { Run: json.Run } }),
    ].map((response) => [response.status, response.headers.get("X-Dry-Run")]);
    expect(marks).toEqual([
      [200, "1"],
      [400, "1"],
      [200, "1"],
    ]);
  });
});
