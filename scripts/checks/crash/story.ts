// Defines stories and what they share: reading the files that a power loss left.

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
  /** Position in the log at the power loss. */
  readonly position: number;
}

/** Returns a sentence for everything that's wrong with the files a power loss left. */
export type Verify = (left: LeftFiles) => Promise<string[]>;

export interface Story {
  readonly name: string;
  /** The database's path below the folder. */
  readonly database: string;
  /** Prepares files, which are durable and not recorded. */
  readonly prepare?: (lab: Lab) => Promise<void>;
  /** Does what gets recorded. */
  readonly run: (lab: Lab) => Promise<Verify>;
  /** Tries the real program on the files that some power losses left. Returns faults. */
  readonly tryProgram?: (lab: Lab, position: number) => Promise<string[]>;
}

/** The state of a site that doesn't exist. */
export const noSite: readonly string[] = ["(no site)"];

/** Returns the names of a site's brands; `noSite` if the site is missing or incomplete. */
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

/** Creates the default site `main` with brands. Returns a key. */
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

/** Returns a CSV file of brands. */
export function csvOf(names: readonly string[]): string {
  return ["Name", ...names, ""].join("\n");
}

/** Returns `count` names that start with `prefix`. */
export function namesOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix} ${n + 1}`);
}

/**
 * Returns the names of the brands in a file from `backup` or `export-site`; empty if there's no file.
 * @throws ProblemError if the file is incomplete
 */
export async function readNamesInFile(kind: "storefront" | "storefront-site", file: string): Promise<string[]> {
  if (!existsSync(file)) return [];
  const names: string[] = [];
  for await (const { table, row } of readBackup(kind, file))
    if (table === "records" && row.resource === "brand" && row.body !== null)
      names.push(JSON.parse(row.body as string).Name);
  return names;
}

/** Returns the names of files in a folder; empty if there's no folder. */
export function filesIn(folder: string, pattern: RegExp): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => pattern.test(name)) : [];
}

/** Returns the names of the brands in a file from `export`; empty if there's no file. */
export function readNamesInExport(file: string): string[] {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).map(({ Name }: { Name: string }) => Name) : [];
}

export function pathIn({ folder }: Pick<LeftFiles, "folder">, name: string): string {
  return join(folder, name);
}
