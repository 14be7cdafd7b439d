// Creates one site, or all sites in a list, or none.

import { isBlank, isRepeatedHeader, readCsvRows } from "../../formats/csv.ts";
import { decodeText } from "../../formats/text-encoding.ts";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { createApiKey } from "../../model/api-key.ts";
import type { Intent } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { type FieldError, fault, invalidRecordError, ProblemError } from "../../model/errors.ts";
import { site as siteResource } from "../../resources/site.ts";
import { commitSystemChanges, toCreateIntent } from "../../system/system-changes.ts";
import type { SiteRecord, SystemRecords } from "../../system/system-records.ts";
import { createKeyIntent, type KeySettings, toNewKeyValues } from "./keys.ts";
import { removeSite } from "./site-removal.ts";
import { requireUnusedNames, setSite, toSiteValues, toUnsetDefaultIntents } from "./sites.ts";

export interface RequestedSite {
  /** Its row in the file, where the header is row 1; undefined if it isn't from a file. */
  readonly row?: number;
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
}

export interface CreatedSite {
  readonly site: SiteRecord;
  /** The key itself, which isn't stored; undefined without `keySettings`. */
  readonly key: string | undefined;
}

/** Sites per file, because they're stored in one transaction. */
const maxSites = 1000;

const columns = ["name", "hostnames", "default"] as const;

/**
 * Reads a CSV file with the columns `name`, `hostnames` (separated by white space or semicolons) and `default` (`yes`, `no` or empty). Only `name` is
 * required.
 * @throws ProblemError `bad-request` if it isn't such a file, `invalid-record` with the errors of all rows
 */
export async function readSiteList(bytes: AsyncIterable<Uint8Array>): Promise<readonly RequestedSite[]> {
  const sites: RequestedSite[] = [];
  const fieldErrors: FieldError[] = [];
  let header: readonly string[] | undefined;
  for await (const read of readCsvRows(decodeText(bytes))) {
    for (const { number: row, cells, fault: syntax } of read.rows) {
      if (syntax) fieldErrors.push({ field: `row ${row}`, ...fault("syntax", syntax.detail) });
      else if (!header) header = parseHeader(cells);
      else if (!isRepeatedHeader(header, toNames(cells))) sites.push(parseRow(header, cells, row, fieldErrors));
      if (sites.length > maxSites)
        throw new ProblemError("bad-request", `the file has more than ${maxSites} sites; split it`);
    }
  }
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors);
  if (sites.length === 0) throw new ProblemError("bad-request", "the file has no sites");
  return sites;
}

/**
 * Creates sites, each with a key if there are `keySettings`.
 * @param handOver gets the sites and keys once they're stored. If it throws, the sites are removed again, because nobody has their keys.
 * @throws ProblemError `unavailable` if `handOver` throws, `invalid-record` with the errors of all rows, or for a single site like `createSite`
 */
export async function createSites(
  engine: Engine,
  requested: readonly RequestedSite[],
  keySettings: KeySettings | undefined,
  now: number,
  handOver: (added: readonly CreatedSite[]) => void = () => {},
): Promise<readonly CreatedSite[]> {
  let keys: string[] = [];
  let replacedDefault: SiteRecord | undefined;
  const bodies = await commitSystemChanges(engine, (system) => {
    const sites = toSiteIntents(requested, system, now);
    const firstId = system.nextSiteId;
    keys = keySettings ? requested.map(() => createApiKey().key) : [];
    const values = toNewKeyValues(keySettings ?? {});
    const issued = keys.map((key, index) => createKeyIntent(firstId + index, values, key, now));
    const before = system.sites;
    const hasDefault = requested.some(({ isDefault }) => isDefault);
    replacedDefault = hasDefault ? before.find(({ Default }) => Default === "yes") : undefined;
    const replaced = hasDefault ? toUnsetDefaultIntents(before, undefined, { isDefault: true }, now) : [];
    return [...sites, ...issued, ...replaced];
  });
  const added = requested.map((_, index) => ({ site: JSON.parse(bodies[index] as string), key: keys[index] }));
  try {
    handOver(added);
  } catch (cause) {
    const names = added.length === 1 ? `the site ${added[0]?.site.Name} was` : `the ${added.length} sites were`;
    await removeCreatedSites(engine, added, replacedDefault).catch((error) => {
      const detail = `${errorMessage(cause)}; ${names} created, and couldn't be removed again (${errorMessage(error)}): remove with \`site remove\``;
      throw new ProblemError("unavailable", detail, { cause });
    });
    const detail = `${errorMessage(cause)}; ${names} removed again, because nobody has the key`;
    throw new ProblemError("unavailable", detail, { cause });
  }
  return added;
}

/** Also makes the previous default site the default again. */
async function removeCreatedSites(
  engine: Engine,
  added: readonly CreatedSite[],
  replacedDefault: SiteRecord | undefined,
): Promise<void> {
  for (const { site } of added) await removeSite(engine, site.Name, Date.now());
  if (replacedDefault) await setSite(engine, replacedDefault.Name, { isDefault: true }, Date.now());
}

function parseHeader(cells: readonly string[]): readonly string[] {
  const names = toNames(cells);
  const unknown = names.find((name) => !(columns as readonly string[]).includes(name));
  if (unknown === undefined && names.includes("name") && new Set(names).size === names.length) return names;
  const found = unknown === undefined ? "" : `; \`${unknown}\` isn't one of them`;
  throw new ProblemError(
    "bad-request",
    `the first row must name the columns: \`${columns.join("`, `")}\`, of which only \`name\` is required${found}`,
  );
}

function toNames(cells: readonly string[]): string[] {
  return cells.map((cell) => cell.trim().toLowerCase());
}

function parseRow(
  header: readonly string[],
  cells: readonly string[],
  row: number,
  fieldErrors: FieldError[],
): RequestedSite {
  const cell = (name: (typeof columns)[number]) => cells[header.indexOf(name)]?.trim() ?? "";
  const answer = cell("default").toLowerCase();
  if (!isBlank(cells.slice(header.length)))
    fieldErrors.push({
      field: `row ${row}`,
      ...fault("too-many", " cells, as in the first row", { max: header.length }),
    });
  if (!["", "yes", "no"].includes(answer))
    fieldErrors.push({ field: `row ${row}`, ...fault("invalid", "set `default` to yes or no, or leave it empty") });
  const hostnames = cell("hostnames")
    .split(/[\s;]+/)
    .filter((host) => host !== "");
  return { row, name: cell("name"), hostnames, isDefault: answer === "yes" };
}

/** The sites' IDs follow the last one used. */
function toSiteIntents(requested: readonly RequestedSite[], system: SystemRecords, now: number): Intent[] {
  const sites = [...system.sites];
  const firstId = system.nextSiteId;
  const fieldErrors: FieldError[] = [];
  const intents: Intent[] = [];
  let hasDefault = false;
  for (const [index, { row, ...settings }] of requested.entries()) {
    try {
      if (settings.isDefault && hasDefault)
        throw new ProblemError("conflict", "another row is already the default site");
      hasDefault ||= settings.isDefault;
      const values = toSiteValues(settings, undefined, now);
      requireUnusedNames(sites, undefined, values);
      const intent = toCreateIntent(siteResource, values, now, firstId + index);
      intents.push(intent);
      sites.push({ ...JSON.parse(intent.valuesJson), ID: firstId + index });
    } catch (error) {
      if (!(error instanceof ProblemError) || row === undefined) throw error;
      fieldErrors.push({ field: `row ${row}`, code: error.code, detail: error.message });
    }
  }
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors);
  return intents;
}
