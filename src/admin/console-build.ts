// Makes the script of the console, for the package and the executable, and in a checkout when it is first requested.

import { fileURLToPath } from "node:url";
import { type BundledPackage, bundledPackages, noticesPath, toNotices } from "./console-notices.ts";

/** The variable with which React leaves out what only developers need. */
const environmentName = ["process", "env", "NODE_ENV"].join(".");

/** Where the script begins. The package and the executable do not contain it. */
export const consoleEntry: string = fileURLToPath(new URL("../console/main.tsx", import.meta.url));

interface BuiltConsole {
  readonly script: string;
  /** The licences of the packages in it. */
  readonly notices: string;
  readonly packages: readonly BundledPackage[];
}

/**
 * Makes one script of src/console and all that it imports.
 * @throws AggregateError with what is wrong in the source, or Error about the licence of a package in it
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
  if (!script || !metafile) throw new Error("the console was not built");
  const packages = bundledPackages(filesIn(metafile));
  return { script: await script.text(), notices: toNotices(packages), packages };
}

/** The files of which something is in the script. */
function filesIn({ outputs }: Bun.BuildMetafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
}
