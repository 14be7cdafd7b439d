// Checks the licences of the npm packages we distribute, and collects their texts, because the licences require us to distribute those too.

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export interface BundledPackage extends LicensedPackage {
  readonly folder: string;
}

/**
 * Finds the packages that a bundle's files belong to, by folder.
 * @param files paths relative to the working directory
 * @throws Error that lists packages with a licence we don't accept, or without a licence text
 */
export function bundledPackages(files: Iterable<string>): BundledPackage[] {
  const folders = new Set([...files].flatMap((file) => folderIn(resolve(file)) ?? []));
  const packages = [...folders].map((folder) => ({ ...readLicensedPackage(folder), folder }));
  requireAcceptedLicences(packages);
  const silent = packages.filter(({ text }) => text === "");
  if (silent.length > 0)
    throw new Error(`packages without a licence text: ${silent.map(({ name }) => name).join(", ")}`);
  return packages.sort((a, b) => (a.folder < b.folder ? -1 : 1));
}

/** Served next to the script. */
export function toNotices(packages: readonly LicensedPackage[]): string {
  const sections = packages.map(toLicenceSection);
  return `The console of Storefront contains the software below.\n\n${[...new Set(sections)].join("\n")}`;
}

/** The folder of a file's package; undefined for our own files. */
function folderIn(path: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path.replaceAll("\\", "/"))?.[0];
}

export interface LicensedPackage {
  readonly name: string;
  readonly version: string;
  /** The SPDX expression in package.json; `none` if it's missing. */
  readonly license: string;
  /** From the package's licence and notice files, if it has any. */
  readonly text: string;
}

/** Licences (SPDX identifiers) that let us distribute the program as it is. Any other needs a human decision. */
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
  throw new Error(`licences we don't accept: ${refused.map((one) => `${one.name} (${one.license})`).join(", ")}`);
}

/** One of those joined by OR is enough, but those joined by AND must all be accepted. */
function isAccepted(license: string): boolean {
  const choices = license.replaceAll(/[()]/g, "").split(" OR ");
  return choices.some((choice) => choice.split(" AND ").every((one) => accepted.has(one)));
}

export function toLicenceSection({ name, version, license, text }: LicensedPackage): string {
  return `${"=".repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`;
}
