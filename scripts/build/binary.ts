// Builds the single executable dist/storefront-<platform>, for this machine or for the platforms that `--target` names. The last lines on stdout are
// the paths of the executables.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { readBuild } from "../../src/build.ts";
import { bunFor, ownPlatform, runtimes } from "./bun-runtimes.ts";

const root = join(import.meta.dir, "../..");
const { values } = parseArgs({ options: { target: { type: "string", multiple: true }, outdir: { type: "string" } } });
const asked = values.target ?? [ownPlatform()];
const targets = asked.includes("all") ? Object.keys(runtimes) : asked;
const unknown = targets.filter((target) => !Object.hasOwn(runtimes, target));
if (unknown.length > 0) {
  console.error(`unknown target ${unknown.join(", ")}; there are ${Object.keys(runtimes).join(", ")}, and all`);
  process.exit(2);
}

// Build the console first, so that the executable contains the console of this source.
await import("./console.ts");
const paths: string[] = [];
for (const target of targets) paths.push(await build(target, values.outdir ?? join(root, "dist")));
console.log(paths.join("\n"));

/** Builds the executable for one platform in `folder`, and returns its path. */
async function build(target: string, folder: string): Promise<string> {
  const outfile = join(folder, `storefront-${target}`);
  await Bun.build({
    entrypoints: [
      "bin/executable.js",
      "src/store/sqlite/writer-thread-main.ts",
      "src/http/documentation-worker.ts",
    ].map((file) => join(root, file)),
    target: "bun",
    // All files are in one folder, because threads are started by names such as `./writer-thread-main.ts`.
    naming: { entry: "[name].[ext]", chunk: "[name]-[hash].[ext]" },
    // The executable restarts itself at once. With several chunks, the first process does not parse the whole program.
    splitting: true,
    define: { STOREFRONT_COMMIT: JSON.stringify(readBuild().commit) },
    compile: {
      executablePath: await bunFor(target),
      target: `bun-${target}` as Bun.Build.CompileTarget,
      outfile,
      // Files in the operator's current folder must not change the behaviour of the program.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  });
  return outfile;
}
