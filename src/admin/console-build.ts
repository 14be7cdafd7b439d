// Bundles the console's script: when the package or executable is built, and in a checkout on the first request.

import { fileURLToPath } from "node:url";
import { type BundledPackage, bundledPackages, toNotices } from "./licences.ts";

/** With `production`, React leaves out its development checks. */
const environmentName = ["process", "env", "NODE_ENV"].join(".");

/** Only exists in a checkout, not in the package or the executable. */
export const consoleEntry: string = fileURLToPath(new URL("../console/main.tsx", import.meta.url));

/** URL path of the licences, by the usual name for those of a script. */
export const noticesPath = "/console.js.LICENSE.txt";

interface BuiltConsole {
  readonly script: string;
  readonly notices: string;
  readonly packages: readonly BundledPackage[];
}

/**
 * Bundles src/console and everything it imports into one script.
 * @throws AggregateError with errors in the source, or Error about the licence of a bundled package
 */
export async function buildConsole(): Promise<BuiltConsole> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: [consoleEntry],
    target: "browser",
    minify: true,
    metafile: true,
    banner: `/*! For license information please see ${noticesPath.slice(1)} */`,
    define: { [environmentName]: JSON.stringify("production") },
  });
  const [script] = outputs;
  if (!script || !metafile) throw new Error("the console couldn't be built");
  const packages = bundledPackages(filesIn(metafile));
  return { script: await script.text(), notices: toNotices(packages), packages };
}

/** Returns the paths of the script's source files. */
function filesIn({ outputs }: Bun.BuildMetafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
}
