// Finds records across many sites by reading the database, without loading any site into memory.

import { createYielder } from "../../lib/yielding.ts";
import type { Engine, RecordRow, RowSearch, SiteContents } from "../../model/engine.ts";
import { publicResources } from "../../model/resource.ts";
import { allResources } from "../../resources/all.ts";

interface FoundRecord {
  /** The site's name. */
  readonly site: string;
  /** The resource's path. */
  readonly resource: string;
  readonly id: number;
  /** The record's name; empty if it has none. */
  readonly name: string;
  /** The field that matches; `ID` for the ID. */
  readonly field: string;
}

interface FindLimits {
  /** Results per site. Once there are this many in total, no further site is read. */
  readonly results: number;
  /** After this time, no further site is read. */
  readonly durationMs: number;
  /** Whether the client is still waiting. */
  readonly isWanted: () => boolean;
}

interface NamedSite {
  readonly ID: number;
  readonly Name: string;
}

type SearchEngine = Pick<Engine, "readSite" | "readMatchingRows">;

/**
 * Finds records whose ID, name, account number, code or other top-level field is exactly `text`. Always reads at least one site, however tight the
 * limits.
 * @param sites by ID
 * @returns the records, and as `next` the last site that was read if there are more; continue with the sites after it
 * @throws ProblemError `unavailable`
 */
export async function findInSites(
  engine: SearchEngine,
  sites: readonly NamedSite[],
  text: string,
  { results, durationMs, isWanted }: FindLimits,
): Promise<{ found: readonly FoundRecord[]; next: number | undefined }> {
  const end = performance.now() + durationMs;
  const found: FoundRecord[] = [];
  const search = createSearch(text, results, isWanted);
  let remaining = sites.length;
  for await (const { site, matches } of searchSites(engine, sites, search)) {
    found.push(...matches.map((match) => ({ site: site.Name, ...match })));
    const isEnough = found.length >= results || performance.now() >= end || !isWanted();
    remaining--;
    if (isEnough && remaining > 0) return { found, next: site.ID };
  }
  return { found, next: undefined };
}

type Match = Omit<FoundRecord, "site">;

interface Search {
  /** Preselects rows that may match. */
  readonly rows: RowSearch;
  readonly matches: (row: RecordRow) => Match | undefined;
  /** Matches per site. */
  readonly limit: number;
  readonly isWanted: () => boolean;
  /** Shared by all sites, because most are small. */
  readonly yieldIfDue: ReturnType<typeof createYielder>;
}

function createSearch(text: string, limit: number, isWanted: () => boolean): Search {
  // Most records don't contain the text anywhere, so there's no need to parse them.
  const rows = { id: /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : undefined, text: JSON.stringify(text) };
  return { rows, matches: createMatcher(text, rows), limit, isWanted, yieldIfDue: createYielder() };
}

/** Searches one site after the other, or many small ones with a single query if the engine supports that. */
async function* searchSites(
  engine: SearchEngine,
  sites: readonly NamedSite[],
  search: Search,
): AsyncGenerator<{ readonly site: NamedSite; readonly matches: readonly Match[] }> {
  const ids = sites.map(({ ID }) => ID);
  let tried = sites.length;
  for (let next = 0, end = 0; next < sites.length; next = end) {
    const read = await engine.readMatchingRows?.(ids.slice(next, next + tried), search.rows);
    const bySite = Map.groupBy(read?.rows ?? [], ({ site }) => site);
    end = next + (read?.siteCount || 1);
    // If many rows may match, a query covers only a few of its sites, and its work on the others is wasted. So the next one tries fewer.
    tried = 2 * (end - next);
    for (const site of sites.slice(next, end)) {
      const matches = read?.siteCount
        ? await selectMatches([bySite.get(site.ID) ?? []], search)
        : await engine.readSite(site.ID, ({ rowChunks }) => selectMatches(rowChunks, search));
      yield { site, matches };
    }
  }
}

async function selectMatches(
  rowChunks: SiteContents["rowChunks"],
  { matches, limit, isWanted, yieldIfDue }: Search,
): Promise<readonly Match[]> {
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
}

function createMatcher(text: string, { id: wantedId, text: quoted }: RowSearch): (row: RecordRow) => Match | undefined {
  const resources = new Map(publicResources(allResources).map((resource) => [resource.name, resource]));
  return ({ resource: name, id, body }) => {
    const resource = resources.get(name);
    if (!resource || body === null || (id !== wantedId && !body.includes(quoted))) return undefined;
    const record = JSON.parse(body) as Record<string, unknown>;
    const field = resource.textFields.find(({ path }) => !path.includes(".") && record[path] === text)?.path;
    if (field === undefined && id !== wantedId) return undefined;
    return { resource: resource.path, id, name: String(record.Name ?? ""), field: field ?? "ID" };
  };
}
