// The licences of npm packages that are distributed with this program: reads them, accepts only some, and formats their texts. The licences require
// that their texts are distributed too.

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export interface BundledPackage extends LicensedPackage {
  readonly folder: string;
}

/**
 * Returns the packages that the files of a bundle belong to, sorted by folder.
 * @param files paths, relative to the working directory
 * @throws Error that names the packages with a licence that is not accepted, or without the text of a licence
 */
export function bundledPackages(files: Iterable<string>): BundledPackage[] {
  const folders = new Set([...files].flatMap((file) => folderIn(resolve(file)) ?? []));
  const packages = [...folders].map((folder) => ({ ...readLicensedPackage(folder), folder }));
  requireAcceptedLicences(packages);
  const silent = packages.filter(({ text }) => text === "");
  if (silent.length > 0)
    throw new Error(`packages without the text of their licence: ${silent.map(({ name }) => name).join(", ")}`);
  return packages.sort((a, b) => (a.folder < b.folder ? -1 : 1));
}

/** Returns the text with all licences that is served beside the script. */
export function toNotices(packages: readonly LicensedPackage[]): string {
  const sections = packages.map(toLicenceSection);
  return `The console of Storefront contains the software below.\n\n${[...new Set(sections)].join("\n")}`;
}

/** Returns the folder of the package that contains this file; undefined for a file of this program. */
function folderIn(path: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path.replaceAll("\\", "/"))?.[0];
}

// The licence of one package.

export interface LicensedPackage {
  readonly name: string;
  readonly version: string;
  /** The SPDX expression in package.json; `none` if it is missing. */
  readonly license: string;
  /** The content of the package's licence and notice files; empty if it has no such file. */
  readonly text: string;
}

/** Licences that allow to distribute the program in its present form (SPDX identifiers). A person must decide about any other licence. */
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

export function requireAcceptedLicences(packages: readonly LicensedPackage[]): void {
  const refused = packages.filter(({ license }) => !isAccepted(license));
  if (refused.length === 0) return;
  throw new Error(`licences that are not accepted: ${refused.map((one) => `${one.name} (${one.license})`).join(", ")}`);
}

/** Whether a licence is accepted. Of licences joined by OR, one must be accepted; of licences joined by AND, all. */
function isAccepted(license: string): boolean {
  const choices = license.replaceAll(/[()]/g, "").split(" OR ");
  return choices.some((choice) => choice.split(" AND ").every((one) => accepted.has(one)));
}

export function toLicenceSection({ name, version, license, text }: LicensedPackage): string {
  return `${"=".repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`;
}
