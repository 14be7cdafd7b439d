// The packages in the script of the console, for the bill of materials. They are bundled, not installed with the program.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Component } from "./sbom.ts";

/** A package in the list that scripts/build/console.ts writes. */
interface ListedPackage {
  /** The folder of the package, by its name in package-lock.json. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/**
 * Returns the packages in the script of the console that was built in the checkout `folder`, as components of CycloneDX 1.5.
 * @throws Error if package-lock.json has another version of a package
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

/** Converts a package to a component, in the form that npm uses. @param integrity the value in a lock file: `sha512-` and Base64 */
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
