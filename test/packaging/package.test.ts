// The server's package, unpacked in an empty project that otherwise only has Bun. `npm run check:package` installs it with npm too.

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { expectConsole } from "../support/console/sign-in.ts";
import { openWorkspace, type Workspace } from "../support/programs/command.ts";
import { documentsThatDiffer } from "../support/programs/documents.ts";
import { knownLicences, pack, packagesIn, runOutside, unpack } from "../support/programs/packing.ts";
import { waitUntil } from "../support/time.ts";
import { tool } from "./tools/tools.ts";

const root = join(import.meta.dir, "../..");
const project = mkdtempSync(join(tmpdir(), "storefront-package-"));
const home = join(project, "node_modules/storefront-server");
const program = join(home, "bin/storefront.js");
let workspace: Workspace;
let packedBytes: number;
beforeAll(async () => {
  // What npm does before it packs; the other steps need a repository.
  await runOutside([process.execPath, join(root, "scripts/build/console.ts")], root);
  await runOutside([process.execPath, join(root, "scripts/build/prepack.ts")], root);
  const file = await pack(root, project, "--ignore-scripts");
  packedBytes = statSync(file).size;
  await unpack(file, home);
  symlinkSync(join(root, "node_modules/bun"), join(project, "node_modules/bun"));
  mkdirSync(join(home, "dist"), { recursive: true });
  writeFileSync(join(home, "dist/commit"), "0123456789abcdef0123456789abcdef01234567\n");
  workspace = openWorkspace(undefined, [process.execPath, join(home, "src/main.ts")]);
}, 60_000);
afterAll(async () => {
  await workspace.close();
  rmSync(project, { recursive: true, force: true });
});

/** npm only has these for Linux on x64. */
const otherNodes = ["22", "24", "26"].map((major) => [`Node ${major}`, tool(`node-${major}/bin/node`)] as const);

test.each([
  ["this machine's Node", "node"],
  ...otherNodes.filter(() => process.platform === "linux" && process.arch === "x64"),
])("the package runs with %s: it prints its version and commit, serves and stops", async (_, node) => {
  const started = openWorkspace(undefined, [node, program]);
  try {
    expect(await started.mustRun(["--version"])).toBe(`${version} (0123456789ab)\n`);
    const server = await started.serve(["--demo"]);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    server.kill();
    expect(await server.exited).toBe(0);
  } finally {
    await started.close();
  }
});

test("the package serves a demo with several workers and every document, and names the command as installed", async () => {
  const server = await workspace.serve(["--demo", "--workers", "2"]);
  expect(await documentsThatDiffer(server.url)).toEqual([]);
  server.kill();
  expect(await server.exited).toBe(0);
  const again = await workspace.serve(["--demo"]);
  await waitUntil(() => again.stdout().includes("KEY=$(storefront key create"), "how to create a key");
});

test("the package serves the console, without its source and the packages it's made of", async () => {
  const server = await workspace.serve(["--demo", "--admin", "127.0.0.1:0"]);
  await expectConsole(workspace, server, "demo");
  expect(existsSync(join(home, "src/console"))).toBe(false);
  expect(readdirSync(join(home, "dist/console")).sort()).toEqual(["console.js.LICENSE.txt", "console.scripts"]);
  expect(packagesIn(home).filter(({ name }) => /^(react|ra-|@mdi|@mui|@emotion|@tanstack)/.test(name))).toEqual([]);
});

test("the package reads no settings from files in the folder it's started in, and runs no code there", async () => {
  writeFileSync(workspace.file(".env"), "STOREFRONT_RATE=many\n");
  writeFileSync(workspace.file("bunfig.toml"), 'preload = ["./preload.ts"]\n');
  writeFileSync(workspace.file("preload.ts"), `await Bun.write("${workspace.file("loaded")}", "");\n`);
  const installed = openWorkspace(workspace.database, [
    "sh",
    "-c",
    `cd "${workspace.folder}" && exec node "$0" "$@"`,
    program,
  ]);
  try {
    const server = await installed.serve(["--workers", "2"]);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    server.kill();
    expect(await server.exited).toBe(0);
  } finally {
    await installed.close();
  }
  expect(existsSync(workspace.file("loaded"))).toBe(false);
});

test("the package is at most 2.5 MB", () => {
  expect(packedBytes).toBeLessThan(2_500_000);
});

test("the package has the changelog, but no test sources and no pictures", () => {
  expect([...new Bun.Glob("docs/**/*.{jpg,png}").scanSync(home)]).toEqual([]);
  expect(readFileSync(join(home, "CHANGELOG.md"), "utf8")).toContain("## [Unreleased]");
  expect(["test", "bench", "scripts"].filter((name) => existsSync(join(home, name)))).toEqual([]);
});

test("the package contains all its dependencies in the locked versions, except Bun, whose exact version it names", () => {
  const { dependencies, bundleDependencies } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  expect(Object.keys(dependencies).filter((name) => !bundleDependencies.includes(name))).toEqual(["bun"]);
  expect(Object.values(dependencies).filter((range) => !/^\d+\.\d+\.\d+$/.test(range as string))).toEqual([]);
  const bundled = packagesIn(home);
  expect(bundleDependencies.filter((name: string) => !bundled.some((each) => each.name === name))).toEqual([]);
  const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  expect(bundled.filter(({ path, version }) => locked[path]?.version !== version)).toEqual([]);
});

test("npm finds nothing to run when it installs the package from a file", () => {
  const { scripts } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  expect(["preinstall", "install", "postinstall", "prepare"].filter((name) => name in scripts)).toEqual([]);
});

test("the package only contains packages with a known licence, none of which runs anything when installed", () => {
  const bundled = packagesIn(home);
  expect(bundled.filter(({ license }) => !knownLicences.includes(String(license)))).toEqual([]);
  expect(bundled.filter(({ installScripts }) => installScripts.length > 0)).toEqual([]);
});
