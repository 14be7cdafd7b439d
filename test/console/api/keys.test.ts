// Keys in the API of the console.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../support/console/server.ts";

const keys = "/sites/shop/keys";
const hour = 3_600_000;

describe("keys in the console", () => {
  let server: TestConsole;
  let anna: ConsoleClient;
  let time: number;
  beforeEach(async () => {
    await server?.stop();
    time = Date.now();
    server = await startTestConsole({ now: () => time });
    anna = await server.signIn("anna");
  });
  afterAll(() => server.stop());

  const make = async (body: object = {}) => (await anna.call("POST", keys, body)).json;
  const statusOf = async (key: string, method = "GET") => {
    const body = method === "GET" ? undefined : { Name: "Acme" };
    return (await server.call(method, "/restapi/brands.json", { key, body })).status;
  };
  const listed = async (id: number) =>
    (await anna.call("GET", keys)).json.keys.find((key: { id: number }) => key.id === id);

  test("a new key is valid at once, and is shown only in the response that creates it", async () => {
    const expires = new Date(time + hour).toISOString();
    const made = await make({ label: "till", scope: "read", rate: 20, expires });
    expect(made).toMatchObject({ label: "till", scope: "read", rate: 20, expires, revoked: null });
    expect([await statusOf(made.key), await statusOf(made.key, "POST")]).toEqual([200, 403]);
    const list = await anna.call("GET", keys);
    expect(await listed(made.id)).toMatchObject({ prefix: made.prefix, state: "valid" });
    expect(list.text).not.toContain(made.key);
    expect(list.text).not.toMatch(/digest/i);
  });

  test("only the settings that are sent are changed, and null removes a setting", async () => {
    const { id } = await make({ label: "till", rate: 20, expires: new Date(time + hour).toISOString() });
    expect((await anna.call("PATCH", `${keys}/${id}`, { label: "tills" })).json).toMatchObject({
      label: "tills",
      rate: 20,
    });
    const cleared = await anna.call("PATCH", `${keys}/${id}`, { rate: null, expires: null });
    expect(cleared.json).toMatchObject({ label: "tills", rate: null, expires: null });
  });

  const badSettings: [string, unknown][] = [
    ["a label that is not text", { label: 5 }],
    ["a label that is too long", { label: "x".repeat(1000) }],
    ["an unknown scope", { scope: "admin" }],
    ["a scope that is named like a member of every object", { scope: "constructor" }],
    ["a rate of zero", { rate: 0 }],
    ["a rate as text", { rate: "5" }],
    ["a rate with a fraction", { rate: 1.5 }],
    ["an invalid time", { expires: "tomorrow" }],
    ["a day that February does not have", { expires: "2027-02-30T12:00:00Z" }],
    ["a time that is too late", { expires: 1e300 }],
    ["a time after the year 9999", { expires: 1e15 }],
    ["a time after the largest possible time", { expires: 8.64e15 + 1 }],
  ];
  test.each(badSettings)("a key with %s is not created", async (_, body) => {
    expect((await anna.call("POST", keys, body)).status).toBe(400);
    expect((await anna.call("GET", keys)).json.keys).toHaveLength(1);
  });

  test.each([
    undefined,
    null,
    -1,
    0.5,
    "1",
    24 * 365 + 1,
  ])("a rotation with the overlap %p is rejected", async (overlap) => {
    const { id } = await make();
    expect((await anna.call("POST", `${keys}/${id}/rotate`, { overlap })).status).toBe(400);
  });

  test("a key of a sandbox says so, and opens only the sandbox; so does the key that replaces it", async () => {
    await anna.call("POST", "/sites/shop/sandbox", {});
    const path = "/sites/shop-sandbox/keys";
    const { key, id, prefix } = (await anna.call("POST", path, { label: "trial" })).json;
    const rotated = (await anna.call("POST", `${path}/${id}/rotate`, { overlap: 1 })).json;
    expect(prefix).toBe(key.slice(0, 17));
    for (const one of [key, rotated.key]) {
      expect(one).toMatch(/^sfk_test_[0-9A-Za-z]{42}$/);
      const { status, headers } = await server.call("GET", "/restapi/brands.json", { key: one });
      expect([status, headers.get("X-Sandbox")]).toEqual([200, "shop-sandbox"]);
    }
    expect((await anna.call("GET", keys)).text).not.toContain("sfk_test_");
    expect((await anna.call("POST", `${keys}/${id}/revoke`, {})).status).toBe(404);
  });

  test("keys of another site are not found", async () => {
    await createSite(server.engine, "toys", {}, 1);
    const { id } = (await anna.call("POST", "/sites/toys/keys", { label: "toy" })).json;
    expect((await anna.call("GET", keys)).text).not.toContain("toy");
    const tries: [string, string][] = [
      ["PATCH", `${keys}/${id}`],
      ["POST", `${keys}/${id}/revoke`],
      ["POST", `${keys}/${id}/rotate`],
      ["POST", `${keys}/x/revoke`],
      ["POST", `${keys}/999/revoke`],
    ];
    for (const [method, path] of tries)
      expect([path, (await anna.call(method, path, { overlap: 1 })).status]).toEqual([path, 404]);
    expect((await anna.call("GET", "/sites/toys/keys")).json.keys).toMatchObject([{ state: "valid" }]);
  });
});
