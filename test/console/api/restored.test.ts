// A restore while the console is in use ends all sessions, and what the process has in memory. The database gives the IDs that it has given since the
// backup again, to other operators and sites.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../support/console/server.ts";
import { engines } from "../../support/engine/engines.ts";
import { waitUntil } from "../../support/time.ts";

const octets = { "Content-Type": "application/octet-stream" };

describe.each(engines)("after a restore on $name", (kind) => {
  let folder: string;
  let server: TestConsole;
  /** Of a time before every test, with the operator anna and the site shop. */
  let backup: string;
  let restores = 0;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "storefront-restored-"));
    await kind.open();
    server = await startTestConsole({ settings: { DATABASE: await kind.newEmptyDatabase() } });
    await server.addOperator("anna");
    backup = join(folder, "a.backup");
    await backUp(server.engine, backup, Date.now());
  });
  afterAll(async () => {
    await server.stop();
    await kind.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const restoreBackup = () => restore(server.engine, backup, join(folder, `before-${++restores}`), Date.now());
  const brands = "/sites/shop/records/brands";
  const create = (client: ConsoleClient, key: string) =>
    client.call("POST", brands, { Name: "Acme" }, { "Idempotency-Key": key });

  test("every session and every link has ended", async () => {
    const [anna, link] = [await server.signIn("anna"), await server.link("anna")];
    expect((await anna.call("GET", brands)).status).toBe(200);
    await restoreBackup();
    expect((await anna.call("GET", brands)).status).toBe(401);
    expect((await anna.call("POST", "/session", { link: link.split("=")[1] })).status).toBe(401);
    expect((await (await server.signIn("anna")).call("GET", brands)).status).toBe(200);
  });

  test("a request that is sent again is executed again, because its first effect was discarded", async () => {
    expect((await create(await server.signIn("anna"), "a")).status).toBe(200);
    await restoreBackup();
    const anna = await server.signIn("anna");
    expect((await create(anna, "a")).status).toBe(200);
    expect((await anna.call("GET", brands)).json.total).toBe(1);
  });

  test("another operator with the ID of one who was added since the backup gets neither responses nor imports of that one", async () => {
    const ben = await server.signIn("ben");
    const key = (client: ConsoleClient) =>
      client.call("POST", "/sites/shop/keys", { label: "till" }, { "Idempotency-Key": "b" });
    const [made, opened] = [await key(ben), await openImport(ben, "shop")];
    await restoreBackup();
    const carl = await server.signIn("carl");
    expect(carl.id).toBe(ben.id);
    expect((await carl.call("GET", "/sites/shop/imports")).json.imports).toEqual([]);
    expect((await carl.call("GET", opened)).status).toBe(404);
    expect((await key(carl)).json.key).not.toBe(made.json.key);
  });

  test("an import into a site that was added since the backup is not one into the site that gets its ID", async () => {
    const add = (name: string) => createSite(server.engine, name, {}, Date.now());
    const { ID } = await add("toys");
    const opened = await openImport(await server.signIn("anna"), "toys");
    await restoreBackup();
    expect((await add("games")).ID).toBe(ID);
    const anna = await server.signIn("anna");
    const path = opened.replace("toys", "games");
    expect((await anna.call("GET", "/sites/games/imports")).json.imports).toEqual([]);
    expect((await anna.call("POST", `${path}/run`, {})).status).toBe(404);
  });

  /** Opens an import with one row, and checks it. Returns its path. */
  async function openImport(client: ConsoleClient, site: string): Promise<string> {
    const { json } = await client.call("POST", `/sites/${site}/imports`, { resource: "brands", name: "supplier.csv" });
    const path = `/sites/${site}/imports/${json.id}`;
    await client.call("PUT", `${path}/parts/0`, new Uint8Array(Buffer.from("Name\nSecret\n")), octets);
    await client.call("POST", `${path}/check`, { format: "csv" });
    await waitUntil(async () => (await client.call("GET", path)).json.state === "checked", "the check");
    return path;
  }
});
