// What is read of the journal of one site.

import type { Database } from "bun:sqlite";
import type { Change, JournalEntry } from "../../model/change.ts";
import type { Engine, Head } from "../../model/engine.ts";
import { entryColumns, floorColumn, operationColumn } from "../journal.ts";
import { following, requireReached } from "../since.ts";
import type { GuardedReads } from "./guarded-reads.ts";

type JournalReads = Pick<Engine, "since" | "journal">;

const emptyJournalRow = { revision: 0, epoch: "", floor: 0 };

export function createJournalReads(database: Database, { readAtOnce }: GuardedReads): JournalReads {
  const sql = journalStatements(database);
  return {
    since: (site, revision, options = {}) =>
      readAtOnce(() => {
        const head = sql.head.get(site) ?? { revision: 0, epoch: "" };
        requireReached(head, options.minHead);
        const changes = sql.since.all(site, revision, options.limit ?? -1);
        return following(changes, head, revision, options);
      }),
    journal: (site, revision, limit) =>
      readAtOnce(() => {
        const { floor, ...head } = sql.floor.get(site) ?? emptyJournalRow;
        return { head, floor, entries: sql.entries.all(site, revision, limit) };
      }),
  };
}

function journalStatements(database: Database) {
  const range = "from journal where site_id = ? and revision > ? order by revision limit ?";
  return {
    head: database.query<Head, [number]>("select revision, epoch from sites where id = ?"),
    since: database.query<Change, [number, number, number]>(
      `select revision, at, actor, resource, id, ${operationColumn}, body ${range}`,
    ),
    floor: database.query<Head & { floor: number }, [number]>(
      `select revision, epoch, ${floorColumn} from sites where id = ?`,
    ),
    entries: database.query<JournalEntry, [number, number, number]>(`select ${entryColumns} ${range}`),
  };
}
