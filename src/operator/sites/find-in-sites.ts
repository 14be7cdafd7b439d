// Finds records in many sites by reading the database, so that no site is loaded into memory for it.

import { createYielder } from "../../lib/yielding.ts";
import type { Engine, RecordRow, RowSearch, SiteContents } from "../../model/engine.ts";
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

/** A site to search. */
interface NamedSite {
  readonly ID: number;
  readonly Name: string;
}

type SearchEngine = Pick<Engine, "readSite" | "readMatchingRows">;

/**
 * Finds the records whose ID is `text`, or that have `text` as the whole value of a field outside of groups: name, account number, code. Searches every
 * record of `sites` within the limits; at least one site.
 * @param sites in the order of their IDs
 * @returns the records, and as `next` the ID of the last site that was read if sites remain: continue with the sites after it
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
  /** Selects the rows that may match. */
  readonly rows: RowSearch;
  readonly matches: (row: RecordRow) => Match | undefined;
  /** Maximum matches of one site. */
  readonly limit: number;
  readonly isWanted: () => boolean;
  /** One yielder for all sites, because most of them are small. */
  readonly yieldIfDue: ReturnType<typeof createYielder>;
}

function createSearch(text: string, limit: number, isWanted: () => boolean): Search {
  // Most records do not contain the text at all, and need not be parsed.
  const rows = { id: /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : undefined, text: JSON.stringify(text) };
  return { rows, matches: createMatcher(text, rows), limit, isWanted, yieldIfDue: createYielder() };
}

/** Searches one site after the other. If the engine can, it searches many small sites with one query. */
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
    // If a query read few of its sites, because many rows may match, it has searched the other sites in vain.
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
