// Writes the commit of this checkout into dist/commit, for the package. A source tree without a repository keeps the commit in that file. Without the
// file, `storefront --version` says `unknown`.

import { join } from "node:path";
import { readBuild } from "../../src/build.ts";

const { commit } = readBuild();
await Bun.write(join(import.meta.dir, "../../dist/commit"), `${commit}\n`);
if (commit === "unknown") console.error("dist/commit: there is no repository, so the package does not know its commit");
