// `npm run check:package` installs the server's package with npm as users do: into an empty folder, and globally, as root and as another user. npm downloads
// Bun from the registry.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { readBuild } from "../../src/build.ts";
import { expectConsole } from "../../test/support/console/sign-in.ts";
import { openWorkspace } from "../../test/support/programs/command.ts";
import { documentsThatDiffer } from "../../test/support/programs/documents.ts";
import { knownLicences, pack, packagesIn, runOutside, unpack } from "../../test/support/programs/packing.ts";

const root = join(import.meta.dir, "../..");
const place = mkdtempSync(join(tmpdir(), "storefront-install-"));
const isRoot = process.getuid?.() === 0;
const quietly = ["--no-audit", "--no-fund", "--loglevel=error"];
let file: string;
beforeAll(async () => {
  chmodSync(place, 0o755);
  file = await pack(root, place);
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

describe("in an empty folder", () => {
  const project = join(place, "project");
  beforeAll(async () => {
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{ "name": "project", "version": "1.0.0", "private": true }\n');
    await runOutside(["npm", "install", ...quietly, file], project);
  });

  test("takes less than 130 MB and 40 packages", () => {
    const size = sizeOf(project);
    console.log(`${packagesIn(project).length} packages, ${(size / 1e6).toFixed(1)} MB`);
    expect(packagesIn(project).length).toBeLessThan(40);
    expect(size).toBeLessThan(130e6);
  });

  test("every licence is known, and only Bun runs an install script", () => {
    const installed = packagesIn(project);
    expect(installed.filter(({ license }) => !knownLicences.includes(String(license)))).toEqual([]);
    expect(installed.filter(({ installScripts }) => installScripts.length > 0).map(({ name }) => name)).toEqual([
      "bun",
    ]);
  });

  test("the tree is valid, so that npm can make a bill of materials", async () => {
    const bill = JSON.parse(await runOutside(["npm", "sbom", "--sbom-format=cyclonedx", "--loglevel=error"], project));
    expect(bill.components.length).toBeGreaterThan(20);
  });

  test("works", () => expectWhole(join(project, "node_modules/.bin/storefront"), []));
});

test("works without install scripts", async () => {
  const project = join(place, "without-scripts");
  mkdirSync(project);
  await runOutside(["npm", "install", ...quietly, "--ignore-scripts", "--omit=dev", file], project);
  await expectWhole(join(project, "node_modules/.bin/storefront"), []);
});

test("packed from a source tree without a repository: works, but doesn't know its commit", async () => {
  const source = join(place, "source");
  mkdirSync(source);
  await runOutside(["sh", "-c", `git archive HEAD | tar -x -C "${source}"`], root);
  // npm would pack the targets of symbolic links.
  const copy = (option: string) => `cp ${option} "${root}/node_modules" "${source}/node_modules"`;
  await runOutside(["sh", "-c", `${copy("-al")} || { rm -rf "${source}/node_modules"; ${copy("-a")}; }`], root);
  const packed = await pack(source, source);
  const unpacked = join(place, "unpacked");
  await unpack(packed, unpacked);
  expect(readFileSync(join(unpacked, "dist/commit"), "utf8")).toBe("unknown\n");
});

describe.each([
  ["this user", []],
  // `nobody` and its group.
  ["an unprivileged user", ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]],
])("installed globally by %s", (name, as) => {
  test.skipIf(as.length > 0 && !isRoot)("works", async () => {
    const prefix = join(place, name.replaceAll(" ", "-"));
    mkdirSync(prefix, { mode: 0o777 });
    chmodSync(prefix, 0o777);
    const settings = [`--prefix=${prefix}`, `--cache=${join(prefix, "cache")}`];
    const install = ["env", `HOME=${prefix}`, "npm", "install", "--global", ...quietly, ...settings, file];
    await runOutside([...as, ...install], place);
    const home = join(prefix, "lib/node_modules/storefront-server");
    expect(existsSync(join(home, "CHANGELOG.md"))).toBe(true);
    await expectWhole(join(prefix, "bin/storefront"), as);
  });
});

test.skipIf(!isRoot)("installed globally by root, it works for an unprivileged user", async () => {
  const program = join(place, "this-user/bin/storefront");
  await expectWhole(program, ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
});

/** Tries an installed package's command line, demo and console. @param as runs a command as another user */
async function expectWhole(program: string, as: readonly string[]): Promise<void> {
  const workspace = openWorkspace(undefined, [...as, "env", `PATH=${process.env.PATH}`, program]);
  chmodSync(workspace.folder, 0o777);
  try {
    expect(await workspace.mustRun(["--version"])).toBe(`${version} (${readBuild().commit})\n`);
    const server = await workspace.serve(["--demo", "--workers", "2", "--admin", "127.0.0.1:0"]);
    expect(await documentsThatDiffer(server.url)).toEqual([]);
    await expectConsole(workspace, server, "demo");
    server.kill();
    expect(await server.exited).toBe(0);
    await workspace.mustRun(["check"]);
  } finally {
    await workspace.close();
  }
}

/** Bytes of the files in `folder`. A file with two names counts once. */
function sizeOf(folder: string, seen = new Set<number>()): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sum + sizeOf(path, seen);
    const { ino, size } = lstatSync(path);
    if (seen.has(ino)) return sum;
    seen.add(ino);
    return sum + size;
  }, 0);
}
