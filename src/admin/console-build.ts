// Bundles the console's scripts: when the package or executable is built, and in a checkout on the first request.

import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { type BundledPackage, bundledPackages, toNotices } from "./licences.ts";

/** With `production`, React leaves out its development checks. */
const environmentName = ["process", "env", "NODE_ENV"].join(".");

/** Only exists in a checkout, not in the package or the executable. */
export const consoleEntry: string = fileURLToPath(new URL("../console/main.tsx", import.meta.url));

/** URL path of the licences, by the usual name for those of a script. */
export const noticesPath = "/console.js.LICENSE.txt";

/** The scripts in a single JSON file, because the executable can't contain files whose names aren't known in advance. */
export interface PackedConsole {
  /** The script that the page loads. It has what most pages need, and loads the others. */
  readonly entry: string;
  /** Each script by its name, which contains a hash of the content: compressed with Brotli, in Base64. */
  readonly scripts: Readonly<Record<string, string>>;
  readonly notices: string;
}

interface BuiltConsole {
  readonly entry: string;
  /** By name. */
  readonly scripts: ReadonlyMap<string, string>;
  readonly notices: string;
  readonly packages: readonly BundledPackage[];
}

/**
 * Bundles src/console and everything it imports. Each dynamic import becomes a script of its own.
 * @throws AggregateError with errors in the source, or Error about the licence of a bundled package
 */
export async function buildConsole(): Promise<BuiltConsole> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: [consoleEntry],
    target: "browser",
    splitting: true,
    naming: { entry: "main-[hash].[ext]", chunk: "[hash].[ext]" },
    minify: true,
    metafile: true,
    banner: `/*! For license information please see ${noticesPath.slice(1)} */`,
    define: { [environmentName]: JSON.stringify("production") },
  });
  const texts = outputs.map(async (output) => [basename(output.path), await output.text()] as const);
  const scripts = new Map(await Promise.all(texts));
  const entry = [...scripts.keys()].find((name) => name.startsWith("main-"));
  if (!entry || !metafile) throw new Error("the console couldn't be built");
  const packages = bundledPackages(filesIn(metafile));
  return { entry, scripts, notices: toNotices(packages), packages };
}

/** @param quality of the compression, up to 11, which takes seconds */
export async function packConsole({ entry, scripts, notices }: BuiltConsole, quality: number): Promise<PackedConsole> {
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: quality } };
  const packed = [...scripts].map(async ([name, script]) => {
    const compressed = await promisify(brotliCompress)(script, options);
    return [name, compressed.toString("base64")] as const;
  });
  return { entry, scripts: Object.fromEntries(await Promise.all(packed)), notices };
}

/** Returns the paths of the scripts' source files. */
function filesIn({ outputs }: Bun.BuildMetafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
}
