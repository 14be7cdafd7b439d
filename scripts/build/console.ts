// Builds the console's script and its licences in dist/console/. The package and the executable include these files; a checkout builds them when they're
// first requested. dist/console-packages.json lists the packages in the script, for a release's bill of materials.

import { mkdirSync, renameSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import { buildConsole, noticesPath } from "../../src/admin/console-build.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { script, notices, packages } = await buildConsole();
mkdirSync(join(root, "dist/console"), { recursive: true });
const size = await writeCompressed("dist/console/console.js.br", script);
await write(`dist/console${noticesPath}`, notices);
const listed = packages.map(({ folder, name, version, license }) => ({
  path: relative(root, folder),
  name,
  version,
  license,
}));
await write("dist/console-packages.json", `${JSON.stringify(listed, null, 2)}\n`);
console.error(`${size}\n${packages.length} packages`);

/** Writes a compressed script. Returns a line with its sizes. */
async function writeCompressed(path: string, script: string): Promise<string> {
  const compressed = (await compressedBefore(path, script)) ?? brotliCompressSync(script);
  await write(path, compressed);
  return `${path}: ${Buffer.byteLength(script)} bytes, compressed ${compressed.byteLength}`;
}

/** Returns the last build's compressed script if nothing has changed, because compressing takes longer than everything else. */
async function compressedBefore(path: string, script: string): Promise<Uint8Array | undefined> {
  try {
    const before = await Bun.file(join(root, path)).bytes();
    return brotliDecompressSync(before).equals(Buffer.from(script)) ? before : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the file under another name and renames it, so that no other process finds it incomplete. */
async function write(path: string, content: string | Uint8Array): Promise<void> {
  const unfinished = join(root, `${path}.${process.pid}`);
  await Bun.write(unfinished, content);
  renameSync(unfinished, join(root, path));
}
