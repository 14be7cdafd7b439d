// Builds the client package in the folder dist/client, and as the archive dist/client.tgz. With an argument, builds it only in that folder.
//
// The version of a released client is that of the program. Every other build has a version that ends in a digest of its contents, so that a version
// always means the same bytes: `/docs/client-<version>.tgz` can be cached and pinned.

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

/** The time that npm gives every file of a package: 1985-10-26 08:15 UTC. */
const packageTime = Date.UTC(1985, 9, 26, 8, 15) / 1000;
const source = fileURLToPath(new URL("../../src/client", import.meta.url));
const own = fileURLToPath(new URL("../../dist/client", import.meta.url));
const isOwn = process.argv[2] === undefined;
mkdirSync(fileURLToPath(new URL("../../dist", import.meta.url)), { recursive: true });
// Build in a temporary folder, so that the archive contains no files of an earlier build, and no other process finds an incomplete one.
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
// Rewrite imports such as `./send.ts` in declarations, because the compiler does not do that, and older compilers cannot resolve them.
for (const name of readdirSync(target).filter((file) => file.endsWith(".d.ts"))) {
  const declaration = await Bun.file(`${target}/${name}`).text();
  await Bun.write(`${target}/${name}`, declaration.replace(/(from "\.\/[a-z-]+)\.ts"/g, '$1.js"'));
}
cpSync(`${source}/README.md`, `${target}/README.md`);
const manifest = await Bun.file(`${source}/package.json`).json();
await writeManifest(version);
if (!isRelease()) await writeManifest(`${version}-dev-${digestOf(archiveOf(target))}`);

if (isOwn) await install();

function writeManifest(itsVersion: string): Promise<number> {
  return Bun.write(`${target}/package.json`, `${JSON.stringify({ ...manifest, version: itsVersion }, null, 2)}\n`);
}

/** Whether this is the checkout of a release: `npm run release` writes its version into dist/released. */
function isRelease(): boolean {
  const file = fileURLToPath(new URL("../../dist/released", import.meta.url));
  return existsSync(file) && readFileSync(file, "utf8").trim() === version;
}

/** Returns the first 12 hexadecimal digits of a SHA-256 digest. */
function digestOf(bytes: Uint8Array<ArrayBuffer>): string {
  return Bun.SHA256.hash(bytes, "hex").slice(0, 12);
}

/** Moves the build to dist/. If dist/ has the same build, keeps that one, because other processes may be reading it. */
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

/** Returns the archive in the form that npm reads: every file is in the folder `package/`. */
function archiveOf(folder: string): Uint8Array<ArrayBuffer> {
  return toTar(new Map(readdirSync(folder).map((name) => [`package/${name}`, readFileSync(`${folder}/${name}`)])));
}

/**
 * Returns a tar archive (POSIX.1-2001, ustar) that depends only on its contents: the same files give the same bytes, on every day and machine.
 *@param files the contents by path; a path has at most 100 bytes
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
  if (Buffer.byteLength(path) > 100) throw new Error(`the path is too long for an archive: ${path}`);
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
