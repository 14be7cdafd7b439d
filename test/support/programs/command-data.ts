// Creates and reads data around the command that a test is about, without a process each time, which would take most of the test's time.

import type { ByteSource } from "../../../src/formats/workbook/workbook-limits.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { publicResources, type Resource } from "../../../src/model/resource.ts";
import { type FileFormat, type RowOptions, readRowsOfCompleteFile } from "../../../src/operator/import/file-rows.ts";
import { type ImportOptions, type ImportSummary, importRecords } from "../../../src/operator/import/import-records.ts";
import { exportRecords } from "../../../src/operator/records/export-records.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite, getSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";

interface LoadOptions extends Partial<ImportOptions>, RowOptions {
  readonly format?: FileFormat;
}

export interface TestRecord {
  readonly ID: number;
  readonly Name: string;
}

export interface Data {
  addSite(name: string, settings?: Parameters<typeof createSite>[2]): Promise<void>;
  /** A new key with write access. */
  addKey(site: string): Promise<string>;
  /** @param resource its path */
  load(site: string, resource: string, content: string | Uint8Array, options?: LoadOptions): Promise<ImportSummary>;
  /** Creates brands with these names. */
  addBrands(site: string, ...names: readonly string[]): Promise<void>;
  /** Returns what `export` writes. */
  file(site: string, resource: string, format: FileFormat): Promise<string>;
  bytes(site: string, resource: string, format: FileFormat): Promise<Buffer<ArrayBuffer>>;
  brands(site: string): Promise<TestRecord[]>;
  check(): Promise<readonly string[]>;
  /** Does anything else. The engine is closed afterwards, so that the test's own processes have the database to themselves. */
  use<T>(work: (engine: Engine) => Promise<T>): Promise<T>;
}

export function dataOf(url: string): Data {
  async function use<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    const engine = await openEngine(url, allResources);
    try {
      return await work(engine);
    } finally {
      await engine.close();
    }
  }
  const load: Data["load"] = (site, path, content, { format = "csv", ...options } = {}) =>
    use(async (engine) => {
      const resource = getResource(path);
      const rows = readRowsOfCompleteFile(resource, bytesOf(content), format, options);
      return importRecords(engine, (await getSite(engine, site)).ID, resource, rows, { now: Date.now, ...options });
    });
  const bytes: Data["bytes"] = (site, path, format) =>
    use(async (engine) => {
      const content = exportRecords(engine, (await getSite(engine, site)).ID, getResource(path), format);
      return Buffer.concat(await Array.fromAsync(content, (part) => Buffer.from(part as string)));
    });
  const file: Data["file"] = async (...args) => (await bytes(...args)).toString();
  return {
    use,
    load,
    file,
    bytes,
    addSite: async (name, settings = {}) =>
      void (await use((engine) => createSite(engine, name, settings, Date.now()))),
    addKey: (site) => use(async (engine) => (await createKey(engine, await getSite(engine, site), {}, Date.now())).key),
    addBrands: async (site, ...names) => void (await load(site, "brands", ["Name", ...names, ""].join("\n"))),
    brands: async (site) => JSON.parse(await file(site, "brands", "json")),
    check: () => use(async (engine) => engine.findInconsistencies()),
  };
}

function getResource(path: string): Resource {
  return publicResources(allResources).find((resource) => resource.path === path) as Resource;
}

function bytesOf(content: string | Uint8Array): ByteSource {
  const bytes = Buffer.from(content as string);
  return { size: bytes.length, read: async (start, length) => bytes.subarray(start, start + length) };
}
