// The licences of the packages that the script of the console is made of. They ask that their texts go with it.

import { resolve } from "node:path";
import {
  type LicensedPackage,
  readLicensedPackage,
  requireAcceptedLicenses,
  toLicenseSection,
} from "../lib/licenses.ts";

/** The path of the licences beside the script, as bundlers name it. */
export const noticesPath = "/console.js.LICENSE.txt";

/** A package with its folder. */
export interface BundledPackage extends LicensedPackage {
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
export function toNotices(packages: readonly LicensedPackage[]): string {
  const sections = packages.map(toLicenseSection);
  return `The console of Storefront contains the software below.\n\n${[...new Set(sections)].join("\n")}`;
}

/** The folder of the package that has this file; undefined for a file of our own. */
function folderIn(path: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path.replaceAll("\\", "/"))?.[0];
}
