// Builds the client package in dist/client, or in the folder given as argument.

import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { version } from "../package.json" with { type: "json" };

const source = fileURLToPath(new URL("../src/client", import.meta.url));
const target = process.argv[2] ?? fileURLToPath(new URL("../dist/client", import.meta.url));
const tsc = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));

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
