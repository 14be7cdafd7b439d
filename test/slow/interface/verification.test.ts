// `serve --verify`: the server compares the sites in its memory with the database.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { engines } from "../../support/engine/engines.ts";
import { startTestServer, type TestServer } from "../../support/http/server.ts";
import { ticks, waitUntil } from "../../support/time.ts";

const brands = "/restapi/brands.json";
const verificationPauses = { firstMs: 0, minMs: 0, perWork: 0, passMs: 0 };

describe.each(engines)("serve --verify on $name", (kind) => {
  let server: TestServer;
  beforeAll(() => kind.open());
  afterEach(() => server.stop());
  afterAll(() => kind.close());

  const startServer = async (settings = {}) => {
    server = await startTestServer({
      settings: { DATABASE: await kind.newDatabase(), ...settings },
      verificationPauses,
    });
    await server.call("POST", brands, { body: { Name: "as stored" } });
  };
  const names = async (key = server.key) =>
    (await server.call("GET", brands, { key })).json.map(({ Name }: { Name: string }) => Name);
  const metric = async (name: string) =>
    Number(new RegExp(`^storefront_${name}_total (\\d+)$`, "m").exec(await server.metrics())?.[1]);
  const alterByHand = () =>
    kind.run(server.database, `update records set body = replace(body, 'as stored', 'by hand') where site_id <> 0`);

  test("a row changed by hand is counted, and served from then on as in the database", async () => {
    await startServer();
    expect(await names()).toEqual(["as stored"]);
    await alterByHand();
    await waitUntil(async () => (await metric("verify_differences")) > 0, "the difference");
    expect(await names()).toEqual(["by hand"]);
    const before = await metric("verified_records");
    await waitUntil(async () => (await metric("verified_records")) > before + 20, "further comparisons");
    expect(await metric("verify_differences")).toBe(1);
    expect(await metric("verified_parts")).toBeGreaterThan(0);
  });

  test("with --verify none, nothing is compared", async () => {
    await startServer({ VERIFY: "none" });
    expect(await names()).toEqual(["as stored"]);
    await alterByHand();
    await ticks(20);
    expect(await names()).toEqual(["as stored"]);
    expect([await metric("verified_parts"), await metric("verify_differences")]).toEqual([0, 0]);
  });

  test("sandboxes renewed while in use show no differences", async () => {
    await startServer();
    for (let made = 1; made <= 3; made++) {
      const { site } = await makeSandbox(server.engine, server.site.Name, { now: Date.now });
      const { key } = await createKey(server.engine, site, {}, Date.now());
      expect(await names(key)).toHaveLength(made);
      await server.call("POST", brands, { key, body: { Name: "in the sandbox" } });
      await server.call("POST", brands, { body: { Name: "in the shop" } });
      const before = await metric("verified_records");
      await waitUntil(async () => (await metric("verified_records")) > before + 30, "comparisons");
    }
    expect(await metric("verify_differences")).toBe(0);
  });
});
