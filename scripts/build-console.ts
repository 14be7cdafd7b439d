// Builds the script of the console and its licences in dist/console/. The package and the executable contain these files; a checkout builds them at
// the first request. dist/console-packages.json lists the packages in the script, for the bill of materials of a release.

import { mkdirSync, renameSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import { buildConsole, noticesPath } from "../src/admin/console-build.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { script, notices, packages } = await buildConsole();
const compressed = (await compressedBefore()) ?? brotliCompressSync(script);
mkdirSync(join(root, "dist/console"), { recursive: true });
await write("dist/console/console.js.br", compressed);
await write(`dist/console${noticesPath}`, notices);
const listed = packages.map(({ folder, name, version, license }) => ({
  path: relative(root, folder),
  name,
  version,
  license,
}));
await write("dist/console-packages.json", `${JSON.stringify(listed, null, 2)}\n`);
console.error(
  `dist/console/console.js.br: ${Buffer.byteLength(script)} bytes, compressed ${compressed.byteLength}, of ${packages.length} packages`,
);

/** Returns the compressed script of the last build if the script has not changed, because compressing it takes longer than everything else. */
async function compressedBefore(): Promise<Uint8Array | undefined> {
  try {
    const before = await Bun.file(join(root, "dist/console/console.js.br")).bytes();
    return brotliDecompressSync(before).equals(Buffer.from(script)) ? before : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a file under another name, and then renames it, so that no other process finds an incomplete file. */
async function write(path: string, content: string | Uint8Array): Promise<void> {
  const unfinished = join(root, `${path}.${process.pid}`);
  await Bun.write(unfinished, content);
  renameSync(unfinished, join(root, path));
}
