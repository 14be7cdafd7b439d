// Prepares what `npm pack` needs besides the client and the console.
//
// - Writes this checkout's commit to dist/commit. A source tree without a repository keeps the file it has; without one, `storefront --version` says
//   `unknown`.
// - Removes bundled dependencies' tests, source maps and builds for browsers. npm packs bundled dependencies whole, and these files were half of the package.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { readBuild } from "../../src/build.ts";

const root = join(import.meta.dir, "../..");
const { commit } = readBuild();
await Bun.write(join(root, "dist/commit"), `${commit}\n`);
if (commit === "unknown")
  console.error("dist/commit: this isn't a Git repository, so the package won't know its commit");
const modules = join(root, "node_modules");
for (const folder of ["bintrees/test", "pino/test", "thread-stream/test", "yaml/browser"])
  rmSync(join(modules, folder), { recursive: true, force: true });
for (const name of ["marked", "numfmt"])
  for (const path of new Bun.Glob("**/*.map").scanSync(join(modules, name))) rmSync(join(modules, name, path));
