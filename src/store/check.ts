import type { DumpedRow } from "../model/engine.ts";
import { removedEpoch } from "./removed-sites.ts";

/**
 * What is wrong with the stored rows, in sentences: records that the journal does not account for, gaps in a journal,
 * counters behind their records. The rows come as a dump gives them: all sites, then records, then the journal.
 */
export function checkRows(rows: Iterable<DumpedRow>): string[] {
  const checker = createChecker();
  for (const { table, row } of rows) checker.see(table, row as Cells);
  return checker.end();
}

/** The same for rows that come one by one. */
export function createChecker() {
  const faults: string[] = [];
  const sites = new Map<number, Site>();
  const records = new Map<string, Seen>();

  function seeSite(row: Cells): void {
    const counters = parse(row.counters);
    if (!counters) faults.push(`site ${row.id} is damaged: its counters are no JSON`);
    sites.set(row.id, {
      isRemoved: row.epoch === removedEpoch,
      revision: row.revision,
      counters: counters ?? {},
      seen: 0,
      left: 0,
    });
  }

  function seeRecord(row: Cells): void {
    const name = nameOf(row);
    const site = sites.get(row.site_id);
    if (!site) return void faults.push(`${name} belongs to no site`);
    if (site.isRemoved) return void site.left++;
    if (row.id > Number(site.counters[row.resource] ?? 0)) faults.push(`${name} is beyond the last ID that was given`);
    if (row.body !== null && parse(row.body)?.ID !== row.id)
      faults.push(`${name} is damaged: its text is not that record's`);
    records.set(name, { revision: row.revision, hash: hashOf(row.body), changed: 0 });
  }

  function seeChange(row: Cells): void {
    const site = sites.get(row.site_id);
    if (!site) return void faults.push(`site ${row.site_id}: its journal belongs to no site`);
    if (site.isRemoved) return void site.left++;
    if (row.revision !== site.seen + 1) faults.push(gap(row.site_id, site.seen + 1, row.revision - 1));
    site.seen = row.revision;
    const name = nameOf(row);
    const record = records.get(name);
    if (!record) return void faults.push(`${name} is in the journal and nowhere else`);
    record.changed = row.revision;
    if (record.revision === row.revision && record.hash !== hashOf(row.operation === "delete" ? null : row.body))
      faults.push(`${name} differs from its entry ${row.revision} in the journal`);
  }

  function seeEnd(): void {
    for (const [id, { isRemoved, seen, revision, left }] of sites) {
      if (isRemoved && left > 0) faults.push(`site ${id} was removed, and ${left} of its rows are left`);
      if (seen < revision) faults.push(gap(id, seen + 1, revision));
      else if (seen > revision) faults.push(`site ${id} is at revision ${revision} and its journal ends at ${seen}`);
    }
    for (const [name, { revision, changed }] of records) {
      if (changed !== revision) faults.push(`${name} is at revision ${revision} and its journal ends at ${changed}`);
    }
  }

  return {
    see(table: string, row: Cells): void {
      if (table === "sites") seeSite(row);
      else if (table === "records") seeRecord(row);
      else if (table === "journal") seeChange(row);
    },
    end(): string[] {
      seeEnd();
      return faults;
    },
  };
}

interface Site {
  readonly isRemoved: boolean;
  readonly revision: number;
  readonly counters: Cells;
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
