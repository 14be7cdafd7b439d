// Builds the client, which the server offers at /docs/client.tgz, after `npm ci` in a checkout. Without the development dependencies, there's no compiler, and
// the script does nothing. It's a `postprepare` script, because npm would warn users about a `prepare` script when they install the package from a file.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

if (existsSync(path("node_modules/typescript/bin/tsc"))) {
  const built = spawnSync(process.execPath, [path("bin/bun.js"), path("scripts/build/client.ts")], {
    stdio: "inherit",
  });
  process.exit(built.status ?? 1);
}
