import type { DumpedRow, RecordCount, RecordCounts } from "../model/engine.ts";
import { readCounts } from "./record-counts.ts";
import { removedEpoch } from "./removed-sites.ts";

/**
 * What is wrong with the stored rows, in sentences: records that the journal does not account for, gaps in a journal,
 * counters behind their records. The rows come as a dump gives them: all sites, then records, then the journal.
 */
export function checkRows(rows: Iterable<DumpedRow>): string[] {
  const checker = new Checker();
  for (const { table, row } of rows) checker.see(table, row as Cells);
  return checker.end();
}

/** The same for rows that come one by one. */
export class Checker {
  readonly #faults: string[] = [];
  readonly #sites = new Map<number, Site>();
  readonly #records = new Map<string, Seen>();

  see(table: string, row: Cells): void {
    if (table === "sites") this.#seeSite(row);
    else if (table === "records") this.#seeRecord(row);
    else if (table === "journal") this.#seeChange(row);
  }

  end(): string[] {
    this.#seeEnd();
    return this.#faults;
  }

  #seeSite(row: Cells): void {
    const counters = parse(row.counters);
    if (!counters) this.#faults.push(`site ${row.id} is damaged: its counters are no JSON`);
    this.#sites.set(row.id, {
      isRemoved: row.epoch === removedEpoch,
      revision: row.revision,
      counters: counters ?? {},
      stored: storedCounts(row, this.#faults),
      found: {},
      seen: 0,
      left: 0,
    });
  }

  #seeRecord(row: Cells): void {
    const name = nameOf(row);
    const site = this.#sites.get(row.site_id);
    if (!site) return void this.#faults.push(`${name} belongs to no site`);
    if (site.isRemoved) return void site.left++;
    if (row.id > Number(site.counters[row.resource] ?? 0))
      this.#faults.push(`${name} is beyond the last ID that was given`);
    if (row.body !== null && parse(row.body)?.ID !== row.id)
      this.#faults.push(`${name} is damaged: its text is not that record's`);
    this.#records.set(name, { revision: row.revision, hash: hashOf(row.body), changed: 0 });
    const { count = 0, revision = 0 } = site.found[row.resource] ?? {};
    site.found[row.resource] = {
      count: count + (row.body === null ? 0 : 1),
      revision: Math.max(revision, row.revision),
    };
  }

  #seeChange(row: Cells): void {
    const site = this.#sites.get(row.site_id);
    if (!site) return void this.#faults.push(`site ${row.site_id}: its journal belongs to no site`);
    if (site.isRemoved) return void site.left++;
    if (row.revision !== site.seen + 1) this.#faults.push(gap(row.site_id, site.seen + 1, row.revision - 1));
    site.seen = row.revision;
    const name = nameOf(row);
    const record = this.#records.get(name);
    if (!record) return void this.#faults.push(`${name} is in the journal and nowhere else`);
    record.changed = row.revision;
    if (record.revision === row.revision && record.hash !== hashOf(row.operation === "delete" ? null : row.body))
      this.#faults.push(`${name} differs from its entry ${row.revision} in the journal`);
  }

  #seeEnd(): void {
    for (const [id, { isRemoved, seen, revision, left, stored, found }] of this.#sites) {
      if (stored && !isRemoved) this.#faults.push(...wrongCounts(id, stored, found));
      if (isRemoved && left > 0) this.#faults.push(`site ${id} was removed, and ${left} of its rows are left`);
      if (seen < revision) this.#faults.push(gap(id, seen + 1, revision));
      else if (seen > revision)
        this.#faults.push(`site ${id} is at revision ${revision} and its journal ends at ${seen}`);
    }
    for (const [name, { revision, changed }] of this.#records) {
      if (changed !== revision)
        this.#faults.push(`${name} is at revision ${revision} and its journal ends at ${changed}`);
    }
  }
}

interface Site {
  readonly isRemoved: boolean;
  readonly revision: number;
  readonly counters: Cells;
  /** How many records there are, as it is stored with the site, if it is. */
  readonly stored: RecordCounts | undefined;
  /** The same, as they came by. */
  readonly found: Record<string, RecordCount>;
  /** The last journal entry that came by. */
  seen: number;
  /** Rows of a removed site. */
  left: number;
}

interface Seen {
  readonly revision: number;
  readonly hash: number;
  /** The revision of its last journal entry that came by. */
  changed: number;
}

// biome-ignore lint/suspicious/noExplicitAny: rows of five tables, told apart by the table's name
type Cells = Record<string, any>;

function nameOf(row: Cells): string {
  return `site ${row.site_id}: ${row.resource} ${row.id ?? ""}`;
}

function storedCounts(row: Cells, faults: string[]): RecordCounts | undefined {
  const { revision, live = null, live_revision = null } = row;
  if (live !== null && !parse(live)) return void faults.push(`site ${row.id} is damaged: its counts are no JSON`);
  return readCounts({ revision, live, live_revision });
}

function wrongCounts(site: number, stored: RecordCounts, found: RecordCounts): string[] {
  const resources = [...new Set([...Object.keys(stored), ...Object.keys(found)])];
  return resources
    .filter((name) => !Bun.deepEquals(stored[name], found[name]))
    .map(
      (name) =>
        `site ${site}: ${stored[name]?.count ?? 0} records of ${name} are counted, and there are ${found[name]?.count ?? 0}`,
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
