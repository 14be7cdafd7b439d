// Builds the single executable, for this machine or for the platforms that `--target` names: dist/storefront-<platform>.
// Its last lines on stdout are the paths.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { readBuild } from "../src/build.ts";
import { bunFor, ownPlatform, runtimes } from "./bun-runtimes.ts";

const root = join(import.meta.dir, "..");
const { values } = parseArgs({ options: { target: { type: "string", multiple: true }, outdir: { type: "string" } } });
const asked = values.target ?? [ownPlatform()];
const targets = asked.includes("all") ? Object.keys(runtimes) : asked;
const unknown = targets.filter((target) => !Object.hasOwn(runtimes, target));
if (unknown.length > 0) {
  console.error(`unknown target ${unknown.join(", ")}; there are ${Object.keys(runtimes).join(", ")}, and all`);
  process.exit(2);
}

// So that it contains the console of this source.
await import("./build-console.ts");
const paths: string[] = [];
for (const target of targets) paths.push(await build(target, values.outdir ?? join(root, "dist")));
console.log(paths.join("\n"));

/** Builds the executable of one platform in `folder`, and returns its path. */
async function build(target: string, folder: string): Promise<string> {
  const outfile = join(folder, `storefront-${target}`);
  await Bun.build({
    entrypoints: [join(root, "bin/executable.js"), join(root, "src/store/sqlite/worker.ts")],
    target: "bun",
    // All in one folder, so that the writer thread is found beside the file that starts it, as `./worker.ts`.
    naming: { entry: "[name].[ext]", chunk: "[name]-[hash].[ext]" },
    // So that the process that restarts itself at once does not have to parse the whole program before.
    splitting: true,
    define: { STOREFRONT_COMMIT: JSON.stringify(readBuild().commit) },
    compile: {
      executablePath: await bunFor(target),
      target: `bun-${target}` as Bun.Build.CompileTarget,
      outfile,
      // Files in the folder where an operator happens to be must not change what the program does.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  });
  return outfile;
}
