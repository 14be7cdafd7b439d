// The licences of packages of npm.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

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
