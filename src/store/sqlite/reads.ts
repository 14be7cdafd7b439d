// The read side of the SQLite engine: puts together the reads of heads, sites, journals and dumps.
//
// Most reads share one connection on this thread (guarded-reads.ts). A large site and a dump are read on separate connections: their transaction stays
// open while other reads and writes continue.

import type { Database } from "bun:sqlite";
import type { Engine } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { findRowInconsistencies } from "../database/consistency-check.ts";
import { type ExecuteOperation, transactionOf } from "../database/operations.ts";
import { describeLeftoverTables } from "../database/table-swap.ts";
import { tableNamesIn } from "./database.ts";
import { dumpRows } from "./dump.ts";
import { guardReads } from "./guarded-reads.ts";
import { createJournalReads, type JournalReads } from "./journal-reads.ts";
import { createSiteReads, type SiteReads } from "./site-reads.ts";
import { runStatements } from "./transaction.ts";

interface Reader {
  readonly calls: Pick<Engine, "readsOnThisThread" | "readHeads" | "dump" | "findInconsistencies"> &
    SiteReads &
    JournalReads;
  /** Executes an operation that reads. */
  readonly execute: ExecuteOperation;
}

/**
 * Creates the read side.
 * @param database the shared connection
 * @param open opens another connection to the same database, for a large site or a dump
 * @param requireUnreplaced throws if the files were removed or replaced; called after each read and at the end of a dump
 */
export function createReader(database: Database, open: () => Database, requireUnreplaced: () => void): Reader {
  const head = database.query("select revision, epoch from sites where id = ?");
  const reads = guardReads(database, requireUnreplaced);
  const { read, readInTransaction } = reads;
  const heads = (sites: readonly number[]): Head[] =>
    sites.map((site) => (head.get(site) as Head | null) ?? { revision: 0, epoch: "" });

  function* dump(site?: number) {
    yield* dumpRows(open, { site });
    requireUnreplaced();
  }

  const calls: Reader["calls"] = {
    readsOnThisThread: true,
    // One transaction, so that the heads of a site and of the system site are from the same moment.
    readHeads: async (sites) => readInTransaction(() => heads(sites)),
    ...createSiteReads(database, reads, open, requireUnreplaced),
    ...createJournalReads(database, reads),
    dump,
    findInconsistencies: async (onRow) =>
      read(() => [
        ...integrity(database),
        ...findRowInconsistencies(dump(), onRow),
        ...describeLeftoverTables(tableNamesIn(database)),
      ]),
  };
  return {
    calls,
    execute: async (name, args) => readInTransaction(() => runStatements(database, transactionOf(name, args))),
  };
}

function integrity(database: Database): string[] {
  const rows = database.query("pragma integrity_check").values() as [string][];
  return rows.map(([line]) => line).filter((line) => line !== "ok");
}
