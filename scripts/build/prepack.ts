// Prepares what `npm pack` needs besides the client and the console.
//
// - Writes this checkout's commit to dist/commit. A source tree without a repository keeps the file it has; without one, `storefront --version` says
//   `unknown`.
// - Removes a bundled dependency's tests. npm packs bundled dependencies whole, and these tests were a third of the package.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { readBuild } from "../../src/build.ts";

const root = join(import.meta.dir, "../..");
const { commit } = readBuild();
await Bun.write(join(root, "dist/commit"), `${commit}\n`);
if (commit === "unknown")
  console.error("dist/commit: this isn't a Git repository, so the package won't know its commit");
rmSync(join(root, "node_modules/bintrees/test"), { recursive: true, force: true });
