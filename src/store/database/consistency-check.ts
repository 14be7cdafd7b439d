// Checks stored rows for inconsistencies between sites, records and journals, and makes sure that each webhook has a record, a state and a secret for
// the same site. `storefront check` uses it on databases and backups, `import-site` on the rows in a file.

import { openScratch } from "../../lib/scratch-database.ts";
import type { DumpedRow, RecordCount, RecordCounts } from "../../model/engine.ts";
import { withTemporaryFileErrors } from "../../model/errors.ts";
import { systemSite, webhookResourceName } from "../../model/system-site.ts";
import { isWebhookSecret } from "../../model/webhooks.ts";
import { tryParseCursorRevision } from "./cursor.ts";
import { isImportingEpoch, isUsableEpoch } from "./site-state.ts";

/**
 * Checks rows in the order of a dump: all sites, then records, the journal, and webhooks. Returns a sentence per inconsistency, such as a record that
 * differs from the journal, a gap in a journal, or a last ID below a record's.
 */
export function findRowInconsistencies(rows: Iterable<DumpedRow>, onRow: () => void = () => {}): string[] {
  using checker = new ConsistencyChecker();
  for (const row of rows) {
    checker.add(row);
    onRow();
  }
  return checker.finish();
}

/** The same for rows that are still being read. */
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

/** In a badly damaged database, every record may have some. */
export const maxListedInconsistencies = 1000;

/** Like `findRowInconsistencies`, for rows added one by one in the order of a dump. */
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

  /** The first inconsistency found so far. */
  get firstInconsistency(): string | undefined {
    return this.#inconsistencies[0];
  }

  /** Returns the inconsistencies after the last row: up to 1,000 sentences, then one that counts the rest. */
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
          `site ${id}: an \`import-site\` is in progress or was interrupted; if it was interrupted, the next command will remove the site`,
        );
      else if (!isUsable && remainingRows > 0)
        this.#addInconsistency(`site ${id} was removed, but ${remainingRows} of its rows are left`);
      if (lastEntryRevision < revision) this.#addInconsistency(gap(id, lastEntryRevision + 1, revision));
      else if (lastEntryRevision > revision)
        this.#addInconsistency(`site ${id} is at revision ${revision}, but its journal ends at ${lastEntryRevision}`);
    }
  }

  /** Checks that each record's last journal entry has its revision, unless that entry was pruned. */
  #checkEnds(): void {
    for (const record of this.#records.different()) {
      const { site_id, revision, journal_end } = record;
      const isPruned = journal_end === 0 && revision <= (this.#sites.get(site_id)?.floor ?? 0);
      if (!isPruned)
        this.#addInconsistency(`${nameOf(record)} is at revision ${revision}, but ${describeLastEntry(journal_end)}`);
    }
  }

  #addSite({ id, epoch, revision, floor, ...row }: Cells): void {
    const [lastIds, counts] = [parse(row.last_ids), parse(row.counts)];
    if (!lastIds) this.#addInconsistency(`site ${id} is damaged: its last IDs aren't valid JSON`);
    if (!counts) this.#addInconsistency(`site ${id} is damaged: its counts aren't valid JSON`);
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
      this.#addInconsistency(`${name} is damaged: its JSON is invalid or has the wrong ID`);
    const { site_id, resource, id } = row;
    this.#records.add({ site_id, resource, id, revision: row.revision, hash: hashOf(row.body) });
    const { count = 0, revision = 0 } = site.found[row.resource] ?? {};
    site.found[row.resource] = {
      count: count + (row.body === null ? 0 : 1),
      revision: Math.max(revision, row.revision),
    };
  }

  /** A site that was never written to can have webhooks without a row in `sites`. */
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
      return void this.#addInconsistency(`site ${site_id}: entry ${revision} is before the start of the journal`);
    if (revision !== site.lastEntryRevision + 1)
      this.#addInconsistency(gap(site_id, site.lastEntryRevision + 1, revision - 1));
    site.lastEntryRevision = revision;
    const name = nameOf(row);
    const record = this.#records.addEntry({ site_id, resource, id, revision });
    if (!record) return void this.#addInconsistency(`${name} is only in the journal`);
    if (record.revision === revision && record.hash !== hashOf(row.operation === "delete" ? null : row.body))
      this.#addInconsistency(`${name} differs from its journal entry ${revision}`);
  }
}

/** @param revision 0 if the record has no entry */
function describeLastEntry(revision: number): string {
  return revision === 0 ? "has no journal entry" : `its last journal entry is ${revision}`;
}

interface CheckedSite {
  readonly isImporting: boolean;
  /** Whether the site was neither removed nor is being imported. Otherwise its rows aren't checked. */
  readonly isUsable: boolean;
  readonly revision: number;
  readonly lastIds: Cells;
  /** As stored with the site; undefined if damaged. */
  readonly counts: RecordCounts | undefined;
  /** The actual counts so far. */
  readonly found: Record<string, RecordCount>;
  /** The revision before the journal's first entry. */
  readonly floor: number;
  /** The last journal entry so far. */
  lastEntryRevision: number;
  /** Rows of a removed site so far. */
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
      (name) => `site ${site}: the count of ${name} is ${toText(counts[name])}, but should be ${toText(found[name])}`,
    );
}

function toText({ count, revision }: RecordCount = { count: 0, revision: 0 }): string {
  return `${count} (last change: ${revision})`;
}

function gap(site: number, from: number, to: number): string {
  return `site ${site}: the journal lacks ${from === to ? `entry ${from}` : `entries ${from} to ${to}`}`;
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

type Row = DumpedRow["row"];

/** What the rows of a webhook said so far. */
interface CheckedWebhook {
  /** The site in its record, if there is one. */
  site?: number;
  /** The site in its state, if there is one. */
  stateSite?: number;
  /** Whether the cursor in its state is well-formed. */
  hasCursor?: boolean;
  /** Secrets without an end. There must be exactly one. */
  currentSecretCount: number;
  /** Whether all secrets are well-formed. */
  areSecretsValid: boolean;
}

/** Checks the rows of webhooks, added in any order. */
class WebhookChecker {
  readonly #webhooks = new Map<number, CheckedWebhook>();

  /** @param values the webhook's record */
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
    if (until === null) webhook.currentSecretCount++;
    webhook.areSecretsValid &&= isWebhookSecret(String(secret));
  }

  finish(): string[] {
    return [...this.#webhooks].flatMap(
      ([id, webhook]) => describeWebhookFault(webhook)?.replace(/^/, `webhook ${id} `) ?? [],
    );
  }

  #of(id: unknown): CheckedWebhook {
    const webhook = this.#webhooks.get(Number(id)) ?? { currentSecretCount: 0, areSecretsValid: true };
    this.#webhooks.set(Number(id), webhook);
    return webhook;
  }
}

function describeWebhookFault({
  site,
  stateSite,
  hasCursor,
  currentSecretCount,
  areSecretsValid,
}: CheckedWebhook): string | undefined {
  if (site === undefined) return "has no record";
  if (stateSite === undefined)
    return "is incomplete: `webhook add` is in progress or was interrupted; if it was interrupted, remove the webhook";
  if (site !== stateSite) return `belongs to site ${site}, but its state to site ${stateSite}`;
  if (!hasCursor) return "has a damaged cursor";
  return currentSecretCount === 1 && areSecretsValid ? undefined : "has damaged secrets";
}

// The records read so far, each with the revision of its last journal entry. They're in a temporary file because a site may have millions. The
// columns have no types because a damaged database can contain anything.

const withScratchErrors = withTemporaryFileErrors("the check can't use its temporary file");

/** A resource of a site. */
interface Kind {
  readonly site_id: number;
  readonly resource: string;
}

interface CheckedRecord extends Kind {
  readonly id: number;
  readonly revision: number;
  /** CRC-32 of its JSON; 0 if deleted. */
  readonly hash: number;
  /** The revision of its last journal entry so far; 0 if there's none. */
  readonly journal_end: number;
}

/** All methods throw ProblemError `unavailable` if there's no space for the temporary file. */
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
  /** The file has indexes into this list, because numbers are written and found twice as fast as names. */
  readonly #kinds: Kind[] = [];
  readonly #numbers = new Map<string, number>();

  add({ id, revision, hash, ...kind }: Omit<CheckedRecord, "journal_end">): void {
    withScratchErrors(() => this.#add.run(this.#numberOf(kind), id, revision, hash));
  }

  /** Saves the revision of a journal entry with its record, and returns the record, if there is one. */
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

  /** Yields the records whose revision isn't that of their last journal entry. */
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
