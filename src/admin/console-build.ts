// Bundles the scripts of the console: for the package and the executable when they are built, and in a checkout at the first request.

import { fileURLToPath } from "node:url";
import { type BundledPackage, bundledPackages, toNotices } from "./licences.ts";

/** The variable whose value `production` makes React leave out its checks for developers. */
const environmentName = ["process", "env", "NODE_ENV"].join(".");

/** The path of the script's entry point. The file exists only in a checkout, not in the package or the executable. */
export const consoleEntry: string = fileURLToPath(new URL("../console/main.tsx", import.meta.url));

/** The path of the entry point of the worker that reads workbooks. Browsers load its script only for such a file. */
export const workbookEntry: string = fileURLToPath(new URL("../console/import/workbook-worker.ts", import.meta.url));

/** The URL path of the licences. Bundlers use this name for the licences of a script. */
export const noticesPath = "/console.js.LICENSE.txt";

interface BuiltConsole {
  readonly script: string;
  readonly workbookScript: string;
  readonly notices: string;
  readonly packages: readonly BundledPackage[];
}

/**
 * Bundles src/console and everything that it imports into two scripts.
 * @throws AggregateError with the errors in the source, or Error about the licence of a package in the scripts
 */
export async function buildConsole(): Promise<BuiltConsole> {
  const [main, workbook] = await Promise.all([bundle(consoleEntry), bundle(workbookEntry)]);
  const packages = bundledPackages([...main.files, ...workbook.files]);
  return { script: main.script, workbookScript: workbook.script, notices: toNotices(packages), packages };
}

/** Bundles the script that begins with `entry`. Returns it with the paths of the source files in it. */
async function bundle(entry: string): Promise<{ readonly script: string; readonly files: readonly string[] }> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: [entry],
    target: "browser",
    minify: true,
    metafile: true,
    banner: `/*! For license information please see ${noticesPath.slice(1)} */`,
    define: { [environmentName]: JSON.stringify("production") },
  });
  const [script] = outputs;
  if (!script || !metafile) throw new Error("the console was not built");
  return { script: await script.text(), files: filesIn(metafile) };
}

function filesIn({ outputs }: Bun.BuildMetafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
}
