// The single executable in a folder outside the checkout, with no Node, Bun or node_modules in its path.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { readBuild } from "../../src/build.ts";
import { expectConsole } from "../support/console/sign-in.ts";
import { engines } from "../support/engine/engines.ts";
import { childrenOf } from "../support/programs/children.ts";
import { fetchWithKey, openWorkspace, type Served, type Workspace } from "../support/programs/command.ts";
import { documentsThatDiffer } from "../support/programs/documents.ts";
import { waitUntil } from "../support/time.ts";

const root = join(import.meta.dir, "../..");
const folder = mkdtempSync(join(tmpdir(), "storefront-executable-"));
const bare = { env: { PATH: join(folder, "nothing") } };
/** Closes the connection, which would otherwise hold up a process that is being replaced. */
const once = { headers: { Connection: "close" } };
let executable: string;

beforeAll(async () => {
  const command = [process.execPath, join(root, "scripts/build/binary.ts"), "--outdir", folder];
  const build = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  const printed = await build.stdout.text();
  expect(await build.exited).toBe(0);
  executable = printed.trimEnd().split("\n").at(-1) as string;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Sends SIGHUP, and waits until `pattern` is on the server's stderr. */
async function reload(server: Served, pattern: RegExp): Promise<void> {
  const before = server.stderr().length;
  server.kill("SIGHUP");
  await waitUntil(() => pattern.test(server.stderr().slice(before)), String(pattern), { output: server.stderr });
}

async function buildInfo({ adminUrl }: Served): Promise<string[]> {
  const text = await (await fetch(`${adminUrl}/metrics`, once)).text();
  return [...text.matchAll(/^storefront_build_info\{(.*)\}/gm)].map(([, labels = ""]) => labels);
}

describe.each(engines)("the executable on $name", (kind) => {
  let workspace: Workspace;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    workspace = openWorkspace(await kind.newDatabase(), [executable]);
  });
  afterEach(() => workspace.close());
  afterAll(() => kind.close());

  test("imports, exports, backs up, restores, checks and serves", async () => {
    const mustRun = (...args: string[]) => workspace.mustRun(args, bare);
    await mustRun("site", "add", "garden", "--default");
    writeFileSync(workspace.file("brands.csv"), "Name\nAcme\nBeta\n");
    await mustRun("import", "--site", "garden", "brands", workspace.file("brands.csv"));
    await mustRun("backup", workspace.file("shop.backup"));
    await mustRun("delete", "--site", "garden", "brands", "1");
    await mustRun("restore", workspace.file("shop.backup"));
    const exported = JSON.parse(await mustRun("export", "--site", "garden", "brands", "--format", "json"));
    expect(exported).toMatchObject([{ Name: "Acme" }, { Name: "Beta" }]);
    await mustRun("check");
    const server = await workspace.serve(["--workers", "2"], bare);
    expect((await fetch(`${server.url}/readyz`, once)).status).toBe(200);
  }, 60_000);

  // The rest doesn't depend on the engine.
  if (kind !== engines[0]) return;

  test("serves a demo with several workers and every document, and replaces the workers", async () => {
    const server = await workspace.serve(["--demo", "--workers", "2", "--admin", "127.0.0.1:0"], bare);
    const key = await waitUntil(() => /sfk_\w+/.exec(server.stdout())?.[0], "the key", { output: server.stderr });
    const brands = `${server.url}/restapi/brands.json`;
    const created = await fetchWithKey(brands, key, { method: "POST", body: '{"Name":"Acme"}', ...once });
    expect(created.status).toBe(201);
    const { ID } = (await created.json()) as { ID: number };
    const found = await fetchWithKey(`${server.url}/restapi/brands/${ID}.xml`, key, once);
    expect(await found.text()).toContain("<Name>Acme</Name>");
    expect(await documentsThatDiffer(server.url)).toEqual([]);
    await expectConsole(workspace, server, "demo", bare);
    const before = childrenOf(server.pid);
    await reload(server, /replaced 3 processes/);
    expect(childrenOf(server.pid).filter((pid) => before.includes(pid))).toEqual([]);
    expect((await fetchWithKey(brands, key, once)).status).toBe(200);
    expect(await buildInfo(server)).toEqual([`version="${version}",commit="${readBuild().commit}"`]);
    server.kill();
    expect(await server.exited).toBe(0);
    const again = await workspace.serve(["--demo"], bare);
    await waitUntil(() => again.stdout().includes(`KEY=$(${executable} key create --site demo`), "how to create a key");
  }, 60_000);
});

describe("the executable", () => {
  const installed = join(folder, "storefront");
  let workspace: Workspace;
  let upgraded: Workspace;
  beforeEach(() => {
    workspace = openWorkspace(undefined, [executable]);
    upgraded = openWorkspace(undefined, [installed]);
  });
  afterEach(() => Promise.all([workspace.close(), upgraded.close()]));

  test("prints its version and commit", async () => {
    const { commit } = readBuild();
    expect(commit).toMatch(/^[0-9a-f]{12}$/);
    expect(await workspace.mustRun(["--version"], bare)).toBe(`${version} (${commit})\n`);
  });

  test.skipIf(process.platform !== "linux")(
    "runs with the runtime's settings, under the same process ID and name",
    async () => {
      const server = await workspace.serve([], { env: { ...bare.env, MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "12" } });
      const environment = readFileSync(`/proc/${server.pid}/environ`, "latin1").split("\0");
      expect(environment).toContain("BUN_JSC_useWarmUpMarkedBlocks=0");
      expect(environment).toContain("MIMALLOC_PURGE_HOLES_MIN_INTERVAL=12");
      expect(readFileSync(`/proc/${server.pid}/cmdline`, "latin1").split("\0")[0]).toBe(executable);
    },
  );

  test("reads no settings from files in the folder it's started in", async () => {
    writeFileSync(workspace.file(".env"), "STOREFRONT_RATE=many\n");
    writeFileSync(workspace.file("bunfig.toml"), 'preload = ["./preload.ts"]\n');
    writeFileSync(workspace.file("preload.ts"), `await Bun.write("${workspace.file("loaded")}", "");\n`);
    await workspace.serve([], bare);
    expect(existsSync(workspace.file("loaded"))).toBe(false);
  });

  /** Replaces the installed executable with one that names `commit` as its source. */
  function install(commit: string): void {
    const bytes = readFileSync(executable);
    const was = Buffer.from(readBuild().commit);
    for (let at = bytes.indexOf(was); at >= 0; at = bytes.indexOf(was, at + 1)) bytes.write(commit, at, "latin1");
    writeFileSync(`${installed}.new`, bytes);
    chmodSync(`${installed}.new`, 0o755);
    renameSync(`${installed}.new`, installed);
  }

  test("replaced on disk by another version: the workers are that version after SIGHUP", async () => {
    install("aaaaaaaaaaaa");
    const server = await upgraded.serve(["--workers", "2", "--admin", "127.0.0.1:0"], bare);
    expect(await buildInfo(server)).toEqual([expect.stringContaining('commit="aaaaaaaaaaaa"')]);
    install("bbbbbbbbbbbb");
    await reload(server, /replaced 3 processes/);
    expect(await buildInfo(server)).toEqual([expect.stringContaining('commit="bbbbbbbbbbbb"')]);
  });

  test("missing for a while: the server continues, and replaces a worker that ended once the file is back", async () => {
    install("aaaaaaaaaaaa");
    const server = await upgraded.serve(["--workers", "2"], bare);
    renameSync(installed, `${installed}.away`);
    await reload(server, /ENOENT.*replaced 0 of 2 processes, and kept the others/);
    const [first = 0, second] = childrenOf(server.pid);
    process.kill(first, "SIGKILL");
    await waitUntil(() => /can't start a worker, .*ENOENT/.test(server.stderr()), "the report", {
      output: server.stderr,
    });
    expect((await fetch(`${server.url}/healthz`, once)).status).toBe(200);
    renameSync(`${installed}.away`, installed);
    await waitUntil(() => childrenOf(server.pid).length === 2, "the worker", { output: server.stderr });
    expect(childrenOf(server.pid)).toContain(second as number);
    server.kill();
    expect(await server.exited).toBe(0);
  });
});
