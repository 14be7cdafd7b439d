import { describe, expect, test } from "bun:test";
import { engines } from "../support/engine/engines.ts";
import { useWorkspace, type Workspace } from "../support/programs/command.ts";

describe.each(engines)("renew on $name", (kind) => {
  let workspace: Workspace;
  useWorkspace(kind, (opened) => {
    workspace = opened;
  });

  test("gives each site a new epoch", async () => {
    await workspace.data.addSite("garden", { hostnames: ["garden.example"] });
    await workspace.data.addBrands("garden", "Brand 0");
    await workspace.data.addKey("garden");
    const epoch = () => workspace.data.use(async (engine) => (await engine.readHeads([1]))[0]?.epoch);
    const before = await epoch();
    const { stdout, stderr } = await workspace.run(["renew", "--json"]);
    expect([JSON.parse(stdout), stderr]).toEqual([{ sites: 1 }, "gave 1 site a new epoch\n"]);
    expect(await epoch()).not.toBe(before);
    expect(await workspace.data.check()).toEqual([]);
  });
});
