// Checks stored rows for inconsistencies: in `storefront check`, of a database or a backup, and in `import-site`, of the rows in the file.
// It compares sites, records and journals. Of a webhook, it checks that it has a record, a state and a secret, of the same site.

import { openScratch } from "../../lib/scratch-database.ts";
import type { DumpedRow, RecordCount, RecordCounts } from "../../model/engine.ts";
import { withTemporaryFileErrors } from "../../model/errors.ts";
import { systemSite, webhookResourceName } from "../../model/system-site.ts";
import { isWebhookSecret } from "../../model/webhooks.ts";
import { tryParseCursorRevision } from "./cursor.ts";
import { isImportingEpoch, isUsableEpoch } from "./site-state.ts";

/**
 * Checks stored rows, in the order of a dump: all sites, then records, then the journal, then webhooks. Returns a sentence per inconsistency: for
 * example, a record that differs from the journal, a gap in a journal, a last ID that is lower than the ID of a record.
 */
export function findRowInconsistencies(rows: Iterable<DumpedRow>, onRow: () => void = () => {}): string[] {
  using checker = new ConsistencyChecker();
  for (const row of rows) {
    checker.add(row);
    onRow();
  }
  return checker.finish();
}

/** Checks rows that are still being read, as `findRowInconsistencies` does. */
export async function findStreamedInconsistencies(
  rows: AsyncIterable<DumpedRow>,
  onRow: () => void = () => {},
): Promise<string[]> {
  using checker = new ConsistencyChecker();
  for await (const row of rows) {
    checker.add(row);
    onRow();
  }
  return checker.finish();
}

/** Maximum inconsistencies that are listed. In a badly damaged database, each record may have some. */
export const maxListedInconsistencies = 1000;

/** Checks rows as `findRowInconsistencies` does. The caller adds them one by one, in the order of a dump. */
export class ConsistencyChecker {
  readonly #inconsistencies: string[] = [];
  #unlistedCount = 0;
  readonly #sites = new Map<number, CheckedSite>();
  readonly #records = new CheckedRecords();
  readonly #webhooks = new WebhookChecker();

  add({ table, row }: DumpedRow): void {
    if (table === "sites") this.#addSite(row);
    else if (table === "records") this.#addRecord(row);
    else if (table === "journal") this.#addEntry(row);
    else if (table === "webhook_state") this.#addWebhook(row, () => this.#webhooks.addState(row));
    else if (table === "webhook_secrets") this.#addWebhook(row, () => this.#webhooks.addSecret(row));
  }

  #addInconsistency(fault: string): void {
    if (this.#inconsistencies.length < maxListedInconsistencies) this.#inconsistencies.push(fault);
    else this.#unlistedCount++;
  }

  /** The first inconsistency so far; undefined if none exists. */
  get firstInconsistency(): string | undefined {
    return this.#inconsistencies[0];
  }

  /** Returns the inconsistencies, after the last row: at most 1,000 sentences. If there are more, a last sentence has the number of the others. */
  finish(): string[] {
    this.#checkSites();
    this.#checkEnds();
    for (const fault of this.#webhooks.finish()) this.#addInconsistency(fault);
    return this.#unlistedCount === 0
      ? this.#inconsistencies
      : [...this.#inconsistencies, `and ${this.#unlistedCount} more`];
  }

  [Symbol.dispose](): void {
    this.#records.close();
  }

  #checkSites(): void {
    for (const [id, site] of this.#sites) {
      const { isImporting, isUsable, lastEntryRevision, revision, remainingRows, counts, found } = site;
      if (counts && isUsable) for (const fault of wrongCounts(id, counts, found)) this.#addInconsistency(fault);
      if (isImporting)
        this.#addInconsistency(
          `site ${id}: an \`import-site\` is in progress or was interrupted; if it was interrupted, the next command removes the site`,
        );
      else if (!isUsable && remainingRows > 0)
        this.#addInconsistency(`site ${id} was removed, and ${remainingRows} of its rows are left`);
      if (lastEntryRevision < revision) this.#addInconsistency(gap(id, lastEntryRevision + 1, revision));
      else if (lastEntryRevision > revision)
        this.#addInconsistency(`site ${id} is at revision ${revision} and its journal ends at ${lastEntryRevision}`);
    }
  }

  /** Checks that the last journal entry of each record has the revision of the record, unless that entry was pruned. */
  #checkEnds(): void {
    for (const record of this.#records.different()) {
      const { site_id, revision, journal_end } = record;
      const isPruned = journal_end === 0 && revision <= (this.#sites.get(site_id)?.floor ?? 0);
      if (!isPruned)
        this.#addInconsistency(`${nameOf(record)} is at revision ${revision} and ${describeLastEntry(journal_end)}`);
    }
  }

  #addSite({ id, epoch, revision, floor, ...row }: Cells): void {
    const [lastIds, counts] = [parse(row.last_ids), parse(row.counts)];
    if (!lastIds) this.#addInconsistency(`site ${id} is damaged: its last IDs are not valid JSON`);
    if (!counts) this.#addInconsistency(`site ${id} is damaged: its counts are not valid JSON`);
    this.#sites.set(id, {
      isImporting: isImportingEpoch(epoch),
      isUsable: isUsableEpoch(epoch),
      revision,
      lastIds: lastIds ?? {},
      counts,
      found: {},
      floor,
      lastEntryRevision: floor,
      remainingRows: 0,
    });
  }

  #addRecord(row: Cells): void {
    const name = nameOf(row);
    const site = this.#sites.get(row.site_id);
    if (!site) return void this.#addInconsistency(`${name} belongs to no site`);
    if (!site.isUsable) return void site.remainingRows++;
    if (row.id > Number(site.lastIds[row.resource] ?? 0))
      this.#addInconsistency(`${name} has an ID above the last assigned ID`);
    if (row.site_id === systemSite && row.resource === webhookResourceName && row.body !== null)
      this.#webhooks.addRecord(row.id, parse(row.body) ?? {});
    if (row.body !== null && parse(row.body)?.ID !== row.id)
      this.#addInconsistency(`${name} is damaged: its JSON is invalid or has another ID`);
    const { site_id, resource, id } = row;
    this.#records.add({ site_id, resource, id, revision: row.revision, hash: hashOf(row.body) });
    const { count = 0, revision = 0 } = site.found[row.resource] ?? {};
    site.found[row.resource] = {
      count: count + (row.body === null ? 0 : 1),
      revision: Math.max(revision, row.revision),
    };
  }

  /** Checks a row about a webhook. Its site may have no row in `sites`, because a site that was never written to may have webhooks. */
  #addWebhook({ site_id }: Cells, add: () => void): void {
    const site = this.#sites.get(site_id);
    if (site && !site.isUsable) site.remainingRows++;
    else add();
  }

  #addEntry(row: Cells): void {
    const { site_id, resource, id, revision } = row;
    const site = this.#sites.get(site_id);
    if (!site) return void this.#addInconsistency(`site ${site_id}: its journal belongs to no site`);
    if (!site.isUsable) return void site.remainingRows++;
    if (revision <= site.floor)
      return void this.#addInconsistency(`site ${site_id}: entry ${revision} is before the beginning of the journal`);
    if (revision !== site.lastEntryRevision + 1)
      this.#addInconsistency(gap(site_id, site.lastEntryRevision + 1, revision - 1));
    site.lastEntryRevision = revision;
    const name = nameOf(row);
    const record = this.#records.addEntry({ site_id, resource, id, revision });
    if (!record) return void this.#addInconsistency(`${name} is in the journal and nowhere else`);
    if (record.revision === revision && record.hash !== hashOf(row.operation === "delete" ? null : row.body))
      this.#addInconsistency(`${name} differs from its entry ${revision} in the journal`);
  }
}

/** @param revision 0 if the record has no entry */
function describeLastEntry(revision: number): string {
  return revision === 0 ? "has no journal entry" : `its last journal entry is ${revision}`;
}

interface CheckedSite {
  readonly isImporting: boolean;
  /** Whether the site was not removed and is not being imported. Rows of other sites are not checked. */
  readonly isUsable: boolean;
  readonly revision: number;
  readonly lastIds: Cells;
  /** The counts of records in the row of the site; undefined if they are damaged. */
  readonly counts: RecordCounts | undefined;
  /** The counts of the rows of records so far. */
  readonly found: Record<string, RecordCount>;
  /** The revision before the first entry of the journal. */
  readonly floor: number;
  /** The revision of the last journal entry so far. */
  lastEntryRevision: number;
  /** The number of rows of a removed site so far. */
  remainingRows: number;
}

// biome-ignore lint/suspicious/noExplicitAny: rows of several tables; the name of the table decides
type Cells = Record<string, any>;

function nameOf(row: Cells): string {
  return `site ${row.site_id}: ${row.resource} ${row.id ?? ""}`;
}

function wrongCounts(site: number, counts: RecordCounts, found: RecordCounts): string[] {
  const resources = [...new Set([...Object.keys(counts), ...Object.keys(found)])];
  return resources
    .filter((name) => !Bun.deepEquals(counts[name], found[name]))
    .map(
      (name) =>
        `site ${site}: ${counts[name]?.count ?? 0} records of ${name} are counted, and there are ${found[name]?.count ?? 0}`,
    );
}

function gap(site: number, from: number, to: number): string {
  return `site ${site}: the journal lacks ${from === to ? `entry ${from}` : `the entries ${from} to ${to}`}`;
}

function hashOf(body: string | null): number {
  return body === null ? 0 : Bun.hash.crc32(body);
}

function parse(text: string): Cells | undefined {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

// Webhooks.

type Row = DumpedRow["row"];

/** The rows of a webhook so far. */
interface CheckedWebhook {
  /** The site in its record; undefined if no record exists. */
  site?: number;
  /** The site in its state; undefined if no state exists. */
  stateSite?: number;
  /** Whether the cursor in its state is well-formed. */
  hasCursor?: boolean;
  /** Number of secrets without an end. There must be exactly one. */
  presentSecretCount: number;
  /** Whether all secrets are well-formed. */
  areSecretsFit: boolean;
}

/** Checks the rows of webhooks. The caller adds them in any order. */
class WebhookChecker {
  readonly #webhooks = new Map<number, CheckedWebhook>();

  /** @param values the record of the webhook */
  addRecord(id: number, values: Readonly<Record<string, unknown>>): void {
    this.#of(id).site = Number(values.Site);
  }

  addState({ webhook_id, site_id, cursor }: Row): void {
    const webhook = this.#of(webhook_id);
    webhook.stateSite = Number(site_id);
    webhook.hasCursor = tryParseCursorRevision(String(cursor)) !== undefined;
  }

  addSecret({ webhook_id, secret, until }: Row): void {
    const webhook = this.#of(webhook_id);
    if (until === null) webhook.presentSecretCount++;
    webhook.areSecretsFit &&= isWebhookSecret(String(secret));
  }

  /** Returns the inconsistencies, after the last row. */
  finish(): string[] {
    return [...this.#webhooks].flatMap(
      ([id, webhook]) => describeWebhookFault(webhook)?.replace(/^/, `webhook ${id} `) ?? [],
    );
  }

  #of(id: unknown): CheckedWebhook {
    const webhook = this.#webhooks.get(Number(id)) ?? { presentSecretCount: 0, areSecretsFit: true };
    this.#webhooks.set(Number(id), webhook);
    return webhook;
  }
}

function describeWebhookFault({
  site,
  stateSite,
  hasCursor,
  presentSecretCount: present,
  areSecretsFit,
}: CheckedWebhook): string | undefined {
  if (site === undefined) return "has no record";
  if (stateSite === undefined)
    return "is incomplete: `webhook add` is in progress or was interrupted; if it was interrupted, remove the webhook";
  if (site !== stateSite) return `is of site ${site}, and its state of site ${stateSite}`;
  if (!hasCursor) return "has a damaged cursor";
  return present === 1 && areSecretsFit ? undefined : "has damaged secrets";
}

// The records that were read so far, each with the revision of its last journal entry. They are in a temporary file, because a site may have millions. Its
// columns have no types, because a damaged database may contain any values.

const withScratchErrors = withTemporaryFileErrors("the check cannot use its temporary file");

/** A resource of a site. */
interface Kind {
  readonly site_id: number;
  readonly resource: string;
}

/** A record, as the check stores it. */
interface CheckedRecord extends Kind {
  readonly id: number;
  readonly revision: number;
  /** CRC-32 of its JSON; 0 if it is deleted. */
  readonly hash: number;
  /** The revision of its last journal entry so far; 0 if none exists. */
  readonly journal_end: number;
}

/** The records, in a temporary file. All methods throw ProblemError `unavailable` if space is missing for the file. */
class CheckedRecords {
  readonly #database = openScratch(
    "create table scratch.records (kind, id, revision, hash, journal_end, primary key (kind, id)) without rowid",
  );
  readonly #add = this.#database.query<never, [number, number, number, number]>(
    "insert or replace into scratch.records values (?, ?, ?, ?, 0)",
  );
  readonly #find = this.#database.query<Pick<CheckedRecord, "revision" | "hash">, [number, number]>(
    "select revision, hash from scratch.records where kind = ? and id = ?",
  );
  readonly #setEnd = this.#database.query<never, [number, number, number]>(
    "update scratch.records set journal_end = ? where kind = ? and id = ?",
  );
  readonly #different = this.#database.query<CheckedRecord & { readonly kind: number }, []>(
    "select * from scratch.records where journal_end <> revision",
  );
  /** The resources of the sites. The file has their indexes, because a number is written and found in half the time of a name. */
  readonly #kinds: Kind[] = [];
  readonly #numbers = new Map<string, number>();

  add({ id, revision, hash, ...kind }: Omit<CheckedRecord, "journal_end">): void {
    withScratchErrors(() => this.#add.run(this.#numberOf(kind), id, revision, hash));
  }

  /** Saves the revision of a journal entry with its record. Returns the record; undefined if none exists. */
  addEntry({
    id,
    revision,
    ...kind
  }: Omit<CheckedRecord, "hash" | "journal_end">): Pick<CheckedRecord, "revision" | "hash"> | undefined {
    return withScratchErrors(() => {
      const number = this.#numberOf(kind);
      const record = this.#find.get(number, id) ?? undefined;
      if (record) this.#setEnd.run(revision, number, id);
      return record;
    });
  }

  /** Yields the records for which the last journal entry has another revision than the record. */
  *different(): Generator<CheckedRecord> {
    for (const { kind, ...record } of this.#different.iterate()) yield { ...record, ...(this.#kinds[kind] as Kind) };
  }

  close(): void {
    this.#database.close();
  }

  #numberOf({ site_id, resource }: Kind): number {
    const name = `${site_id}/${resource}`;
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.#kinds.length);
    return this.#kinds.push({ site_id, resource }) - 1;
  }
}
