// What a story is, and what stories share: how they read the files that a power loss left.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { ProblemError } from "../../../src/model/errors.ts";
import { readBackup } from "../../../src/operator/backup/backup-format.ts";
import { readRowsOfCompleteFile } from "../../../src/operator/import/file-rows.ts";
import { importRecords } from "../../../src/operator/import/import-records.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite, getSite } from "../../../src/operator/sites/sites.ts";
import { brand } from "../../../src/resources/brand.ts";
import type { Lab } from "./lab.ts";

/** The files that a power loss left, with the database open. */
export interface LeftFiles {
  readonly folder: string;
  readonly engine: Engine;
  /** Position of the log at the power loss. */
  readonly position: number;
}

/** Returns a sentence for each fault of the files that a power loss left. */
export type Verify = (left: LeftFiles) => Promise<string[]>;

export interface Story {
  readonly name: string;
  /** Path of the database below the folder. */
  readonly database: string;
  /** Prepares files. They are durable, and not recorded. */
  readonly prepare?: (lab: Lab) => Promise<void>;
  /** Runs what is recorded. */
  readonly run: (lab: Lab) => Promise<Verify>;
  /** Starts the real program on the files that some power losses left, and tries it. Returns faults. */
  readonly tryProgram?: (lab: Lab, position: number) => Promise<string[]>;
}

/** The state of a site that does not exist. */
export const noSite: readonly string[] = ["(no site)"];

/** Returns the names of the brands of a site; `noSite` if there is none of this name, or it is not complete. */
export async function readNames(engine: Engine, site = "main"): Promise<readonly string[]> {
  let id: number;
  try {
    id = (await getSite(engine, site)).ID;
  } catch (error) {
    if (error instanceof ProblemError) return noSite;
    throw error;
  }
  const names: string[] = [];
  for await (const { table, row } of engine.dump(id))
    if (table === "records" && row.resource === "brand" && row.body !== null)
      names.push(JSON.parse(row.body as string).Name);
  return names;
}

/** Creates the site `main`, the default, with brands. Returns a key of the site. */
export async function prepareSite(lab: Lab, names: readonly string[] = []): Promise<string> {
  return lab.open(async (engine) => {
    const site = await createSite(engine, "main", { isDefault: true }, Date.now());
    await addBrands(engine, site.ID, names);
    return (await createKey(engine, site, {}, Date.now())).key;
  });
}

export async function addBrands(engine: Engine, site: number, names: readonly string[]): Promise<void> {
  async function* bytes() {
    yield Buffer.from(csvOf(names));
  }
  if (names.length > 0)
    await importRecords(engine, site, brand, readRowsOfCompleteFile(brand, bytes(), "csv"), { now: Date.now });
}

/** Returns a file of brands. */
export function csvOf(names: readonly string[]): string {
  return ["Name", ...names, ""].join("\n");
}

/** Returns `count` names that begin with `prefix`. */
export function namesOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix} ${n + 1}`);
}

/**
 * Returns the names of the brands in a file of `backup` or `export-site`; an empty list without the file.
 * @throws ProblemError if the file is not whole
 */
export async function readNamesInFile(kind: "storefront" | "storefront-site", file: string): Promise<string[]> {
  if (!existsSync(file)) return [];
  const names: string[] = [];
  for await (const { table, row } of readBackup(kind, file))
    if (table === "records" && row.resource === "brand" && row.body !== null)
      names.push(JSON.parse(row.body as string).Name);
  return names;
}

/** Returns the names of files in a folder; an empty list without the folder. */
export function filesIn(folder: string, pattern: RegExp): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => pattern.test(name)) : [];
}

/** Returns the names of the brands in a file of `export`; an empty list without the file. */
export function readNamesInExport(file: string): string[] {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).map(({ Name }: { Name: string }) => Name) : [];
}

/** Returns the path of a file below the folder of `left`. */
export function pathIn({ folder }: Pick<LeftFiles, "folder">, name: string): string {
  return join(folder, name);
}
