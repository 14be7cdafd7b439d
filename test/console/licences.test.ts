// The admin listener serves the licences of all packages in the script of the console.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { loadScript } from "../../src/admin/console.ts";
import { buildConsole, consoleEntry } from "../../src/admin/console-build.ts";
import { bundledPackages } from "../../src/admin/licences.ts";
import { once } from "../../src/lib/concurrency.ts";
import { noticesOf } from "../support/console/script.ts";
import { startTestConsole, type TestConsole } from "../support/console/server.ts";

const root = resolve(import.meta.dir, "../..");

/** Returns the folders of the packages in the script's source map. The bundler creates it separately from the list from which the licences derive. */
async function foldersInSourceMap(): Promise<string[]> {
  const { outputs } = await Bun.build({
    entrypoints: [consoleEntry],
    target: "browser",
    minify: true,
    sourcemap: "external",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const map = outputs.find(({ kind }) => kind === "sourcemap");
  const { sources } = JSON.parse((await map?.text()) ?? "{}") as { sources: string[] };
  const folders = sources.flatMap((source) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(source)?.[0] ?? []);
  return [...new Set(folders)].map((folder) => join(root, folder.slice(folder.indexOf("node_modules/"))));
}

describe("the licences of the script", () => {
  let server: TestConsole;
  let notices: string;
  let folders: readonly string[];
  beforeAll(async () => {
    [server, folders] = await Promise.all([startTestConsole({ loadScript: once(loadScript) }), foldersInSourceMap()]);
    notices = await noticesOf(server.adminUrl);
  });
  afterAll(() => server.stop());

  test("have the text of every package in the script, and need no session", () => {
    expect(folders.length).toBeGreaterThan(20);
    const missing = folders.filter((folder) => {
      const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const [file = ""] = new Bun.Glob("{LICEN[CS]E,licen[cs]e,Licen[cs]e}*").scanSync(folder);
      const text = readFileSync(join(folder, file), "utf8").trim();
      return !notices.includes(`\n${name} ${version} (`) || !notices.includes(text);
    });
    expect(missing).toEqual([]);
  });

  test("are only those of packages in the script, and only permissive licences", async () => {
    const { packages } = await buildConsole();
    expect(packages.map(({ folder }) => folder)).toEqual(folders.toSorted());
    expect([...new Set(packages.map(({ license }) => license))].sort()).toEqual(["Apache-2.0", "BSD-3-Clause", "MIT"]);
  });

  test("are served as text, only on the admin listener", async () => {
    const path = "/console.js.LICENSE.txt";
    const response = await fetch(new URL(path, server.adminUrl));
    expect(response.headers.get("Content-Type")).toBe("text/plain; charset=utf-8");
    expect((await fetch(new URL(path, server.url))).status).toBe(404);
  });
});

describe("a package in the script", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "storefront-bundled-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Installs a package and returns the path of a file in it. */
  function install(name: string, license: string | undefined, files: Record<string, string>): string {
    const place = join(folder, "node_modules", name);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, "package.json"), JSON.stringify({ name, version: "1.0.0", ...(license && { license }) }));
    for (const [file, text] of Object.entries(files)) writeFileSync(join(place, file), text);
    return join(place, "index.js");
  }

  test.each([
    ["has no licence file", "MIT", { "README.md": "MIT" }, "without a licence text: @web/view"],
    ["is under GPL-3.0", "GPL-3.0", { LICENSE: "text" }, "we don't accept: @web/view (GPL-3.0)"],
    [
      "is also under LGPL-2.1",
      "MIT AND LGPL-2.1",
      { LICENSE: "text" },
      "we don't accept: @web/view (MIT AND LGPL-2.1)",
    ],
    ["does not name its licence", undefined, { LICENSE: "text" }, "we don't accept: @web/view (none)"],
  ] as const)("that %s makes the build fail", (_, license, files, message) => {
    const path = install("@web/view", license, files);
    expect(() => bundledPackages([path])).toThrow(message);
  });

  test("is listed with its notices, also if it is nested in another package; files of this program are not listed", () => {
    const outer = install("outer", "Apache-2.0", { LICENSE: "the licence", NOTICE: "the notice" });
    const inner = install("outer/node_modules/inner", "ISC", { "license.md": "of inner" });
    const found = bundledPackages([outer, inner, join(folder, "src/main.tsx")]);
    expect(found.map(({ name, text }) => [name, text])).toEqual([
      ["outer", "the licence\n\nthe notice"],
      ["outer/node_modules/inner", "of inner"],
    ]);
  });
});
