// Runs Bun's test runner with these arguments. The test files share a folder and, if one of them needs it, a PostgreSQL server. Test files that took
// long in earlier runs start first; `npm test -- --update-timings` saves how long each file takes now.
//
// `npm test` omits the folders of `npm run test:package`, unless an argument names one of these folders.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runFolder } from "../test/support/console/shared-script.ts";
import { sharedPort } from "../test/support/postgres/databases.ts";
import { startPostgres } from "../test/support/postgres/server.ts";

const timings = fileURLToPath(new URL("../test/timings.json", import.meta.url));
const preload = fileURLToPath(new URL("../test/support/property-seed.ts", import.meta.url));
/** Tests of packages, of the executable and of generated code. Their builds need much CPU time, and few changes concern them. */
const packaging = ["test/packaging", "test/generated"];
const args = process.argv.slice(2);
const omitted = packaging.some((each) => args.some((arg) => arg.includes(each))) ? [] : packaging;
const folder = mkdtempSync(join(tmpdir(), "storefront-test-run-"));
const server = needsPostgres(selectTestFiles())
  ? await startPostgres({ settings: { max_connections: "500" } })
  : undefined;
const serverSettings = server && { [sharedPort]: String(server.port) };
try {
  const ignored = omitted.flatMap((each) => ["--path-ignore-patterns", `${each}/**`]);
  const command = [process.execPath, "test", "--timings", timings, "--preload", preload, ...ignored, ...args];
  const tests = Bun.spawn(command, {
    env: { ...process.env, ...serverSettings, [runFolder]: folder },
    stdio: ["ignore", "inherit", "inherit"],
  });
  process.exitCode = await tests.exited;
} finally {
  await server?.remove();
  rmSync(folder, { recursive: true, force: true });
}

/** Returns the test files whose path contains one of the arguments; all test files if no argument is part of a path. */
function selectTestFiles(): string[] {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const files = [...new Bun.Glob("test/**/*.test.ts").scanSync(root)].filter((file) => !file.includes("node_modules/"));
  const selected = files.filter((file) => args.some((arg) => !arg.startsWith("-") && `./${file}`.includes(arg)));
  return (selected.length > 0 ? selected : files).map((file) => join(root, file));
}

/** Whether one of the test files imports the databases on the shared server, directly or through other files of the tests. */
function needsPostgres(files: readonly string[]): boolean {
  const found = new Set(files);
  for (const file of found)
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/\bfrom "(\.{1,2}\/[^"]+)"/g)) {
      const imported = join(dirname(file), path);
      if (imported.includes("/test/") && existsSync(imported)) found.add(imported);
    }
  return [...found].some((file) => file.endsWith("/test/support/postgres/databases.ts"));
}
