// Reads of the journal of one site.

import type { Database } from "bun:sqlite";
import type { Change, JournalEntry } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { changeColumns, contiguousChanges, entryColumns } from "../database/journal.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";
import type { GuardedReads } from "./guarded-reads.ts";

export type JournalReads = Pick<Engine, "readChangesSince" | "readJournalPage">;

const emptyJournalRow = { revision: 0, epoch: "", floor: 0 };

export function createJournalReads(database: Database, { readInTransaction }: GuardedReads): JournalReads {
  const sql = journalStatements(database);
  return {
    readChangesSince: async (site, revision, options = {}) =>
      readInTransaction(() => {
        const head = sql.head.get(site) ?? { revision: 0, epoch: "" };
        requireHeadAtLeast(head, options.requiredHead);
        const changes = sql.since.all(site, revision, options.limit ?? -1);
        return contiguousChanges(changes, head, revision, options);
      }),
    readJournalPage: async (site, revision, limit) =>
      readInTransaction(() => {
        const { floor, ...head } = sql.floor.get(site) ?? emptyJournalRow;
        return { head, floor, entries: sql.entries.all(site, revision, limit) };
      }),
  };
}

function journalStatements(database: Database) {
  const range = "from journal where site_id = ? and revision > ? order by revision limit ?";
  return {
    head: database.query<Head, [number]>("select revision, epoch from sites where id = ?"),
    since: database.query<Change, [number, number, number]>(`select ${changeColumns} ${range}`),
    floor: database.query<Head & { floor: number }, [number]>("select revision, epoch, floor from sites where id = ?"),
    entries: database.query<JournalEntry, [number, number, number]>(`select ${entryColumns} ${range}`),
  };
}
