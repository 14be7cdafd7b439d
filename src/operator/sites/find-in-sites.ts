// Finds records in many sites by reading the database, so that no site is loaded into memory for it.

import { createYielder } from "../../lib/yielding.ts";
import type { Engine, RecordRow } from "../../model/engine.ts";
import { publicResources } from "../../model/resource.ts";
import { allResources } from "../../resources/all.ts";

interface FoundRecord {
  /** Name of the site. */
  readonly site: string;
  /** Path of the resource. */
  readonly resource: string;
  readonly id: number;
  /** The name of the record; empty if it has none. */
  readonly name: string;
  /** The field that equals the text; `ID` for the ID. */
  readonly field: string;
}

interface FindLimits {
  /** Maximum results of one site. After this number of results, no further site is read. */
  readonly results: number;
  /** Milliseconds after which no further site is read. */
  readonly durationMs: number;
  /** Whether the client still waits for the result. */
  readonly isWanted: () => boolean;
}

/**
 * Finds the records whose ID is `text`, or that have `text` as the whole value of a field outside of groups: name, account number, code. Reads every
 * record of `sites`, in their order, within the limits; at least one site.
 * @returns the records, and as `next` the ID of the last site that was read if sites remain: continue with the sites after it
 * @throws ProblemError `unavailable`
 */
export async function findInSites(
  engine: Pick<Engine, "readSite">,
  sites: readonly { readonly ID: number; readonly Name: string }[],
  text: string,
  { results, durationMs, isWanted }: FindLimits,
): Promise<{ found: readonly FoundRecord[]; next: number | undefined }> {
  const matches = createMatcher(text);
  const end = performance.now() + durationMs;
  const found: FoundRecord[] = [];
  // One yielder for all sites, because most of them are small.
  const yieldIfDue = createYielder();
  for (const [index, { ID, Name }] of sites.entries()) {
    const rows = await findInSite(engine, ID, matches, { limit: results, isWanted, yieldIfDue });
    found.push(...rows.map((row) => ({ site: Name, ...row })));
    const isEnough = found.length >= results || performance.now() >= end || !isWanted();
    if (isEnough && index < sites.length - 1) return { found, next: ID };
  }
  return { found, next: undefined };
}

type Match = Omit<FoundRecord, "site">;

async function findInSite(
  engine: Pick<Engine, "readSite">,
  site: number,
  matches: (row: RecordRow) => Match | undefined,
  {
    limit,
    isWanted,
    yieldIfDue,
  }: { limit: number; isWanted: () => boolean; yieldIfDue: ReturnType<typeof createYielder> },
): Promise<readonly Match[]> {
  return engine.readSite(site, async ({ rowChunks }) => {
    const found: Match[] = [];
    for await (const rows of rowChunks) {
      for (const row of rows) {
        const match = matches(row);
        if (match) found.push(match);
        if (found.length >= limit) return found;
      }
      await yieldIfDue();
      if (!isWanted()) return found;
    }
    return found;
  });
}

function createMatcher(text: string): (row: RecordRow) => Match | undefined {
  const resources = new Map(publicResources(allResources).map((resource) => [resource.name, resource]));
  // Most records do not contain the text at all, and need not be parsed.
  const quoted = JSON.stringify(text);
  const wantedId = /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : undefined;
  return ({ resource: name, id, body }) => {
    const resource = resources.get(name);
    if (!resource || body === null || (id !== wantedId && !body.includes(quoted))) return undefined;
    const record = JSON.parse(body) as Record<string, unknown>;
    const field = resource.textFields.find(({ path }) => !path.includes(".") && record[path] === text)?.path;
    if (field === undefined && id !== wantedId) return undefined;
    return { resource: resource.path, id, name: String(record.Name ?? ""), field: field ?? "ID" };
  };
}
