import { describe, expect, test } from "bun:test";
import { engines } from "../../support/engine/engines.ts";
import { fetchWithKey, useWorkspace, type Workspace } from "../../support/programs/command.ts";

describe.each(engines)("site remove on $name", (kind) => {
  let workspace: Workspace;
  useWorkspace(kind, (opened) => {
    workspace = opened;
  });
  const addSites = async (brands: number) => {
    await workspace.data.addSite("main", { isDefault: true });
    await workspace.data.addSite("large");
    await workspace.data.addBrands("large", ...Array.from({ length: brands }, (_, n) => `Brand ${n}`));
  };
  const mustRun = (args: string[]) => workspace.mustRun(args);
  const run = (args: string[]) => workspace.run(args);
  const count = async (table: string) => {
    const [row] = await kind.select(workspace.database, `select count(*) as id from ${table} where site_id = 2`);
    return (row as { id: number }).id;
  };
  const counts = () => Promise.all(["records", "journal"].map(count));

  if (kind.name === "PostgreSQL") return;

  test("doesn't block other sites' writes", async () => {
    await addSites(5000);
    const key = await workspace.data.addKey("main");
    const server = await workspace.serve([]);
    const removing = workspace.run(["site", "remove", "large", "--yes"], { asProcess: true });
    const statuses = new Set<number>();
    let isOver = false;
    void removing.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const body = '{"Name":"During"}';
      statuses.add((await fetchWithKey(`${server.url}/restapi/brands.json`, key, { method: "POST", body })).status);
    }
    expect(await removing).toMatchObject({ code: 0, stderr: "removed the site large\n" });
    expect([...statuses]).toEqual([201]);
    expect(await counts()).toEqual([0, 0]);
    server.kill();
    await server.exited;
  });

  test("the site stays removed in a restored backup", async () => {
    await addSites(3);
    await mustRun(["site", "remove", "large", "--yes"]);
    const file = workspace.file("removed.backup");
    await mustRun(["backup", file]);
    const { stderr } = await run(["restore", file]);
    expect(stderr).toContain("; 0 changes made since the backup are discarded;");
    const [row] = await kind.select(workspace.database, "select epoch from sites where id = 2");
    expect(row).toEqual({ epoch: "" });
    expect(await workspace.data.check()).toEqual([]);
  });
});
