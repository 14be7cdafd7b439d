// Runs Bun's test runner with these arguments. The test files share a PostgreSQL server and a folder. Test files that took long in earlier runs start
// first; `npm test -- --update-timings` saves how long each file takes now.
//
// `npm test` omits the folders of `npm run test:package`, unless an argument names one of these folders.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPostgres } from "../test/support/postgres.ts";
import { sharedPort } from "../test/support/postgres-databases.ts";
import { runFolder } from "../test/support/shared-script.ts";

const timings = fileURLToPath(new URL("../test/timings.json", import.meta.url));
const preload = fileURLToPath(new URL("../test/support/property-seed.ts", import.meta.url));
/** Tests of packages, of the executable and of generated code. They build what they test, so they need much CPU time, and few changes concern them. */
const packaging = ["test/packaging", "test/generated"];
const args = process.argv.slice(2);
const omitted = packaging.some((each) => args.some((arg) => arg.includes(each))) ? [] : packaging;
const folder = mkdtempSync(join(tmpdir(), "storefront-test-run-"));
const server = await startPostgres({ settings: { max_connections: "500" } });
try {
  const ignored = omitted.flatMap((each) => ["--path-ignore-patterns", `${each}/**`]);
  const command = [process.execPath, "test", "--timings", timings, "--preload", preload, ...ignored, ...args];
  const tests = Bun.spawn(command, {
    env: { ...process.env, [sharedPort]: String(server.port), [runFolder]: folder },
    stdio: ["ignore", "inherit", "inherit"],
  });
  process.exitCode = await tests.exited;
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
