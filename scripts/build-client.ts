// Builds the client package in dist/client, and as an archive in dist/client.tgz; or only in the folder given as argument.

import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { version } from "../package.json" with { type: "json" };
import { toTar } from "./tar.ts";

const source = fileURLToPath(new URL("../src/client", import.meta.url));
const own = fileURLToPath(new URL("../dist/client", import.meta.url));
const target = process.argv[2] ?? own;
const tsc = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));

// Nothing of an earlier build may be in the archive.
if (target === own) rmSync(own, { recursive: true, force: true });
const built = Bun.spawnSync(["node", tsc, "--project", source, "--outDir", target], {
  stdio: ["ignore", "inherit", "inherit"],
});
if (built.exitCode !== 0) process.exit(1);
mkdirSync(target, { recursive: true });
// The compiler does not rewrite `./send.ts` in declarations, and older compilers do not resolve it.
for (const name of readdirSync(target).filter((file) => file.endsWith(".d.ts"))) {
  const declaration = await Bun.file(`${target}/${name}`).text();
  await Bun.write(`${target}/${name}`, declaration.replace(/(from "\.\/[a-z-]+)\.ts"/g, '$1.js"'));
}
cpSync(`${source}/README.md`, `${target}/README.md`);
const manifest = await Bun.file(`${source}/package.json`).json();
await Bun.write(`${target}/package.json`, `${JSON.stringify({ ...manifest, version }, null, 2)}\n`);

if (target === own) await Bun.write(`${own}.tgz`, Bun.gzipSync(archiveOf(own), { level: 9 }));

/** The package as npm reads it: every file under `package/`. */
function archiveOf(folder: string): Uint8Array<ArrayBuffer> {
  return toTar(new Map(readdirSync(folder).map((name) => [`package/${name}`, readFileSync(`${folder}/${name}`)])));
}
