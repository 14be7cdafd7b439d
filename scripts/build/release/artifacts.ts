// Creates a release's files in a clean checkout. The same commit gives the same bytes, whatever the folder, time zone, and versions of Node and gzip, unless
// the registry later serves another version of a package (`sbom.ts`).

import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { name } from "../../../package.json" with { type: "json" };
import { noticesPath } from "../../../src/admin/console-build.ts";
import { sectionOf } from "./changelog.ts";
import { conformanceReport } from "./conformance.ts";
import { thirdPartyLicenses } from "./licenses.ts";
import { changelogOf, type ReleasePlan } from "./readiness.ts";
import { runIn } from "./run.ts";
import { consoleComponents, makeSbom } from "./sbom.ts";

/** Creates all files from the checkout in `folder`, and returns the folder they're in. @param log called before each step */
export async function makeArtifacts(
  { version }: ReleasePlan,
  folder: string,
  log: (step: string) => void,
): Promise<string> {
  const target = join(folder, "dist/release");
  mkdirSync(target, { recursive: true });
  // A release's client has no digest in its version (`scripts/build/client.ts`).
  writeFileSync(join(folder, "dist/released"), `${version}\n`);
  const commit = await runIn(folder, ["git", "rev-parse", "HEAD"]);
  const seconds = Number(await runIn(folder, ["git", "show", "--no-patch", "--format=%ct", commit]));
  log("packages");
  const server = await pack(folder, target);
  await pack(join(folder, "dist/client"), target);
  log("a fresh installation of the package, its SBOM and licences");
  await describe(folder, join(target, server), target, { version, commit, seconds });
  log("executables");
  const programs = (await runIn(folder, ["npm", "run", "--silent", "build:binary", "--", "--target", "all"])).split(
    "\n",
  );
  const own = await requireVersion(folder, programs, version, commit);
  log("conformance of this machine's executable");
  writeFileSync(join(target, "CONFORMANCE.txt"), await conformanceReport(own, `${version} (${commit.slice(0, 12)})`));
  for (const program of programs.filter(isExecutable)) await archive(folder, target, program, version, seconds);
  copyFileSync(join(folder, "scripts/verify-release"), join(target, "verify-release"));
  writeFileSync(join(target, "RELEASE-NOTES.md"), `${sectionOf(changelogOf(folder), version)}\n`);
  writeChecksums(target);
  return target;
}

/** Packs the package in `folder` into `target`. Returns the file's name. */
async function pack(folder: string, target: string): Promise<string> {
  const [packed] = JSON.parse(await runIn(folder, ["npm", "pack", "--json", "--silent", "--pack-destination", target]));
  const file = join(target, packed.filename);
  writeFileSync(file, compress(Bun.gunzipSync(readFileSync(file))));
  return packed.filename;
}

/** Compresses with the locked version of Bun, because other programs' bytes depend on the machine. */
function compress(tar: Uint8Array<ArrayBuffer>): Uint8Array {
  return Bun.gzipSync(tar, { level: 9 });
}

/** Installs the package in an empty folder. Writes the SBOM and licences of the installed packages and those in the console's script. */
async function describe(
  checkout: string,
  server: string,
  target: string,
  { version, commit, seconds }: { readonly version: string; readonly commit: string; readonly seconds: number },
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-installed-"));
  try {
    writeFileSync(join(folder, "package.json"), '{ "name": "installed", "version": "0.0.0", "private": true }\n');
    await runIn(folder, ["npm", "install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", server]);
    const shown = await runIn(folder, [join(folder, "node_modules/.bin/storefront"), "--version"]);
    requireShown(shown, version, commit);
    const sbom = await makeSbom(folder, consoleComponents(checkout), `${version} ${commit}`, new Date(seconds * 1000));
    writeFileSync(join(target, `storefront-${version}.cdx.json`), sbom);
    const modules = join(folder, "node_modules");
    const notices = readFileSync(join(modules, `${name}/dist/console${noticesPath}`), "utf8");
    writeFileSync(join(target, "THIRD-PARTY-LICENSES.txt"), thirdPartyLicenses(modules, notices));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function isExecutable(path: string): boolean {
  return basename(path).startsWith("storefront-");
}

/** Runs this machine's executable, and returns its path. @throws Error if it prints another version or commit */
async function requireVersion(
  folder: string,
  programs: readonly string[],
  version: string,
  commit: string,
): Promise<string> {
  const own = programs.find((path) => basename(path) === `storefront-${process.platform}-${process.arch}`);
  if (!own) throw new Error(`there's no executable for this machine, only ${programs.join(", ")}`);
  requireShown(await runIn(folder, [own, "--version"]), version, commit);
  return own;
}

function requireShown(shown: string, version: string, commit: string): void {
  const expected = `${version} (${commit.slice(0, 12)})`;
  if (shown !== expected) throw new Error(`--version prints \`${shown}\` instead of \`${expected}\``);
}

/** What an executable's archive has besides the executable and the third-party licences. */
const archived = [
  "CHANGELOG.md",
  "LICENSE",
  "deploy/Caddyfile",
  "deploy/console.Caddyfile",
  "deploy/nginx-console.conf",
  "deploy/nginx.conf",
  "deploy/prometheus.yml",
  "deploy/storefront-backup.service",
  "deploy/storefront-backup.timer",
  "deploy/storefront.service",
  "docs/alerts.yml",
];

/** Creates an archive such as `storefront-1.0.0-linux-x64.tar.gz` with an executable and the files that its licences require. */
async function archive(
  folder: string,
  target: string,
  program: string,
  version: string,
  seconds: number,
): Promise<void> {
  const name = `storefront-${version}-${basename(program).replace("storefront-", "")}`;
  const content = join(folder, "dist", name);
  mkdirSync(content);
  renameSync(program, join(content, "storefront"));
  for (const file of archived) copyFileSync(join(folder, file), join(content, basename(file)));
  copyFileSync(join(target, "THIRD-PARTY-LICENSES.txt"), join(content, "THIRD-PARTY-LICENSES.txt"));
  const fixed = ["--sort=name", `--mtime=@${seconds}`, "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go-w"];
  await runIn(join(folder, "dist"), ["tar", ...fixed, "--format=ustar", "--create", "--file", `${name}.tar`, name]);
  rmSync(content, { recursive: true });
  writeFileSync(join(target, `${name}.tar.gz`), compress(readFileSync(join(folder, "dist", `${name}.tar`))));
}

/** Writes SHA256SUMS in the format of `sha256sum --check`. */
function writeChecksums(target: string): void {
  const digest = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(target, name)))
      .digest("hex");
  const lines = readdirSync(target)
    .sort()
    .map((name) => `${digest(name)}  ${name}\n`);
  writeFileSync(join(target, "SHA256SUMS"), lines.join(""));
}
