// Collects the licences of all third-party code in a release.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { name as ownName } from "../../../package.json" with { type: "json" };
import {
  type LicensedPackage,
  readLicensedPackage,
  requireAcceptedLicences,
  toLicenceSection,
} from "../../../src/admin/licences.ts";

/**
 * Returns one text with the licences of Bun, the packages in the console, and all packages in `modules` except the program itself.
 * @param consoleNotices licences of the packages in the console
 * @throws Error if a package has a licence that we don't accept
 */
export function thirdPartyLicenses(modules: string, consoleNotices: string): string {
  const lock = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
  const packages = Object.keys(lock.packages)
    .map((path) => readLicensedPackage(join(modules, "..", path)))
    .filter(({ name }) => name !== ownName);
  requireAcceptedLicences(packages);
  const sections = packages.sort((a, b) => (a.name < b.name ? -1 : 1)).map((one) => toLicenceSection(withText(one)));
  return `Storefront contains the software below.\n\n${[...new Set(sections)].join("\n")}\n${"=".repeat(80)}\n${consoleNotices}`;
}

function withText(one: LicensedPackage): LicensedPackage {
  if (isBun(one.name)) return { ...one, text: bunText(one.version) };
  return { ...one, text: one.text || "The package doesn't include its licence text." };
}

function isBun(name: string): boolean {
  return name === "bun" || name.startsWith("@oven/bun-");
}

/** Bun's packages don't include its licence. */
function bunText(version: string): string {
  return `Bun is under the MIT licence. It statically links JavaScriptCore and other parts of WebKit (LGPL-2.0 and later, BSD-2-Clause), tinycc
(LGPL-2.1), BoringSSL, brotli, c-ares, ICU, libarchive, libdeflate, lol-html, ls-hpack, mimalloc, picohttpparser, simdutf, uSockets, uWebSockets,
zlib-ng, zstd and others. LICENSE.md of its source has the complete list, and how to build Bun with a changed WebKit:
https://github.com/oven-sh/bun/blob/bun-v${version}/LICENSE.md`;
}
