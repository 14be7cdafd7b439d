// Reads records for an operator: single ones with their versions, and pages with searching and sorting.

import { yieldBetween } from "../../lib/yielding.ts";
import { versionOf } from "../../model/change.ts";
import { type StorefrontRecord, valueAt } from "../../model/record.ts";
import { findTextField, type Resource, type TextFieldPath } from "../../model/resource.ts";
import type { Collection } from "../../store/memory/collection.ts";
import type { CollectionVersion } from "../../store/memory/collection-version.ts";
import { findNearestNames } from "../../store/memory/nearest-names.ts";
import { anyField } from "../../store/memory/order.ts";
import type { Selections } from "../../store/memory/selections.ts";
import { Snapshot } from "../../store/memory/snapshot.ts";
import type { SiteViews } from "../../store/reads/site-views.ts";

interface RecordQuery {
  /** Every word must be contained in the ID or a field, ignoring case. */
  readonly search: string;
  /** An undefined field means the ID. */
  readonly sort: { readonly textField: TextFieldPath | undefined; readonly descending: boolean };
  readonly limit: number;
  readonly offset: number;
}

export interface VersionedRecord {
  readonly record: StorefrontRecord;
  readonly version: string;
}

interface RecordPage {
  readonly records: readonly VersionedRecord[];
  /** Records on all pages. */
  readonly total: number;
  /** The number of records, ignoring the search. */
  readonly size: number;
  /** The most similar names, if the search finds nothing. */
  readonly suggestions?: readonly string[];
}

/** Further words of a search are ignored. */
const maxWords = 8;
/** Longer lists get ready for a search in advance: with 100,000 records, the first search takes 0.4 s, and later ones 5 ms. */
const minPreparedRecords = 10_000;

/**
 * Loads the site into memory if necessary.
 * @param isWanted whether the client is still waiting. If not, long work stops
 * @throws ProblemError `unavailable`, AbandonedWorkError
 */
export async function readRecordPage(
  siteViews: SiteViews,
  site: number,
  resource: Resource,
  { search, sort, limit, offset }: RecordQuery,
  isWanted: () => boolean,
): Promise<RecordPage> {
  const { snapshot, collection, version, ids } = await selectRecords(
    siteViews,
    site,
    resource,
    { search, sort },
    isWanted,
  );
  if (search.trim() === "" && ids.length >= minPreparedRecords) void prepareSearch(collection.selections, version);
  const found = { total: ids.length, size: version.size };
  if (ids.length === 0 && version.size > 0) {
    const suggestions = await suggestNames(collection, version, search, isWanted);
    return { ...found, suggestions, records: [] };
  }
  const records: VersionedRecord[] = [];
  for await (const id of yieldBetween(ids.slice(offset, offset + limit))) {
    const one = version.find(id);
    if (one) records.push({ record: JSON.parse(one.json), version: versionOf(snapshot.epoch, one.revision) });
  }
  return { ...found, records };
}

/** What a search finds in one version of the site. */
interface SelectedRecords {
  readonly snapshot: Snapshot;
  readonly collection: Collection;
  readonly version: CollectionVersion;
  /** In the order of the query. */
  readonly ids: readonly number[];
}

/** Finds all matching records, however many there are. @throws like `readRecordPage` */
export async function selectRecords(
  siteViews: SiteViews,
  site: number,
  resource: Resource,
  { search, sort }: Pick<RecordQuery, "search" | "sort">,
  isWanted: () => boolean,
): Promise<SelectedRecords> {
  const snapshot = await getSnapshot(siteViews, site);
  const collection = snapshot.collection(resource);
  const version = await collection.version();
  const filters = wordsOf(search).map(
    (word) => ({ textField: anyField, operator: "contains", values: formsOf(word) }) as const,
  );
  return { snapshot, collection, version, ids: await collection.selections.select(version, filters, [sort], isWanted) };
}

/**
 * Yields the JSON of the records that a list has, as of one moment and in the list's order.
 * @param chosen leaves out all other records
 * @throws like `readRecordPage`
 */
export async function* readFound(
  siteViews: SiteViews,
  site: number,
  resource: Resource,
  query: Pick<RecordQuery, "search" | "sort">,
  isWanted: () => boolean,
  chosen?: ReadonlySet<number>,
): AsyncGenerator<string> {
  const { version, ids } = await selectRecords(siteViews, site, resource, query, isWanted);
  for await (const id of yieldBetween(ids)) {
    const found = chosen && !chosen.has(id) ? undefined : version.find(id);
    if (found) yield found.json;
  }
}

function wordsOf(search: string): string[] {
  return search.split(/\s+/).filter(Boolean).slice(0, maxWords);
}

/** The forms a word can have in a record: `é` is one character or two that look the same (Unicode Standard Annex 15). */
function formsOf(word: string): string[] {
  return [...new Set([word, word.normalize("NFC"), word.normalize("NFD")])];
}

const maxSuggestions = 5;
/** Searches per version whose suggestions are cached. */
const maxCachedSuggestions = 32;

/** By version, then by the words of the search. */
const cachedSuggestions = new WeakMap<CollectionVersion, Map<string, readonly string[]>>();

/** The names most similar to a search. */
async function suggestNames(
  { resource, limiter }: Collection,
  version: CollectionVersion,
  search: string,
  isWanted: () => boolean,
): Promise<readonly string[]> {
  const words = wordsOf(search).join(" ");
  const cached = cachedSuggestions.get(version) ?? new Map<string, readonly string[]>();
  cachedSuggestions.set(version, cached);
  const known = cached.get(words);
  if (known) return known;
  const nameField = nameFieldOf(resource);
  const find = () => findNearestNames(version.blocks, resource.textFields, nameField, words, maxSuggestions);
  const ids = await limiter.run(`names ${version.number} ${words}`, find, isWanted);
  const names = ids.map((id) => valueAt(JSON.parse(version.find(id)?.json ?? "{}"), nameField));
  if (cached.size >= maxCachedSuggestions) cached.clear();
  cached.set(words, names);
  return names;
}

/** Every resource of a site has a `Name`. */
export function nameFieldOf(resource: Resource): TextFieldPath {
  return findTextField(resource, "Name") as TextFieldPath;
}

/** A long list is often searched next, and its first search has to build the texts that all searches read. */
async function prepareSearch(selections: Selections, version: CollectionVersion): Promise<void> {
  const nothing = { textField: anyField, operator: "contains", values: ["\0"] } as const;
  try {
    await selections.select(version, [nothing], [], () => true);
  } catch {
    // The search itself will report the error.
  }
}

/** Works even if the site isn't in memory. */
export async function findVersioned(
  siteViews: SiteViews,
  site: number,
  resource: Resource,
  id: number,
): Promise<VersionedRecord | undefined> {
  const siteView = await siteViews.getUpToDate(site);
  const found = await siteView.lookUpRecord(resource, id);
  return found && { record: JSON.parse(found.json), version: versionOf(siteView.epoch, found.revision) };
}

async function getSnapshot(siteViews: SiteViews, site: number): Promise<Snapshot> {
  const siteView = await siteViews.getUpToDate(site);
  return siteView instanceof Snapshot ? siteView : await siteView.loadSnapshot();
}
