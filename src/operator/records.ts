// Lists, creates, updates and deletes records for an operator.

import { type Intent, operatorActor, versionOf } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import type { Head } from "../model/head.ts";
import { parseNewRecord, parseRecordChanges, type StorefrontRecord, toDeclaredJson } from "../model/record.ts";
import type { Resource, TextFieldPath } from "../model/resource.ts";
import type { CollectionVersion } from "../store/memory/collection-version.ts";
import { anyField } from "../store/memory/order.ts";
import type { Selections } from "../store/memory/selections.ts";
import { Snapshot } from "../store/memory/snapshot.ts";
import type { SiteViews } from "../store/reads/site-views.ts";
import { epochChangedError, type RevisionRange, revisionsOf } from "./journal/journal-entries.ts";

interface RecordQuery {
  /** Text that the ID or one of the fields must contain, ignoring case. With several words, each of them must be contained. */
  readonly search: string;
  /** The order. An undefined field means the ID. */
  readonly sort: { readonly textField: TextFieldPath | undefined; readonly descending: boolean };
  readonly limit: number;
  readonly offset: number;
}

/** A record, and the version of this state of it. */
interface VersionedRecord {
  readonly record: StorefrontRecord;
  readonly version: string;
}

interface RecordPage {
  readonly records: readonly VersionedRecord[];
  /** The number of records on all pages. */
  readonly total: number;
}

/** Maximum words of a search. Further words are ignored. */
const maxWords = 8;
/** Number of records from which the first search is prepared: with 100,000 records, the first search takes 0.4 s, and each further search 0.03 s. */
const minPreparedRecords = 10_000;

/**
 * Returns a page of the records of a site. Loads the site into memory if necessary.
 * @param isWanted whether the client still waits for the result; if not, long work stops
 * @throws ProblemError `unavailable`, AbandonedWorkError
 */
export async function readRecordPage(
  siteViews: SiteViews,
  site: number,
  resource: Resource,
  { search, sort, limit, offset }: RecordQuery,
  isWanted: () => boolean,
): Promise<RecordPage> {
  const snapshot = await getSnapshot(siteViews, site);
  const collection = snapshot.collection(resource);
  const version = await collection.version();
  const { selections } = collection;
  const words = search.split(/\s+/).filter(Boolean).slice(0, maxWords);
  const filters = words.map((word) => ({ textField: anyField, operator: "contains", values: formsOf(word) }) as const);
  const ids = await selections.select(version, filters, [sort], isWanted);
  if (words.length === 0 && ids.length >= minPreparedRecords) void prepareSearch(selections, version);
  const records = ids.slice(offset, offset + limit).flatMap((id) => {
    const found = version.find(id);
    return found ? [{ record: JSON.parse(found.json), version: versionOf(snapshot.epoch, found.revision) }] : [];
  });
  return { records, total: ids.length };
}

/** Returns the forms that a word can have in a record: `é` is one character or two, with the same look (Unicode Standard Annex 15). */
function formsOf(word: string): string[] {
  return [...new Set([word, word.normalize("NFC"), word.normalize("NFD")])];
}

/** Prepares the first search, because a long list is often searched next: the first search creates the texts that all searches read. */
async function prepareSearch(selections: Selections, version: CollectionVersion): Promise<void> {
  const nothing = { textField: anyField, operator: "contains", values: ["\0"] } as const;
  try {
    await selections.select(version, [nothing], [], () => true);
  } catch {
    // The search itself reports the error.
  }
}

/** Reads a record; undefined if it does not exist. The site need not be in memory. */
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

// Creating, updating and deleting records.

export interface WrittenRecord extends VersionedRecord {
  /** The revisions of the change; undefined if nothing changed. */
  readonly revisions: RevisionRange | undefined;
}

/**
 * Creates a record.
 * @param input its values
 * @throws ProblemError `invalid-record` with all field errors, or `conflict` if the site was removed at the same time
 */
export function createRecord(
  engine: Engine,
  site: number,
  resource: Resource,
  input: unknown,
  at: number,
): Promise<WrittenRecord> {
  const text = JSON.stringify(parseNewRecord(resource, input));
  return write(engine, resource, {
    site,
    resource: resource.name,
    operation: "create",
    valuesJson: text,
    actor: operatorActor,
    at,
  });
}

/**
 * Updates the fields that are present in `input`.
 * @param ifVersion the version that the operator has seen; undefined to update any version
 * @throws ProblemError `invalid-record` with all field errors, `not-found`, `precondition-failed` if the record has another version now, or
 *   `conflict` if the site was removed at the same time
 */
export function updateRecord(
  engine: Engine,
  site: number,
  resource: Resource,
  id: number,
  input: unknown,
  { ifVersion, at }: { readonly ifVersion: string | undefined; readonly at: number },
): Promise<WrittenRecord> {
  const valuesJson = JSON.stringify(parseRecordChanges(resource, input).values);
  const common = { site, resource: resource.name, id, valuesJson, actor: operatorActor, at };
  return write(engine, resource, {
    ...common,
    operation: "update",
    ifVersion: ifVersion === undefined ? undefined : [ifVersion],
  });
}

async function write(engine: Engine, resource: Resource, intent: Intent): Promise<WrittenRecord> {
  const outcomes = await engine.commit([intent]);
  const [outcome] = outcomes;
  if (!outcome) throw new Error("a commit without an outcome");
  if (outcome.kind !== "rejected") {
    const record = JSON.parse(toDeclaredJson(resource, outcome.body));
    return { record, version: versionOf(outcome.epoch, outcome.revision), revisions: revisionsOf(outcomes) };
  }
  if (outcome.rejectionReason === "other-epoch") throw epochChangedError();
  const name = `the ${resource.singular} ${intent.id}`;
  if (outcome.rejectionReason === "precondition-failed")
    throw new ProblemError("precondition-failed", `${name} was changed by someone else meanwhile`);
  throw new ProblemError("not-found", `${name} does not exist any more`);
}

interface DeletedRecords {
  /** The deleted records as JSON texts, in the order of `ids`. */
  readonly records: readonly string[];
  readonly revisions: RevisionRange | undefined;
}

/**
 * Deletes records, all of them or none. An ID that occurs twice counts once.
 * @throws ProblemError `not-found` with an ID that does not exist, `conflict` if the site was restored, renewed or removed at the same time
 */
export async function deleteRecords(
  engine: Engine,
  site: number,
  resource: Resource,
  ids: readonly number[],
  at: number,
): Promise<DeletedRecords> {
  const [head] = (await engine.readHeads([site])) as [Head];
  const unique = [...new Set(ids)];
  const common = {
    site,
    resource: resource.name,
    operation: "delete",
    valuesJson: "{}",
    actor: operatorActor,
    at,
  } as const;
  const ifEpoch = head.revision === 0 ? undefined : head.epoch;
  const outcomes = await engine.commit(
    unique.map((id) => ({ ...common, id, ifEpoch })),
    { atomic: true },
  );
  const records = outcomes.map((outcome, index) => {
    if (outcome.kind !== "rejected") return outcome.body;
    if (outcome.rejectionReason === "other-epoch") throw epochChangedError();
    throw new ProblemError("not-found", `there is no ${resource.singular} ${unique[index]}; nothing was deleted`);
  });
  return { records, revisions: revisionsOf(outcomes) };
}
