// Sites in the API of the console.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportSite } from "../../../src/operator/site-files/export-site.ts";
import { importSite } from "../../../src/operator/site-files/import-site.ts";
import { createSites } from "../../../src/operator/sites/site-creation.ts";
import { removeSite } from "../../../src/operator/sites/site-removal.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import type { ConsoleClient, TestConsole } from "../../support/console/server.ts";
import { useConsoleOn } from "../../support/console/use-console.ts";
import { engines } from "../../support/engine/engines.ts";

describe.each(engines)("sites in the console on $name", (kind) => {
  let server: TestConsole;
  let anna: ConsoleClient;
  useConsoleOn(kind, (started, operator) => {
    [server, anna] = [started, operator];
  });

  const namesOf = async (client: ConsoleClient) =>
    (await client.call("GET", "/sites")).json.sites.map(({ name }: { name: string }) => name);

  test("compresses a long list of sites", async () => {
    for (let from = 0; from < 300; from += 100)
      await createSites(
        server.engine,
        Array.from({ length: 100 }, (_, n) => ({ name: `site-${from + n}`, hostnames: [], isDefault: false })),
        undefined,
        1,
      );
    const { headers, json } = await anna.call("GET", "/sites");
    expect([headers.get("Content-Encoding"), json.sites.length]).toEqual(["gzip", 301]);
    // RFC 9110 section 12.5.3: only the weight 0 excludes a coding.
    for (const [accepted, coding] of [
      ["identity", null],
      ["gzip;q=0", null],
      ["gzip;q=0.000, br", null],
      ["gzip;q=0.5", "gzip"],
      ["br, gzip; q=0.001", "gzip"],
      ["*", "gzip"],
    ] as const) {
      const listed = await anna.call("GET", "/sites", undefined, { "Accept-Encoding": accepted });
      expect([accepted, listed.headers.get("Content-Encoding"), listed.json.sites.length]).toEqual([
        accepted,
        coding,
        301,
      ]);
    }
  });
  if (kind.name === "PostgreSQL") return;

  test("adds a site with a key that is valid at once", async () => {
    const body = { name: "toys", hostnames: ["Toys.Example."], withKey: true };
    const { status, json } = await anna.call("POST", "/sites", body);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      site: { name: "toys", hostnames: ["toys.example"], isDefault: false },
    });
    expect(
      (await server.call("GET", "/restapi/brands.json", { key: json.key, headers: { Host: "toys.example" } })).status,
    ).toBe(200);
    expect(await namesOf(anna)).toEqual(["shop", "toys"]);
  });

  const bad: [string, unknown, number][] = [
    ["no name", {}, 400],
    ["a bad name", { name: "A shop" }, 400],
    ["a name that is taken", { name: "shop" }, 409],
    ["hostnames that are not a list", { name: "toys", hostnames: "toys.example" }, 400],
    ["a bad hostname", { name: "toys", hostnames: ["a b"] }, 400],
    ["a default that is not a boolean", { name: "toys", isDefault: "yes" }, 400],
    ["null", null, 400],
  ];
  test("rejects an invalid site", async () => {
    for (const [name, body, status] of bad) {
      const rejected = await anna.call("POST", "/sites", body);
      expect([name, rejected.status, await namesOf(anna)]).toEqual([name, status, ["shop"]]);
    }
  });

  test("changes a site, suspends it and resumes it", async () => {
    const suspended = await anna.call("PATCH", "/sites/shop", { isSuspended: true });
    expect(suspended.json.site.suspended).toEqual(expect.any(String));
    expect((await server.call("GET", "/restapi/brands.json")).status).toBe(403);
    const changed = await anna.call("PATCH", "/sites/shop", {
      name: "garden",
      hostnames: ["g.example"],
      isSuspended: false,
    });
    expect(changed.json.site).toMatchObject({ name: "garden", hostnames: ["g.example"], suspended: null });
    expect((await server.call("GET", "/restapi/brands.json")).status).toBe(200);
    expect((await anna.call("PATCH", "/sites/garden", {})).status).toBe(400);
  });

  test("removes a site only if the request repeats its name", async () => {
    await createSite(server.engine, "toys", {}, 1);
    await anna.call("POST", "/sites/toys/records/brands", { Name: "Acme" });
    expect((await anna.call("GET", "/sites/toys")).json).toMatchObject({ records: { brands: 1 }, keys: 0 });
    expect((await anna.call("DELETE", "/sites/toys", { name: "shop" })).status).toBe(400);
    expect((await anna.call("DELETE", "/sites/toys", { name: "toys" })).status).toBe(200);
    expect((await anna.call("DELETE", "/sites/toys", { name: "toys" })).status).toBe(404);
    expect(await namesOf(anna)).toEqual(["shop"]);
  });

  test("gives a removed site that is imported again to no operator of some sites, because it is another site", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-sites-"));
    await createSite(server.engine, "toys", {}, 1);
    const ben = await server.signIn("ben", ["toys"]);
    await exportSite(server.engine, "toys", join(folder, "toys.site"), 1);
    await removeSite(server.engine, "toys", 1);
    expect([await namesOf(ben), (await ben.call("GET", "/operators")).status]).toEqual([[], 403]);
    await importSite(server.engine, join(folder, "toys.site"), { now: () => 1 });
    expect([await namesOf(ben), (await ben.call("GET", "/sites/toys")).status]).toEqual([[], 404]);
    expect(await namesOf(anna)).toEqual(["shop", "toys"]);
    rmSync(folder, { recursive: true, force: true });
  });

  test("lets an operator of one site change it, but not make it the default, and names no other site", async () => {
    await createSite(server.engine, "toys", { hostnames: ["toys.example"] }, 1);
    const ben = await server.signIn("ben", ["shop"]);
    expect((await ben.call("PATCH", "/sites/shop", { hostnames: ["shop.example"] })).status).toBe(200);
    expect((await ben.call("PATCH", "/sites/shop", { isDefault: true })).status).toBe(403);
    for (const taken of [{ hostnames: ["toys.example"] }, { name: "toys" }]) {
      const { status, json } = await ben.call("PATCH", "/sites/shop", taken);
      expect([status, json.detail]).toEqual([409, "that name or hostname is already taken"]);
    }
    // After the site was renamed, the operator may still manage it.
    expect((await ben.call("PATCH", "/sites/shop", { name: "garden" })).status).toBe(200);
    expect(await namesOf(ben)).toEqual(["garden"]);
  });
});
