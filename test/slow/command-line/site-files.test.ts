import { describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { exportSite } from "../../../src/operator/site-files/export-site.ts";
import { setSite } from "../../../src/operator/sites/sites.ts";
import { engines } from "../../support/engine/engines.ts";
import { fetchWithKey, useWorkspace, type Workspace } from "../../support/programs/command.ts";
import { waitUntil } from "../../support/time.ts";

describe.each(engines)("site files on $name", (kind) => {
  let workspace: Workspace;
  useWorkspace(kind, (opened) => {
    workspace = opened;
  });

  const addGarden = async (rows: number) => {
    await workspace.data.addSite("garden", { hostnames: ["garden.example"] });
    await workspace.data.addBrands("garden", ...Array.from({ length: rows }, (_, index) => `Brand ${index}`));
    return workspace.data.addKey("garden");
  };
  /** Exports the site to a file, without the command. */
  const writeGarden = async () => {
    const file = workspace.file("garden.site");
    await workspace.data.use((engine) => exportSite(engine, "garden", file, Date.now()));
    return file;
  };

  /** Starts importing a file whose last rows never arrive, and waits until rows are stored. */
  async function startImport(file: string) {
    const lines = gunzipSync(readFileSync(file)).toString().split("\n");
    writeFileSync(workspace.file("part"), gzipSync(lines.slice(0, -3000).join("\n")));
    await Bun.$`mkfifo ${workspace.file("pipe")}`;
    const writer = Bun.spawn(["sh", "-c", "exec 3>pipe; cat part >&3; exec sleep 30"], { cwd: workspace.folder });
    const started = workspace.start(["import-site", workspace.file("pipe")]);
    const stored = () => kind.select(workspace.database, "select id from records where site_id = 2 limit 1");
    await waitUntil(async () => (await stored()).length > 0, "stored rows", { output: started.stderr });
    return { ...started, endInput: () => writer.kill() };
  }

  if (kind.name === "PostgreSQL") return;

  // One engine is enough for the other tests: operator/ tests the functions on both, and on-postgres.test.ts the command.
  if (kind !== engines[0]) return;

  test("a stopped import leaves no rows", async () => {
    await addGarden(4000);
    const file = await writeGarden();
    await workspace.data.use((engine) => setSite(engine, "garden", { name: "old" }, Date.now()));
    const stopped = await startImport(file);
    stopped.kill("SIGINT");
    stopped.endInput();
    expect(await stopped.exited).toBe(1);
    expect(await workspace.mustRun(["site", "list"])).not.toContain(" garden ");
    expect(await workspace.data.check()).toEqual([]);
  });

  test("a site is exported, removed and imported with its keys, then served again", async () => {
    const key = await addGarden(3);
    const server = await workspace.serve();
    const get = () => fetchWithKey(`${server.url}/restapi/brands/2.json`, key, { headers: { Host: "garden.example" } });
    const before = await get();
    const file = workspace.file("garden.site");
    const exported = await workspace.run(["export-site", "garden", file, "--json"]);
    expect(exported.stderr).toBe(`exported the site garden to ${file}: 1 key, 0 webhooks, 3 records, 3 changes\n`);
    expect(JSON.parse(exported.stdout)).toMatchObject({ site: "garden", keys: 1, records: 3, changes: 3 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await workspace.mustRun(["site", "remove", "garden", "--yes"]);
    expect((await get()).status).toBe(421);
    expect(await workspace.mustRun(["import-site", file])).toBe("2\n");
    const after = await get();
    expect([after.status, await after.text()]).toEqual([200, await before.text()]);
    expect(after.headers.get("ETag")).not.toBe(before.headers.get("ETag"));
    expect(await workspace.mustRun(["journal", "--site", "garden"])).toMatch(/^1\t.*\n2\t.*\n3\t/);
    expect(await workspace.data.check()).toEqual([]);
  });

  test("a site is imported from a pipe without its keys, and the hostnames and keys already in use are listed", async () => {
    await addGarden(2);
    const file = await writeGarden();
    const taken = await workspace.run(["import-site", file]);
    expect([taken.code, taken.stderr]).toEqual([1, "storefront: the site `garden` already exists\n"]);
    const staging = await workspace.run(["import-site", "-", "--name", "staging", "--without-keys"], {
      stdin: readFileSync(file),
    });
    expect([staging.code, staging.stdout]).toEqual([0, "2\n"]);
    expect(staging.stderr).toBe(
      "imported the site staging (ID 2): 0 keys, 0 webhooks, 2 records, 2 changes\nskipped the hostname garden.example: another site has it\n",
    );
    const again = await workspace.run(["import-site", file, "--name", "again"]);
    expect(again.stderr).toMatch(/skipped the key sfk_.{8}: it already exists in this database/);
    expect((await workspace.run(["restore", file])).stderr).toMatch(/it was written by `storefront export-site`/);
    expect((await workspace.run(["import-site", workspace.file("none")])).stderr).toMatch(/file not found/);
    expect(await workspace.data.check()).toEqual([]);
  });
});
