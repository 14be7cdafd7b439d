// What the rows of `sites` mean for a batch of writes.

import type { SiteState } from "../batch.ts";
import { lastAt, type StoredTime } from "../journal.ts";
import { readCounts, type StoredCounts, writeCounts } from "../record-counts.ts";
import type { PostgresConnection, ResultRow } from "./postgres-connection.ts";
import { sql } from "./statements.ts";

/** The states of the rows of sites. The time of the last entry is queried where an older program may have written it. */
export async function toStates(
  connection: PostgresConnection,
  rows: readonly ResultRow[],
): Promise<Map<number, SiteState>> {
  const last = rows.filter((row) => lastAt(row as StoredSite) === undefined);
  const keys = last.map(({ id, revision }) => ({ site_id: id, revision }));
  const found = keys.length === 0 ? [] : await connection.query(sql.lastTimes, keys);
  const times = new Map(found.map(({ site_id, at }) => [site_id, at]));
  return new Map(rows.map((row) => [row.id, toState(row as StoredSite, times.get(row.id) ?? 0)]));
}

/** A row of `sites`. */
interface StoredSite extends StoredCounts, StoredTime {
  readonly id: number;
  readonly epoch: string;
  /** JSON text. */
  readonly counters: string;
  readonly floor: number | null;
}

function toState(row: StoredSite, lastEntryAt: number): SiteState {
  const { epoch, revision, counters, floor } = row;
  const last_at = lastAt(row) ?? lastEntryAt;
  return { epoch, revision, counters: JSON.parse(counters), counts: readCounts(row), floor, last_at };
}

/** A row of `sites`. */
export function toSiteRow(id: number, { counters, counts, ...state }: SiteState): object {
  return { id, ...state, counters: JSON.stringify(counters), ...writeCounts(state.revision, counts) };
}
