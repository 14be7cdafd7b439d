import type { DumpedRow } from "../model/dump.ts";
import type { RecordCount, RecordCounts } from "../model/engine.ts";
import { systemSite, webhookResourceName } from "../model/system-site.ts";
import { CheckedRecords } from "./checked-records.ts";
import { readCounts } from "./record-counts.ts";
import { hasHistory, isFillingEpoch } from "./site-fill.ts";
import { WebhookChecker } from "./webhook-check.ts";

/**
 * Checks stored rows, in the order of a dump: all sites, then records, then the journal, then webhooks. Returns what is wrong, in sentences: records
 * that differ from the journal, gaps in a journal, counters lower than their records.
 */
export function checkRows(rows: Iterable<DumpedRow>, onRow: () => void = () => {}): string[] {
  using checker = new Checker();
  for (const row of rows) {
    checker.add(row);
    onRow();
  }
  return checker.end();
}

/** Faults that are listed: of a badly damaged database, each record may have some. */
export const maxListedFaults = 1000;

/** The same for rows that are added one by one. */
export class Checker {
  readonly #faults: string[] = [];
  #moreFaults = 0;
  readonly #sites = new Map<number, CheckedSite>();
  readonly #records = new CheckedRecords();
  readonly #webhooks = new WebhookChecker();

  add({ table, row }: DumpedRow): void {
    if (table === "sites") this.#addSite(row);
    else if (table === "records") this.#addRecord(row);
    else if (table === "journal") this.#addChange(row);
    else if (table === "webhook_state") this.#addWebhook(row, () => this.#webhooks.addState(row));
    else if (table === "webhook_secrets") this.#addWebhook(row, () => this.#webhooks.addSecret(row));
  }

  #fault(fault: string): void {
    if (this.#faults.length < maxListedFaults) this.#faults.push(fault);
    else this.#moreFaults++;
  }

  /** The first fault so far, undefined if there is none. */
  get firstFault(): string | undefined {
    return this.#faults[0];
  }

  /** What is wrong, after the last row: at most 1,000 sentences, and after those one with the number of the others. */
  end(): string[] {
    this.#checkSites();
    this.#checkEnds();
    for (const fault of this.#webhooks.end()) this.#fault(fault);
    return this.#moreFaults === 0 ? this.#faults : [...this.#faults, `and ${this.#moreFaults} more`];
  }

  [Symbol.dispose](): void {
    this.#records.close();
  }

  #checkSites(): void {
    for (const [id, { isFilling, isRemoved, journalEnd, revision, rowsLeft, counts, found }] of this.#sites) {
      if (counts && !isRemoved) for (const fault of wrongCounts(id, counts, found)) this.#fault(fault);
      if (isFilling)
        this.#fault(`site ${id}: an \`import-site\` is under way or was interrupted; then a later command removes it`);
      else if (isRemoved && rowsLeft > 0) this.#fault(`site ${id} was removed, and ${rowsLeft} of its rows are left`);
      if (journalEnd < revision) this.#fault(gap(id, journalEnd + 1, revision));
      else if (journalEnd > revision)
        this.#fault(`site ${id} is at revision ${revision} and its journal ends at ${journalEnd}`);
    }
  }

  /** Checks that the last entry of each record is that of its revision. */
  #checkEnds(): void {
    for (const record of this.#records.different()) {
      const { site_id, revision, journal_end } = record;
      const isPruned = journal_end === 0 && revision <= (this.#sites.get(site_id)?.floor ?? 0);
      if (!isPruned) this.#fault(`${nameOf(record)} is at revision ${revision} and its journal ends at ${journal_end}`);
    }
  }

  #addSite({ id, epoch, revision, live = null, live_revision = null, floor = null, ...row }: Cells): void {
    const counters = parse(row.counters);
    if (!counters) this.#fault(`site ${id} is damaged: its counters are not valid JSON`);
    const isDamaged = live !== null && !parse(live);
    if (isDamaged) this.#fault(`site ${id} is damaged: its counts are not valid JSON`);
    this.#sites.set(id, {
      isFilling: isFillingEpoch(epoch),
      isRemoved: !hasHistory(epoch),
      revision,
      counters: counters ?? {},
      counts: isDamaged ? undefined : readCounts({ revision, live, live_revision }),
      found: {},
      floor: floor ?? undefined,
      journalEnd: floor ?? 0,
      rowsLeft: 0,
    });
  }

  #addRecord(row: Cells): void {
    const name = nameOf(row);
    const site = this.#sites.get(row.site_id);
    if (!site) return void this.#fault(`${name} belongs to no site`);
    if (site.isRemoved) return void site.rowsLeft++;
    if (row.id > Number(site.counters[row.resource] ?? 0)) this.#fault(`${name} is beyond the last ID that was given`);
    if (row.site_id === systemSite && row.resource === webhookResourceName && row.body !== null)
      this.#webhooks.addRecord(row.id, parse(row.body) ?? {});
    if (row.body !== null && parse(row.body)?.ID !== row.id)
      this.#fault(`${name} is damaged: its text is not that record's`);
    const { site_id, resource, id } = row;
    this.#records.add({ site_id, resource, id, revision: row.revision, hash: hashOf(row.body) });
    const { count = 0, revision = 0 } = site.found[row.resource] ?? {};
    site.found[row.resource] = {
      count: count + (row.body === null ? 0 : 1),
      revision: Math.max(revision, row.revision),
    };
  }

  /** A site that was never written to may have webhooks. */
  #addWebhook({ site_id }: Cells, add: () => void): void {
    const site = this.#sites.get(site_id);
    if (site?.isRemoved) site.rowsLeft++;
    else add();
  }

  #addChange(row: Cells): void {
    const { site_id, resource, id, revision } = row;
    const site = this.#sites.get(site_id);
    if (!site) return void this.#fault(`site ${site_id}: its journal belongs to no site`);
    if (site.isRemoved) return void site.rowsLeft++;
    // Older versions of the program do not store where a journal begins.
    if (site.floor === undefined) site.floor = site.journalEnd = revision - 1;
    if (revision <= site.floor)
      return void this.#fault(`site ${site_id}: entry ${revision} is before the beginning of the journal`);
    if (revision !== site.journalEnd + 1) this.#fault(gap(site_id, site.journalEnd + 1, revision - 1));
    site.journalEnd = revision;
    const name = nameOf(row);
    const record = this.#records.addEntry({ site_id, resource, id, revision });
    if (!record) return void this.#fault(`${name} is in the journal and nowhere else`);
    if (record.revision === revision && record.hash !== hashOf(row.operation === "delete" ? null : row.body))
      this.#fault(`${name} differs from its entry ${revision} in the journal`);
  }
}

interface CheckedSite {
  readonly isFilling: boolean;
  /** Whether it was removed, or is being filled: what is stored of it is no site yet, or no longer. */
  readonly isRemoved: boolean;
  readonly revision: number;
  readonly counters: Cells;
  /** How many records there are, if that is stored with the site. */
  readonly counts: RecordCounts | undefined;
  /** How many records there are so far. */
  readonly found: Record<string, RecordCount>;
  /** The revision before the first entry of the journal; undefined before that entry, where it is not stored. */
  floor: number | undefined;
  /** The last journal entry so far. */
  journalEnd: number;
  /** The number of rows of a removed site so far. */
  rowsLeft: number;
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
