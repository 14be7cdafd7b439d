// What the console is made of, for the bill of materials: none of these packages is installed with the program.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Component } from "./sbom.ts";

/** What scripts/build-console.ts writes about a package. */
interface ListedPackage {
  /** Its folder, as package-lock.json names it. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/**
 * The packages in the script of the console that was made in the checkout `folder`, as components of CycloneDX 1.5.
 * @throws if package-lock.json has another version of one
 */
export function consoleComponents(folder: string): Component[] {
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), "utf8"));
  const listed = read("dist/console-packages.json") as readonly ListedPackage[];
  const locked = read("package-lock.json").packages as Readonly<Record<string, { version: string; integrity: string }>>;
  const components = listed.map((one) => {
    const { version, integrity } = locked[one.path] ?? {};
    if (version !== one.version || !integrity)
      throw new Error(`package-lock.json does not have ${one.name} ${one.version}`);
    return toComponent(one, integrity);
  });
  return [...new Map(components.map((component) => [component["bom-ref"], component])).values()];
}

/** As npm describes a package. @param integrity as in a lock file: `sha512-` and Base64 */
function toComponent({ name, version, license }: ListedPackage, integrity: string): Component {
  const component = {
    "bom-ref": `${name}@${version}`,
    type: "library",
    name,
    version,
    scope: "required",
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    hashes: [{ alg: "SHA-512", content: Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex") }],
    licenses: [/ (OR|AND) /.test(license) ? { expression: license } : { license: { id: license } }],
  };
  return component;
}
