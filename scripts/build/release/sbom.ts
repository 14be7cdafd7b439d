// Creates an installation's software bill of materials, as CycloneDX 1.5 JSON.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { requireTool } from "../../../test/packaging/tools/tools.ts";
import { runIn } from "./run.ts";

/** A CycloneDX component, with the members we use. */
export interface Component {
  type: string;
  readonly name: string;
  readonly "bom-ref": string;
  externalReferences?: { readonly type: string; url: string }[];
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn: readonly string[];
}

interface Sbom {
  readonly specVersion: string;
  serialNumber: string;
  readonly metadata: { timestamp: string; component: Component; tools: { version?: string }[] };
  components: Component[];
  dependencies: Dependency[];
}

/**
 * Describes the packages installed in `folder`. Its only direct dependency is the program, which becomes the subject.
 * @param contained packages that are bundled into the program's files instead of installed
 * @param seed the serial number is derived from this, so that a release always has the same one
 * @throws Error if the result doesn't match CycloneDX's schema
 */
export async function makeSbom(
  folder: string,
  contained: readonly Component[],
  seed: string,
  time: Date,
): Promise<string> {
  const output = await runIn(folder, [
    "npm",
    "sbom",
    "--sbom-format",
    "cyclonedx",
    "--omit",
    "dev",
    "--sbom-type",
    "application",
  ]);
  const sbom = JSON.parse(output) as Sbom;
  const own = sbom.metadata.component["bom-ref"];
  const [root] = sbom.dependencies.find(({ ref }) => ref === own)?.dependsOn ?? [];
  const subject = sbom.components.find((component) => component["bom-ref"] === root);
  if (!subject) throw new Error("the SBOM lacks the program itself");
  subject.type = "application";
  // These depend on the machine: npm's version, and where it found packages.
  for (const tool of sbom.metadata.tools) delete tool.version;
  for (const one of sbom.components)
    one.externalReferences = (one.externalReferences ?? []).filter(({ type }) => type !== "distribution");
  sbom.metadata.component = subject;
  sbom.metadata.timestamp = time.toISOString();
  sbom.serialNumber = `urn:uuid:${toUuid(seed)}`;
  sbom.components = sbom.components.filter((component) => component !== subject);
  sbom.dependencies = sbom.dependencies.filter(({ ref }) => ref !== own);
  contain(sbom, root as string, contained);
  const text = `${JSON.stringify(sbom, null, 2)}\n`;
  // CI has passed in this checkout, so the package tests' tools are installed.
  const { Validation } = requireTool("@cyclonedx/cyclonedx-library");
  const fault = await new Validation.JsonStrictValidator(sbom.specVersion).validate(text);
  if (fault) throw new Error(`the SBOM doesn't match CycloneDX's schema: ${Bun.inspect(fault)}`);
  return text;
}

/** Adds components as parts of the one with the reference `root`. */
function contain(sbom: Sbom, root: string, contained: readonly Component[]): void {
  const present = new Set(sbom.components.map((component) => component["bom-ref"]));
  const added = contained.filter((component) => !present.has(component["bom-ref"]));
  sbom.components.push(...added);
  const references = contained.map((component) => component["bom-ref"]);
  sbom.dependencies = sbom.dependencies.map(({ ref, dependsOn }) =>
    ref === root ? { ref, dependsOn: [...new Set([...dependsOn, ...references])] } : { ref, dependsOn },
  );
  sbom.dependencies.push(...added.map((component) => ({ ref: component["bom-ref"], dependsOn: [] })));
}

/** Derives a version 8 UUID (RFC 9562, section 5.8) from the digest of `seed`. */
function toUuid(seed: string): string {
  const bytes = createHash("sha256").update(seed).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}

// The packages in the console's script are bundled, not installed with the program.

/** An entry in the list that scripts/build/console.ts writes. */
interface ListedPackage {
  /** The package's folder, as package-lock.json calls it. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/**
 * Returns the packages in the console that was built in the checkout `folder`, as CycloneDX 1.5 components.
 * @throws Error if package-lock.json has another version of one
 */
export function consoleComponents(folder: string): Component[] {
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), "utf8"));
  const listed = read("dist/console-packages.json") as readonly ListedPackage[];
  const locked = read("package-lock.json").packages as Readonly<Record<string, { version: string; integrity: string }>>;
  const components = listed.map((one) => {
    const { version, integrity } = locked[one.path] ?? {};
    if (version !== one.version || !integrity)
      throw new Error(`package-lock.json doesn't have ${one.name} ${one.version}`);
    return toComponent(one, integrity);
  });
  return [...new Map(components.map((component) => [component["bom-ref"], component])).values()];
}

/** Converts a package to a component the way npm does. @param integrity from a lock file: `sha512-` and Base64 */
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
