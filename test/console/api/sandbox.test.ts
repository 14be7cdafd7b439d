// Sandboxes in the API of the console: operators of a site make, renew and use its sandbox, and only operators of all sites remove it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { setOperator } from "../../../src/operator/operators/operators.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../support/console/server.ts";
import { engines } from "../../support/engine/engines.ts";
import { waitUntil } from "../../support/time.ts";

describe.each(engines)("a sandbox in the console on $name", (kind) => {
  let server: TestConsole;
  let anna: ConsoleClient;
  let ben: ConsoleClient;
  beforeAll(async () => {
    await kind.open();
    server = await startTestConsole({ settings: { DATABASE: await kind.newEmptyDatabase() } });
    await createSite(server.engine, "toys", {}, Date.now());
    [anna, ben] = [await server.signIn("anna"), await server.signIn("ben", ["shop"])];
    for (const Name of ["Acme", "Bolt"]) await anna.call("POST", "/sites/shop/records/brands", { Name });
  });
  afterAll(async () => {
    await server.stop();
    await kind.close();
  });

  const make = (client: ConsoleClient, site = "shop") => client.call("POST", `/sites/${site}/sandbox`, {});
  const sitesOf = async (client: ConsoleClient) =>
    (await client.call("GET", "/sites")).json.sites.map(({ name, suspended, sandboxOf }: Record<string, unknown>) => [
      name,
      suspended,
      sandboxOf,
    ]);
  /** Returns the names of the brands that a key reads, and the sandbox that the response names. */
  const brands = async (key: string) => {
    const { json, headers } = await server.call("GET", "/restapi/brands.json", { key });
    return [json.map(({ Name }: { Name: string }) => Name), headers.get("X-Sandbox")];
  };

  test("is made and renewed by an operator of its site, who creates its keys and changes its records", async () => {
    const made = await make(ben);
    expect([made.status, made.json]).toMatchObject([
      200,
      { isNew: true, records: 2, keys: 0, webhooks: 0, site: { name: "shop-sandbox", hostnames: [], sandboxOf: 1 } },
    ]);
    const { entries } = (await ben.call("GET", "/sites/shop-sandbox/history")).json;
    expect(entries).toMatchObject([{ actor: "console:ben", run: made.json.run }]);
    const { key } = (await ben.call("POST", "/sites/shop-sandbox/keys", { label: "tests" })).json;
    expect(key).toStartWith("sfk_test_");
    await ben.call("DELETE", "/sites/shop-sandbox/records/brands", { ids: [1] });
    await ben.call("POST", "/sites/shop-sandbox/records/brands", { Name: "Only here" });
    expect(await brands(key)).toEqual([["Bolt", "Only here"], "shop-sandbox"]);
    expect((await make(ben)).json).toMatchObject({ isNew: false, records: 2, keys: 1 });
    expect(await brands(key)).toEqual([["Acme", "Bolt"], "shop-sandbox"]);
    expect(await brands(server.key)).toEqual([["Acme", "Bolt"], null]);
  });
  if (kind.name === "PostgreSQL") return;

  test("is listed below its site for its operators, and suspended with it", async () => {
    expect((await sitesOf(anna)).map(([name]: [string]) => name)).toEqual(["shop", "shop-sandbox", "toys"]);
    expect(await sitesOf(ben)).toEqual([
      ["shop", null, null],
      ["shop-sandbox", null, 1],
    ]);
    const { json } = await ben.call("PATCH", "/sites/shop", { isSuspended: true });
    const since = json.site.suspended;
    expect(await sitesOf(ben)).toEqual([
      ["shop", since, null],
      ["shop-sandbox", since, 1],
    ]);
    expect((await ben.call("GET", "/sites/shop-sandbox")).json.site.suspended).toBe(since);
    await ben.call("PATCH", "/sites/shop", { isSuspended: false });
  });

  test("has no settings and no sandbox, and an operator cannot be limited to it; the messages say what to do instead", async () => {
    const change = await ben.call("PATCH", "/sites/shop-sandbox", { isSuspended: true });
    expect([change.status, change.json.detail]).toEqual([409, expect.stringMatching(/change `shop` instead$/)]);
    const second = await make(ben, "shop-sandbox");
    expect([second.status, second.json.detail]).toEqual([409, expect.stringMatching(/run `site sandbox shop`$/)]);
    const operator = await anna.call("POST", "/operators", { name: "cleo", sites: ["shop-sandbox"] });
    expect([operator.status, operator.json.detail]).toEqual([409, expect.stringMatching(/so use `shop`$/)]);
  });

  test("is not found twice by a search in all sites", async () => {
    const { found } = (await anna.call("GET", "/find?text=Acme")).json;
    expect(found.map(({ site }: { site: string }) => site)).toEqual(["shop"]);
  });

  test("of another site cannot be used, and nobody learns whether it exists", async () => {
    await make(anna, "toys");
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/keys"],
      ["POST", "/sandbox"],
      ["POST", "/keys"],
    ] as const) {
      const body = method === "GET" ? undefined : {};
      const [there, gone] = [
        await ben.call(method, `/sites/toys-sandbox${path}`, body),
        await ben.call(method, `/sites/none-sandbox${path}`, body),
      ];
      expect([there.status, there.json.detail]).toEqual([404, "unknown site `toys-sandbox`"]);
      expect(gone.json.detail).toBe("unknown site `none-sandbox`");
    }
  });

  /** Calls `work` before the first batch of the next copy is committed. */
  const beforeCopy = (work: () => Promise<void>) => {
    const { commit } = server.engine;
    Object.assign(server.engine, {
      async commit(...batch: Parameters<typeof commit>) {
        // The first batch with a brand is that of the copy.
        if (!batch[0].some(({ resource }) => resource === "brand")) return commit(...batch);
        Object.assign(server.engine, { commit });
        await work();
        return commit(...batch);
      },
    });
  };

  test("is as before if its operator may no longer manage or change the site while the records are copied", async () => {
    const before = [(await anna.call("GET", "/sites/shop-sandbox")).json, await sitesOf(anna)];
    beforeCopy(async () => void (await setOperator(server.engine, "ben", { sites: ["toys"] }, Date.now())));
    const { status, json } = await make(ben);
    expect([status, json.detail]).toEqual([403, "the copy was stopped, because ben can no longer manage this site"]);
    await setOperator(server.engine, "ben", { sites: ["shop"] }, Date.now());
    beforeCopy(async () => void (await setOperator(server.engine, "ben", { role: "editor" }, Date.now())));
    expect((await make(ben)).json.detail).toBe("the copy was stopped, because ben now has another role");
    expect([(await anna.call("GET", "/sites/shop-sandbox")).json, await sitesOf(anna)]).toEqual(before);
  });

  test("ends the open imports into it when it is renewed; none of them stores a row in the new copy", async () => {
    await make(anna);
    const imports = "/sites/shop-sandbox/imports";
    const { id } = (await anna.call("POST", imports, { resource: "brands", name: "supplier.csv" })).json;
    const bytes = new Uint8Array(Buffer.from("Name\nLate\n"));
    await anna.call("PUT", `${imports}/${id}/parts/0`, bytes, { "Content-Type": "application/octet-stream" });
    await anna.call("POST", `${imports}/${id}/check`, { format: "csv" });
    const state = async () => (await anna.call("GET", `${imports}/${id}`)).json.state;
    await waitUntil(async () => (await state()) === "checked", "the check");
    await make(anna);
    expect((await anna.call("POST", `${imports}/${id}/run`, {})).status).toBe(404);
    expect((await anna.call("GET", imports)).json.imports).toEqual([]);
    expect((await anna.call("GET", "/sites/shop-sandbox/records/brands")).text).not.toContain("Late");
  });

  test("is removed only by an operator of all sites, and with its site", async () => {
    const remove = (client: ConsoleClient) => client.call("DELETE", "/sites/shop-sandbox", { name: "shop-sandbox" });
    expect((await remove(ben)).status).toBe(403);
    expect((await remove(anna)).status).toBe(200);
    expect((await anna.call("DELETE", "/sites/toys", { name: "toys" })).status).toBe(200);
    expect((await sitesOf(anna))[0]).toEqual(["shop", null, null]);
    expect((await sitesOf(anna)).join()).not.toContain("toys");
  });
});
