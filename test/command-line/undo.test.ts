import { describe, expect, test } from "bun:test";
import { engines, testIf } from "../support/engine/engines.ts";
import { fetchWithKey, useWorkspace, type Workspace } from "../support/programs/command.ts";
import type { TestRecord } from "../support/programs/command-data.ts";
import { waitUntil } from "../support/time.ts";

describe.each(engines)("undo on $name", (kind) => {
  let workspace: Workspace;
  useWorkspace(kind, (opened) => {
    workspace = opened;
  });

  const names = async (resource = "brands") =>
    JSON.parse(await workspace.data.file("main", resource, "json")).map(({ ID, Name }: TestRecord) => `${ID} ${Name}`);
  const load = (text: string, ...more: string[]) =>
    workspace.run(["import", "--site", "main", "brands", "-", ...more], { stdin: text });
  /** Runs the `undo` command that another command printed. */
  const runPrinted = (stderr: string) => {
    const [, line = ""] = /storefront (undo [^\n]*)/.exec(stderr) ?? [];
    return workspace.run(line.split(" "));
  };

  test("the printed command names the database if the first command did", async () => {
    const added = await workspace.run(["site", "add", "main", "--database", workspace.database]);
    const imported = await load("Name\nA\n", "--database", workspace.database);
    /** Splits the printed command into words the way a shell does. */
    const line = (stderr: string) => /\/storefront ([^\n]*)/.exec(stderr)?.[1]?.replaceAll("'", "").split(" ") ?? [];
    const PGPASSWORD = decodeURIComponent(new URL(workspace.database).password);
    if (PGPASSWORD) expect(decodeURIComponent(added.stderr + imported.stderr)).not.toContain(PGPASSWORD);
    const elsewhere = { env: { STOREFRONT_DATABASE: `sqlite:${workspace.file("other.db")}`, PGPASSWORD } };
    expect(await workspace.mustRun(line(added.stderr), elsewhere)).toStartWith("sfk_");
    await workspace.mustRun(line(imported.stderr), elsewhere);
    expect(await names()).toEqual([]);
  });
  if (kind.name === "PostgreSQL") return;

  test("an interrupted import prints the command that undoes it", async () => {
    await workspace.data.addSite("main");
    const started = workspace.start(["import", "--site", "main", "brands", "-"]);
    started.write(`Name\n${"Bad\n".repeat(700)}`);
    await waitUntil(async () => (await names()).length === 500, "the first 500 rows");
    started.kill("SIGINT");
    expect(await started.exited).toBe(1);
    const { code, stdout } = await runPrinted(started.stderr());
    expect([code, stdout]).toEqual([0, "500 records: 500 deleted, 0 restored, 0 unchanged, 0 skipped\n"]);
    expect(await names()).toEqual([]);
  });

  // One engine is enough for the other tests: operator/ tests the functions on both, and on-postgres.test.ts the command.
  const testOnce = testIf(kind === engines[0]);

  testOnce("an import prints its revisions and a command that only undoes this import", async () => {
    await workspace.data.addSite("main", { isDefault: true });
    const key = await workspace.data.addKey("main");
    await workspace.data.load("main", "brands", "Name,AccountNumber\nA,1\nB,2\nC,3\n");
    const bad = await load("Name,AccountNumber\nWrong,1\nWrong,2\nNew,4\n", "--match", "AccountNumber");
    expect(bad.stderr).toMatch(
      /^revisions 4 to 6; to undo this: \S+\/storefront undo --site main --since 3 --run \w{8}$/m,
    );
    const server = await workspace.serve();
    const url = `${server.url}/restapi/brands`;
    await fetchWithKey(`${url}/2.json`, key, { method: "PUT", body: '{"Name":"By a client"}' });
    await fetchWithKey(`${url}.json`, key, { method: "POST", body: '{"Name":"From a client"}' });
    const [, run = ""] = /--run (\w+)/.exec(bad.stderr) ?? [];
    const dryRun = await workspace.mustRun([
      "undo",
      "--site",
      "main",
      "--since",
      "3",
      "--run",
      run,
      "--dry-run",
      "--json",
    ]);
    const left = [{ resource: "brand", id: 2, changed: { revision: 7 } }];
    expect(JSON.parse(dryRun)).toMatchObject({ deleted: 1, restored: 1, unchanged: 0, leftCount: 1, left });
    const undone = await runPrinted(bad.stderr);
    expect([undone.code, undone.stdout]).toEqual([0, "3 records: 1 deleted, 1 restored, 0 unchanged, 1 skipped\n"]);
    expect(undone.stderr).toContain(`skipped: brands 2: ${key.slice(0, 12)} changed it at revision 7`);
    expect(await names()).toEqual(["1 A", "2 By a client", "3 C", "5 From a client"]);
    const read = await fetchWithKey(`${url}/1.json`, key);
    expect(await read.json()).toMatchObject({ Name: "A", AccountNumber: "1" });
    await runPrinted(undone.stderr);
    expect(await names()).toEqual(["1 Wrong", "2 By a client", "3 C", "4 New", "5 From a client"]);
  });

  testOnce("an age or time selects the changes to undo, as for journal", async () => {
    await workspace.data.addSite("main");
    await workspace.data.load("main", "brands", "Name\nOld\n");
    const [created] = JSON.parse(`[${await workspace.mustRun(["journal", "--site", "main", "--json"])}]`);
    await waitUntil(() => Date.now() > Date.parse(created.at) + 5, "another time");
    await workspace.data.load("main", "brands", "Name\nNew\nNewer\n");
    const undo = (...args: string[]) => workspace.run(["undo", "--site", "main", ...args]);
    const after = new Date(Date.parse(created.at) + 1).toISOString();
    expect((await undo("--since", after, "--dry-run")).stdout).toStartWith("2 records: 2 would be deleted");
    expect((await undo("--since", "1h", "--dry-run")).stdout).toStartWith("3 records: 3 would be deleted");
    expect((await undo("--since", "1h", "--until", created.at)).stdout).toStartWith("1 record: 1 deleted");
    expect(await names()).toEqual(["2 New", "3 Newer"]);
    for (const bad of [
      ["--since", "2026-02-30"],
      ["--since", "1h", "--until", "2h"],
    ])
      expect((await undo(...bad)).code).toBe(2);
  });

  testOnce(
    "delete takes all given records or none, even locations, and prints the command that undoes it",
    async () => {
      await workspace.data.addSite("main");
      await workspace.data.load("main", "locations", "Name\nNorth\nSouth\nWest\n");
      const remove = (...ids: string[]) => workspace.run(["delete", "--site", "main", "locations", ...ids]);
      const missing = await remove("1", "7");
      expect([missing.code, missing.stderr]).toEqual([
        1,
        "storefront: there's no location 7, so nothing was deleted\n",
      ]);
      expect((await remove("1", "x")).code).toBe(2);
      expect((await remove()).code).toBe(2);
      const removed = await remove("1", "3", "1");
      expect(removed.stdout.split("\n").map((line) => line && JSON.parse(line).Name)).toEqual(["North", "West", ""]);
      expect(removed.stderr).toMatch(/^deleted 2 locations\nrevisions 4 to 5; to undo this: \S+\/storefront undo/);
      expect(await names("locations")).toEqual(["2 South"]);
      await runPrinted(removed.stderr);
      expect(await names("locations")).toEqual(["1 North", "2 South", "3 West"]);
    },
  );

  testOnce("changes are journaled with the operator's name and the command's run", async () => {
    await workspace.data.addSite("main");
    await load("Name\nA\nB\n", "--as", "Zoë O'Neil");
    await workspace.mustRun(["delete", "--site", "main", "brands", "1"], {
      env: { SUDO_USER: "root-for-anna", USER: "root" },
    });
    await workspace.mustRun(["delete", "--site", "main", "brands", "2"], { env: { SUDO_USER: "", USER: "" } });
    const entries = (await workspace.mustRun(["journal", "--site", "main", "--json"])).trim().split("\n");
    const [first, second, third, fourth] = entries.map((line) => JSON.parse(line));
    // In a container, a user ID may have no name.
    const user = Bun.spawnSync(["id", "-un"]).stdout.toString().trim() || `uid ${process.getuid?.()}`;
    const actors = [first, third, fourth].map(({ actor }) => actor);
    expect(actors).toEqual(["operator:Zoë O'Neil", "operator:root-for-anna", `operator:${user}`]);
    expect([first.run === second.run, first.run === third.run, first.run]).toEqual([
      true,
      false,
      expect.stringMatching(/^\w{8}$/),
    ]);
    for (const name of ["", "a\nb", "\u009b31m", "x".repeat(65)])
      expect((await load("Name\nA\n", "--as", name)).code).toBe(2);
  });

  testOnce("a key's run tells where its changes start, so undoing it needs no --since", async () => {
    await workspace.data.addSite("main");
    await workspace.data.addBrands("main", "A", "B");
    const run = "k3J9aZ0q-3-2";
    const change = { site: 1, resource: "brand", actor: "sfk_AbCd1234", run, at: Date.now() } as const;
    await workspace.data.use((engine) =>
      engine.commit([
        { ...change, operation: "update", id: 1, valuesJson: '{"Name":"changed"}' },
        { ...change, operation: "create", valuesJson: '{"Name":"C"}' },
      ]),
    );
    await workspace.data.addBrands("main", "D");
    const { stdout, stderr } = await workspace.run(["undo", "--site", "main", "--run", run]);
    expect(stdout).toBe("2 records: 1 deleted, 1 restored, 0 unchanged, 0 skipped\n");
    expect(await names()).toEqual(["1 A", "2 B", "4 D"]);
    // The undo is the command's own run, so it has no such ID.
    expect(stderr).toMatch(/undo --site main --since 5 --run \w{8}$/m);
    const without = await workspace.run(["undo", "--site", "main", "--run", "k3J9aZ0q"]);
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining("such as k3J9aZ0q-18-3")]);
  });

  testOnce("undo rejects wrong options", async () => {
    await workspace.data.addSite("main");
    await workspace.data.addBrands("main", "A");
    const undo = async (...more: string[]) => {
      const { code, stderr } = await workspace.run(["undo", "--site", "main", ...more]);
      return `${code} ${stderr.split("\n")[0]}`;
    };
    expect(await undo()).toStartWith("2 storefront: add --since <point>");
    expect(await undo("--since", "x")).toStartWith("2 storefront: invalid --since `x`");
    expect(await undo("--since", "3", "--until", "3")).toBe("2 storefront: --until must be after --since");
    expect(await undo("--since", "1")).toBe("1 storefront: nothing to undo: there are no changes after revision 1");
    expect(await undo("--since", "0", "--run", "nope")).toBe(
      "1 storefront: nothing to undo: the run nope made no changes after revision 0",
    );
    expect(await undo("--since", "0", "--dry-run")).toBe("0 ");
    expect(await names()).toEqual(["1 A"]);
  });
});
