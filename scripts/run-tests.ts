// Runs Bun's test runner with these arguments. The test files share a PostgreSQL server and a folder. Test files that took long in earlier runs start
// first; `npm test -- --update-timings` saves how long each file takes now.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPostgres } from "../test/support/postgres.ts";
import { sharedPort } from "../test/support/postgres-databases.ts";
import { runFolder } from "../test/support/shared-script.ts";

const timings = fileURLToPath(new URL("../test/timings.json", import.meta.url));
const preload = fileURLToPath(new URL("../test/support/property-seed.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "storefront-test-run-"));
const server = await startPostgres({ settings: { max_connections: "500" } });
try {
  const command = [process.execPath, "test", "--timings", timings, "--preload", preload, ...process.argv.slice(2)];
  const tests = Bun.spawn(command, {
    env: { ...process.env, [sharedPort]: String(server.port), [runFolder]: folder },
    stdio: ["ignore", "inherit", "inherit"],
  });
  process.exitCode = await tests.exited;
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
