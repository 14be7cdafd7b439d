// Builds the console's scripts and their licences in dist/console/. The package and the executable include these files; a checkout builds them when they're
// first requested. dist/console-packages.json lists the packages in the scripts, for a release's bill of materials.

import { mkdirSync, renameSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { buildConsole, noticesPath, type PackedConsole, packConsole } from "../../src/admin/console-build.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const built = await buildConsole();
const folder = join(root, "dist/console");
mkdirSync(folder, { recursive: true });
const packed = (await packedBefore()) ?? (await packConsole(built, 11));
await write("dist/console/console.scripts", JSON.stringify(packed));
await write(`dist/console${noticesPath}`, built.notices);
const listed = built.packages.map(({ folder: path, name, version, license }) => ({
  path: relative(root, path),
  name,
  version,
  license,
}));
await write("dist/console-packages.json", `${JSON.stringify(listed, null, 2)}\n`);
const compressedSize = (name: string) => Buffer.from(packed.scripts[name] ?? "", "base64").byteLength;
for (const [name, script] of built.scripts)
  console.error(`${name}: ${Buffer.byteLength(script)} bytes, compressed ${compressedSize(name)}`);
console.error(`${listed.length} packages`);

/** Returns the last build's result if nothing has changed, because compressing takes longer than everything else. */
async function packedBefore(): Promise<PackedConsole | undefined> {
  try {
    const before: PackedConsole = await Bun.file(join(folder, "console.scripts")).json();
    // The names contain hashes of the contents.
    return Bun.deepEquals(Object.keys(before.scripts), [...built.scripts.keys()]) ? before : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the file under another name and renames it, so that no other process finds it incomplete. */
async function write(path: string, content: string): Promise<void> {
  const unfinished = join(root, `${path}.${process.pid}`);
  await Bun.write(unfinished, content);
  renameSync(unfinished, join(root, path));
}
