// What `npm pack` needs besides the client and the console.
//
// - dist/commit: the commit of this checkout. A source tree without a repository keeps the commit in that file. Without the file, `storefront --version`
//   says `unknown`.
// - No tests of a bundled dependency: npm packs bundled dependencies whole, and these tests were a third of the package.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { readBuild } from "../../src/build.ts";

const root = join(import.meta.dir, "../..");
const { commit } = readBuild();
await Bun.write(join(root, "dist/commit"), `${commit}\n`);
if (commit === "unknown") console.error("dist/commit: there is no repository, so the package does not know its commit");
rmSync(join(root, "node_modules/bintrees/test"), { recursive: true, force: true });
