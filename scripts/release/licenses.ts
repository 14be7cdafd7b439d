// The licences of what a release contains besides our own code.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

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

interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly texts: readonly string[];
}

/**
 * The licences of all packages in `modules`, but for the program itself, and of Bun, as one text.
 * @throws if a package has a licence that is not accepted
 */
export function thirdPartyLicenses(modules: string): string {
  const lock = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
  const packages = Object.keys(lock.packages)
    .map((path) => readPackage(join(modules, "..", path)))
    .filter(({ name }) => !/(^|\/)storefront$/.test(name));
  const refused = packages.filter(({ license }) => !isAccepted(license));
  if (refused.length > 0)
    throw new Error(
      `licences that are not accepted: ${refused.map((one) => `${one.name} (${one.license})`).join(", ")}`,
    );
  const sections = packages.sort((a, b) => (a.name < b.name ? -1 : 1)).map(section);
  return `Storefront contains the software below.\n\n${[...new Set(sections)].join("\n")}`;
}

function isAccepted(license: string): boolean {
  const choices = license.replaceAll(/[()]/g, "").split(" OR ");
  return choices.some((choice) => choice.split(" AND ").every((one) => accepted.has(one)));
}

function readPackage(folder: string): InstalledPackage {
  const { name, version, license = "none" } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
  return { name, version, license: typeof license === "string" ? license : String(license.type), texts };
}

function section({ name, version, license, texts }: InstalledPackage): string {
  const text = isBun(name) ? bunText(version) : texts.join("\n\n");
  return `${"=".repeat(80)}\n${name} ${version} (${license})\n\n${text || "The package has no text of its licence."}\n`;
}

function isBun(name: string): boolean {
  return name === "bun" || name.startsWith("@oven/bun-");
}

/** Bun's packages have no text. */
function bunText(version: string): string {
  return `Bun is under the MIT licence. It statically links JavaScriptCore and other parts of WebKit (LGPL-2.0 and later, BSD-2-Clause), tinycc
(LGPL-2.1), BoringSSL, brotli, c-ares, ICU, libarchive, libdeflate, lol-html, ls-hpack, mimalloc, picohttpparser, simdutf, uSockets, uWebSockets,
zlib-ng, zstd and others. LICENSE.md of its source has the complete list, and how to build Bun with a changed WebKit:
https://github.com/oven-sh/bun/blob/bun-v${version}/LICENSE.md`;
}
