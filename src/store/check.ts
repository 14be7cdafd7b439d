import type { DumpedRow } from "../model/engine.ts";

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
  const sites = new Map<number, { revision: number; counters: Record<string, number>; seen: number }>();
  const last = new Map<string, { revision: number; hash: string }>();

  function seeSite(row: Cells): void {
    sites.set(row.id, { revision: row.revision, counters: JSON.parse(row.counters), seen: 0 });
  }

  function seeRecord(row: Cells): void {
    const name = `site ${row.site_id}: ${row.resource} ${row.id}`;
    const site = sites.get(row.site_id);
    if (!site) return void faults.push(`${name} belongs to no site`);
    if (row.id > (site.counters[row.resource] ?? 0)) faults.push(`${name} is beyond the last ID that was given`);
    if (row.revision > site.revision) faults.push(`${name} is newer than its site`);
    if (row.body !== null && idIn(row.body) !== row.id)
      faults.push(`${name} is damaged: its text is not that record's`);
    last.set(name, { revision: row.revision, hash: hashOf(row.body) });
  }

  function seeChange(row: Cells): void {
    const site = sites.get(row.site_id);
    if (!site) return void faults.push(`site ${row.site_id}: its journal belongs to no site`);
    if (site.seen > 0 && row.revision !== site.seen + 1) {
      faults.push(`site ${row.site_id}: the journal has nothing between ${site.seen} and ${row.revision}`);
    }
    site.seen = row.revision;
    const name = `site ${row.site_id}: ${row.resource} ${row.id}`;
    const record = last.get(name);
    if (!record) faults.push(`${name} is in the journal and nowhere else`);
    else if (record.revision === row.revision && record.hash !== hashOf(row.operation === "delete" ? null : row.body)) {
      faults.push(`${name} differs from its entry ${row.revision} in the journal`);
    } else if (record.revision < row.revision) faults.push(`${name} lacks its change ${row.revision}`);
  }

  return {
    see(table: string, row: Cells): void {
      if (table === "sites") seeSite(row);
      else if (table === "records") seeRecord(row);
      else if (table === "journal") seeChange(row);
    },
    end(): string[] {
      for (const [id, site] of sites) {
        if (site.seen > 0 && site.seen !== site.revision) {
          faults.push(`site ${id} is at revision ${site.revision} and its journal ends at ${site.seen}`);
        }
      }
      return faults;
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: rows of five tables, told apart by the table's name
type Cells = Record<string, any>;

function hashOf(body: string | null): string {
  return body === null ? "" : Bun.hash(body).toString(36);
}

function idIn(body: string): unknown {
  try {
    return JSON.parse(body).ID;
  } catch {
    return undefined;
  }
}
