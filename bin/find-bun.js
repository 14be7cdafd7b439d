// Finds the Bun that `npm ci` installed, even if npm didn't run the install scripts.

import { existsSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

export const notInstalled =
  "Bun isn't installed, or this user isn't allowed to read it; run `npm ci` in a checkout, or install the package again";

/** Returns the path of Bun. @throws Error if it isn't installed */
export function findBun() {
  const home = dirname(require.resolve("bun/package.json"));
  const installed = ["bun.exe", "bun"].map((name) => join(home, "bin", name));
  const found = [...installed, ...platformBinaries(join(home, "..", "@oven"))].find(isExecutable);
  if (!found) throw new Error(notInstalled);
  return found;
}

function platformBinaries(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => ["bun", "bun.exe"].map((file) => join(folder, name, "bin", file)));
}

/** Until the install script has run, the package only has a placeholder of a few hundred bytes. */
function isExecutable(path) {
  return existsSync(path) && statSync(path).size > 1_000_000;
}
