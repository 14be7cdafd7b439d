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
const startEntry = fileURLToPath(new URL("../console/start.ts", import.meta.url));

/** URL path of the licences, by the usual name for those of a script. */
export const noticesPath = "/console.js.LICENSE.txt";

interface ConsoleParts {
  /** What the page runs: `start`, then `main`. */
  readonly entries: readonly string[];
  /** What these two import, directly or indirectly. */
  readonly imported: readonly string[];
  readonly notices: string;
}

interface BuiltConsole extends ConsoleParts {
  /** By name, which contains a hash of the content. */
  readonly scripts: ReadonlyMap<string, string>;
  readonly packages: readonly BundledPackage[];
}

/** In a single JSON file, because the executable can't contain files whose names aren't known in advance. */
export interface PackedConsole extends ConsoleParts {
  /** By name: compressed with Brotli, in Base64. */
  readonly scripts: Readonly<Record<string, string>>;
}

/**
 * Bundles src/console and everything it imports. Each dynamic import becomes a script of its own.
 * @throws AggregateError with errors in the source, or Error about the licence of a bundled package
 */
export async function buildConsole(): Promise<BuiltConsole> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: [startEntry, consoleEntry],
    target: "browser",
    splitting: true,
    naming: { entry: "[name]-[hash].[ext]", chunk: "[hash].[ext]" },
    minify: true,
    metafile: true,
    banner: `/*! For license information please see ${noticesPath.slice(1)} */`,
    define: { [environmentName]: JSON.stringify("production") },
  });
  if (!metafile) throw new Error("the console couldn't be built");
  const entries = ["start", "main"].map(
    (name) => outputs.find(({ path }) => path.startsWith(`./${name}-`))?.path ?? "",
  );
  const texts = outputs.map(async (output) => [basename(output.path), await output.text()] as const);
  const packages = bundledPackages(filesIn(metafile));
  return {
    entries: entries.map((path) => basename(path)),
    imported: [...importsOf(entries, metafile)].map((path) => basename(path)),
    scripts: new Map(await Promise.all(texts)),
    notices: toNotices(packages),
    packages,
  };
}

/** Returns the paths of the scripts that `entries` import, directly or indirectly. */
function importsOf(entries: readonly string[], { outputs }: Bun.BuildMetafile): Set<string> {
  const found = new Set(entries);
  for (const path of found)
    for (const { path: imported, kind } of outputs[path]?.imports ?? [])
      if (kind === "import-statement") found.add(imported);
  return found.difference(new Set(entries));
}

/** @param quality of the compression, up to 11, which takes seconds */
export async function packConsole(
  { entries, imported, notices, scripts }: BuiltConsole,
  quality: number,
): Promise<PackedConsole> {
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: quality } };
  const packed = [...scripts].map(async ([name, script]) => {
    const compressed = await promisify(brotliCompress)(script, options);
    return [name, compressed.toString("base64")] as const;
  });
  return { entries, imported, notices, scripts: Object.fromEntries(await Promise.all(packed)) };
}

/** Returns the paths of the scripts' source files. */
function filesIn({ outputs }: Bun.BuildMetafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
}
