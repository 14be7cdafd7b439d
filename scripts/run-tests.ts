// Runs Bun's test runner. Test files share a folder and, if any of them needs it, a PostgreSQL server.
//
// Unless you name files, it leaves out the slow tests (`npm run test:slow`). It leaves out the package tests (`npm run test:package`) unless you name their
// folder, because their builds take long and few changes concern them.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runFolder } from "../test/support/console/shared-script.ts";
import { sharedPort } from "../test/support/postgres/databases.ts";
import { startPostgres } from "../test/support/postgres/server.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const preload = join(root, "test/support/property-seed.ts");
const slow = "test/slow/";
const packages = "test/packaging/";
/** The slowest folders. They start first until test times have been measured. */
const startFirst = ["test/console/pages/", "test/command-line/", "test/docs/", "test/client/", "test/operator/"];

const args = process.argv.slice(2);
const files = [...new Bun.Glob("test/**/*.test.ts").scanSync(root)].filter((file) => !file.includes("node_modules/"));
const selects = args.filter((arg) => !arg.startsWith("-") && files.some((file) => `./${file}`.includes(arg)));
const leftOut = [
  ...(selects.some((arg) => arg.includes("test/packaging")) ? [] : [packages]),
  ...(selects.length === 0 ? [slow] : []),
];
const isLeftOut = (file: string) => leftOut.some((folder) => file.startsWith(folder));
const selected = files.filter(
  (file) => !isLeftOut(file) && (selects.length === 0 || selects.some((arg) => `./${file}`.includes(arg))),
);

const folder = mkdtempSync(join(tmpdir(), "storefront-test-run-"));
const server = needsPostgres(selected) ? await startPostgres({ settings: { max_connections: "500" } }) : undefined;
try {
  const ignored = leftOut.flatMap((each) => ["--path-ignore-patterns", `${each}**`]);
  const timings = ["--timings", timingsFile(), "--update-timings"];
  const tests = Bun.spawn([process.execPath, "test", ...timings, "--preload", preload, ...ignored, ...args], {
    env: { ...process.env, ...(server && { [sharedPort]: String(server.port) }), [runFolder]: folder },
    stdio: ["ignore", "inherit", "inherit"],
  });
  process.exitCode = await tests.exited;
} finally {
  await server?.remove();
  rmSync(folder, { recursive: true, force: true });
}
if (leftOut.includes(slow)) {
  const count = files.filter((file) => file.startsWith(slow)).length;
  console.log(`${count} slow files weren't run; use npm run test:slow for these`);
}

/** Returns the file with each test file's last duration, which lets Bun start the slowest first. */
function timingsFile(): string {
  const file = join(root, "node_modules/.cache/storefront/test-timings.json");
  if (!existsSync(file)) {
    const guess = (name: string) =>
      startFirst.some((each) => name.replace("slow/", "").startsWith(each)) ? 5000 : 1000;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(
      file,
      JSON.stringify({ version: 1, files: Object.fromEntries(files.map((name) => [name, guess(name)])) }),
    );
  }
  return file;
}

/** Whether any of the test files imports the shared server's databases, directly or indirectly. */
function needsPostgres(tests: readonly string[]): boolean {
  const found = new Set(tests.map((file) => join(root, file)));
  for (const file of found)
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/\bfrom "(\.{1,2}\/[^"]+)"/g)) {
      const imported = join(dirname(file), path);
      if (imported.includes("/test/") && existsSync(imported)) found.add(imported);
    }
  return [...found].some((file) => file.endsWith("/test/support/postgres/databases.ts"));
}
