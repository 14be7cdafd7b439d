// Builds the client package in dist/client and as the archive dist/client.tgz; with an argument, only in that folder.
//
// A released client has the program's version. Any other build's version ends in a digest of its contents, so a version always means the same bytes, and
// `/docs/client-<version>.tgz` can be cached and pinned.

import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { fileURLToPath } from "node:url";
import { version } from "../../package.json" with { type: "json" };

/** npm gives every file in a package this time: 1985-10-26 08:15 UTC. */
const packageTime = Date.UTC(1985, 9, 26, 8, 15) / 1000;
const source = fileURLToPath(new URL("../../src/client", import.meta.url));
const own = fileURLToPath(new URL("../../dist/client", import.meta.url));
const isOwn = process.argv[2] === undefined;
mkdirSync(fileURLToPath(new URL("../../dist", import.meta.url)), { recursive: true });
// Build in a temporary folder, so that no earlier build's files end up in the archive, and no other process finds it incomplete.
const target = process.argv[2] ?? mkdtempSync(`${own}-`);
if (isOwn) chmodSync(target, 0o755);
const tsc = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));

const built = Bun.spawnSync(["node", tsc, "--project", source, "--outDir", target], {
  stdio: ["ignore", "inherit", "inherit"],
});
if (built.exitCode !== 0) {
  if (isOwn) rmSync(target, { recursive: true, force: true });
  process.exit(1);
}
mkdirSync(target, { recursive: true });
// The compiler doesn't rewrite imports such as `./send.ts` in declarations, and older compilers can't resolve them.
for (const name of readdirSync(target).filter((file) => file.endsWith(".d.ts"))) {
  const declaration = await Bun.file(`${target}/${name}`).text();
  await Bun.write(`${target}/${name}`, declaration.replace(/(from "\.\/[a-z-]+)\.ts"/g, '$1.js"'));
}
cpSync(fileURLToPath(new URL("../../LICENSE", import.meta.url)), `${target}/LICENSE`);
// The pages aren't in the package, but every server has them.
const readme = await Bun.file(`${source}/README.md`).text();
const toDocs = /\[([^\]]+)\]\(\.\.\/\.\.\/docs\/([a-z-]+)\.md(#[a-z-]+)?\)/g;
await Bun.write(`${target}/README.md`, readme.replace(toDocs, "$1 (`/docs/$2$3` on the server)"));
const manifest = await Bun.file(`${source}/package.json`).json();
await writeManifest(version);
if (!isRelease()) await writeManifest(`${version}-dev-${digestOf(archiveOf(target))}`);

if (isOwn) await install();

function writeManifest(itsVersion: string): Promise<number> {
  return Bun.write(`${target}/package.json`, `${JSON.stringify({ ...manifest, version: itsVersion }, null, 2)}\n`);
}

/** Whether this is a release's checkout, where `npm run release` has written the version to dist/released. */
function isRelease(): boolean {
  const file = fileURLToPath(new URL("../../dist/released", import.meta.url));
  return existsSync(file) && readFileSync(file, "utf8").trim() === version;
}

/** The first 12 hexadecimal digits of SHA-256. */
function digestOf(bytes: Uint8Array<ArrayBuffer>): string {
  return Bun.SHA256.hash(bytes, "hex").slice(0, 12);
}

/** Moves the build to dist/, unless the same build is there already, because other processes may be reading it. */
async function install(): Promise<void> {
  const archive = Bun.gzipSync(archiveOf(target), { level: 9 });
  const place = `${own}.tgz`;
  const isThere = existsSync(own) && existsSync(place) && readFileSync(place).equals(archive);
  if (!isThere) {
    await Bun.write(`${target}.tgz`, archive);
    rmSync(own, { recursive: true, force: true });
    renameSync(target, own);
    renameSync(`${target}.tgz`, place);
  }
  rmSync(target, { recursive: true, force: true });
}

/** Returns an archive that npm can read, with every file in the folder `package/`. */
function archiveOf(folder: string): Uint8Array<ArrayBuffer> {
  return toTar(new Map(readdirSync(folder).map((name) => [`package/${name}`, readFileSync(`${folder}/${name}`)])));
}

/**
 * Returns a tar archive (POSIX.1-2001, ustar). The same files give the same bytes, at any time and on any machine.
 * @param files contents by path; a path can have up to 100 bytes
 */
function toTar(files: ReadonlyMap<string, Uint8Array>): Uint8Array<ArrayBuffer> {
  const parts = [...files]
    .sort()
    .flatMap(([path, content]) => [
      header(path, content.length),
      content,
      new Uint8Array((512 - (content.length % 512)) % 512),
    ]);
  return new Uint8Array(Buffer.concat([...parts, new Uint8Array(1024)]));
}

function header(path: string, size: number): Uint8Array {
  if (Buffer.byteLength(path) > 100) throw new Error(`this path is too long for an archive: ${path}`);
  const block = Buffer.alloc(512);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  block.write(path, 0);
  block.write(octal(0o644, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(packageTime, 11), 136);
  block.write(" ".repeat(8), 148);
  block.write("0", 156);
  block.write("ustar\u000000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}
