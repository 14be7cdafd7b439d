import type { Database } from "bun:sqlite";
import { lastPrunable, removedEpoch } from "../database/site-state.ts";

/** Implements `Engine.pruneJournal`, in a transaction that the caller has begun. */
export function pruneEntries(database: Database, site: number, through: number, most: number): boolean {
  const row = database
    .query<{ epoch: string; revision: number; floor: number }, [number]>(
      "select epoch, revision, floor from sites where id = ?",
    )
    .get(site);
  const end = lastPrunable(through, row?.revision ?? 0);
  if (!row || row.epoch === removedEpoch || row.floor >= end) return false;
  const floor = Math.min(end, row.floor + most);
  database.query("delete from journal where site_id = ? and revision <= ?").run(site, floor);
  database.query("update sites set floor = ? where id = ?").run(floor, site);
  return floor < end;
}
