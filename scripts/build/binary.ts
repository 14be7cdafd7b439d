// Builds the single executable dist/storefront-<platform>, for this machine or for the platforms given with `--target`. The last lines of output are the
// executables' paths.

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
  console.error(`unknown target ${unknown.join(", ")}; use ${Object.keys(runtimes).join(", ")} or all`);
  process.exit(2);
}

// Build the console first, so that the executable has this source's console.
await import("./console.ts");
const paths: string[] = [];
for (const target of targets) paths.push(await build(target, values.outdir ?? join(root, "dist")));
console.log(paths.join("\n"));

/** Builds a platform's executable in `folder`, and returns its path. */
async function build(target: string, folder: string): Promise<string> {
  const outfile = join(folder, `storefront-${target}`);
  await Bun.build({
    entrypoints: [
      "bin/executable.js",
      "src/store/sqlite/writer-thread-main.ts",
      "src/http/documentation-worker.ts",
    ].map((file) => join(root, file)),
    target: "bun",
    // Threads are started by names such as `./writer-thread-main.ts`, so all files have to be in one folder.
    naming: { entry: "[name].[ext]", chunk: "[name]-[hash].[ext]" },
    // The executable restarts itself right away. With several chunks, the first process doesn't parse the whole program.
    splitting: true,
    // Costs 9 MB, and halves the time to start.
    bytecode: true,
    format: "esm",
    define: {
      STOREFRONT_COMMIT: JSON.stringify(readBuild().commit),
      // Otherwise, Bun writes this checkout's path into the executable. pino only uses it for transports in other threads, which we don't have.
      __dirname: '"/"',
    },
    compile: {
      executablePath: await bunFor(target),
      target: `bun-${target}` as Bun.Build.CompileTarget,
      outfile,
      // Files in the operator's current folder mustn't change what the program does.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  });
  return outfile;
}
