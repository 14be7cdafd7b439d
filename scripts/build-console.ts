// Builds the script of the console in dist/console: what the package and the executable serve. A checkout makes it when it is requested.

import { mkdirSync, renameSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { buildConsole } from "../src/admin/console-build.ts";

const folder = fileURLToPath(new URL("../dist/console", import.meta.url));
const place = `${folder}/console.js.br`;
const script = await buildConsole();
const compressed = brotliCompressSync(script);
mkdirSync(folder, { recursive: true });
// Renamed, so that no process finds half of it.
const unfinished = `${place}.${process.pid}`;
await Bun.write(unfinished, compressed);
renameSync(unfinished, place);
console.error(`dist/console/console.js.br: ${Buffer.byteLength(script)} bytes, compressed ${compressed.byteLength}`);
