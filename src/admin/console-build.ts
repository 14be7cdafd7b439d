// Makes the script of the console, for the package and the executable, and in a checkout when it is first requested.

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The variable with which React leaves out what only developers need. */
const environmentName = ["process", "env", "NODE_ENV"].join(".");

/** Where the script begins. The package and the executable do not contain it. */
export const consoleEntry: string = fileURLToPath(new URL("../console/main.tsx", import.meta.url));

interface BuiltConsole {
  readonly script: string;
  /** The licences of the packages in it. */
  readonly notices: string;
  readonly packages: readonly BundledPackage[];
}

/**
 * Makes one script of src/console and all that it imports.
 * @throws AggregateError with what is wrong in the source, or Error about the licence of a package in it
 */
export async function buildConsole(): Promise<BuiltConsole> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: [consoleEntry],
    target: "browser",
    minify: true,
    metafile: true,
    banner: `/*! For license information please see ${noticesPath.slice(1)} */`,
    define: { [environmentName]: JSON.stringify("production") },
  });
  const [script] = outputs;
  if (!script || !metafile) throw new Error("the console was not built");
  const packages = bundledPackages(filesIn(metafile));
  return { script: await script.text(), notices: toNotices(packages), packages };
}

/** The files of which something is in the script. */
function filesIn({ outputs }: Bun.BuildMetafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
}

// The licences of the packages that the script of the console is made of. They ask that their texts go with it.

/** The path of the licences beside the script, as bundlers name it. */
export const noticesPath = "/console.js.LICENSE.txt";

/** A package with its folder. */
interface BundledPackage extends LicensedPackage {
  readonly folder: string;
}

/**
 * The packages that the files of a bundle are in, in the order of their names.
 * @param files paths, relative to the working directory
 * @throws Error that names packages whose licence is not accepted, or that have no text of it
 */
export function bundledPackages(files: Iterable<string>): BundledPackage[] {
  const folders = new Set([...files].flatMap((file) => folderIn(resolve(file)) ?? []));
  const packages = [...folders].map((folder) => ({ ...readLicensedPackage(folder), folder }));
  requireAcceptedLicenses(packages);
  const silent = packages.filter(({ text }) => text === "");
  if (silent.length > 0)
    throw new Error(`packages without the text of their licence: ${silent.map(({ name }) => name).join(", ")}`);
  return packages.sort((a, b) => (a.folder < b.folder ? -1 : 1));
}

/** The text that goes with the script. */
function toNotices(packages: readonly LicensedPackage[]): string {
  const sections = packages.map(toLicenseSection);
  return `The console of Storefront contains the software below.\n\n${[...new Set(sections)].join("\n")}`;
}

/** The folder of the package that has this file; undefined for a file of our own. */
function folderIn(path: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path.replaceAll("\\", "/"))?.[0];
}

// The licences of packages of npm.

export interface LicensedPackage {
  readonly name: string;
  readonly version: string;
  /** As package.json has it: an SPDX expression; `none` when there is none. */
  readonly license: string;
  /** Its files of licences and notices, one after the other; empty when there is none. */
  readonly text: string;
}

/** Licences under which the program may be passed on as it is (SPDX identifiers). Another one is a decision for a person. */
const accepted = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "Unlicense",
]);

/** Reads the package in `folder`. @throws Error when there is no package.json */
export function readLicensedPackage(folder: string): LicensedPackage {
  const { name, version, license = "none" } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
  return {
    name,
    version,
    license: typeof license === "string" ? license : String(license.type),
    text: texts.join("\n\n"),
  };
}

/** @throws Error that names the packages whose licence is not accepted */
export function requireAcceptedLicenses(packages: readonly LicensedPackage[]): void {
  const refused = packages.filter(({ license }) => !isAccepted(license));
  if (refused.length === 0) return;
  throw new Error(`licences that are not accepted: ${refused.map((one) => `${one.name} (${one.license})`).join(", ")}`);
}

function isAccepted(license: string): boolean {
  const choices = license.replaceAll(/[()]/g, "").split(" OR ");
  return choices.some((choice) => choice.split(" AND ").every((one) => accepted.has(one)));
}

/** What a list of licences has about a package. */
export function toLicenseSection({ name, version, license, text }: LicensedPackage): string {
  return `${"=".repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`;
}
