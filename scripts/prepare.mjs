// After `npm ci` in a checkout: builds the client, which the server offers at /docs/client.tgz. Without the development dependencies there is no
// compiler, and nothing to do. npm runs it as `postprepare`: it would warn those who install the package from a file of a `prepare` script.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

if (existsSync(path("node_modules/typescript/bin/tsc"))) {
  const built = spawnSync(process.execPath, [path("bin/bun.js"), path("scripts/build-client.ts")], {
    stdio: "inherit",
  });
  process.exit(built.status ?? 1);
}
