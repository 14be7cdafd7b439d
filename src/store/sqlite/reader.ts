// The read side of the SQLite engine, on one connection.

import type { Database } from "bun:sqlite";
import type { Engine, Head } from "../../model/engine.ts";
import { checkRows } from "../check.ts";
import { type CredentialRow, selectCredential, toCredential } from "../credentials.ts";
import { lastBackupTable, selectLastBackup } from "../last-backup.ts";
import { leftovers } from "../refill.ts";
import { selectUndropped } from "../removed-sites.ts";
import { tableNamesIn } from "./database.ts";
import { dumpRows } from "./dump.ts";
import { guardReads } from "./guarded-reads.ts";
import { createJournalReads } from "./journal-reads.ts";
import { createSiteReads } from "./site-reads.ts";
import { createWebhookReads } from "./webhook-reads.ts";

type Reader = Pick<
  Engine,
  | "heads"
  | "readRecord"
  | "readPage"
  | "readSite"
  | "since"
  | "journal"
  | "keyUses"
  | "lastBackup"
  | "undroppedSites"
  | "webhookStates"
  | "webhookSecrets"
  | "webhookAttempts"
  | "databaseIdentity"
  | "credential"
  | "dump"
  | "check"
>;

/**
 * Reads what `database` has.
 * @param open another connection to the same database, for a dump
 * @param guard throws when the files must not be relied on; called after each read and at the end of a dump
 */
export function createReader(database: Database, open: () => Database, guard: () => void): Reader {
  const sql = recordStatements(database);
  const reads = guardReads(database, guard);
  const { read, readAtOnce } = reads;
  const heads = (sites: readonly number[]): Head[] =>
    sites.map((site) => (sql.head.get(site) as Head | null) ?? { revision: 0, epoch: "" });

  function* dump(site?: number) {
    yield* dumpRows(open, { site });
    guard();
  }

  return {
    // All as of one moment, so that the epoch of a site belongs to that of the system site.
    heads: (sites) => readAtOnce(() => heads(sites)),
    ...createSiteReads(database, reads, open, guard),
    ...createJournalReads(database, reads),
    ...createWebhookReads(database, reads),
    credential: (digest) => read(() => toCredential(database.query<CredentialRow, []>(selectCredential(digest)).get())),
    keyUses: () => read(() => new Map(sql.uses.all().map((row) => [row.key_id, row.at] as const))),
    lastBackup: () => read(() => lastBackupIn(database)),
    undroppedSites: () => read(() => sql.undropped.all().map(({ id }) => id)),
    dump,
    check: (onRow) =>
      read(() => [...integrity(database), ...checkRows(dump(), onRow), ...leftovers(tableNamesIn(database))]),
  };
}

function recordStatements(database: Database) {
  return {
    head: database.query("select revision, epoch from sites where id = ?"),
    undropped: database.query<{ id: number }, []>(selectUndropped),
    uses: database.query<{ key_id: number; at: number }, []>("select key_id, at from key_uses"),
  };
}

function lastBackupIn(database: Database): number | undefined {
  if (!tableNamesIn(database).includes(lastBackupTable)) return undefined;
  return database.query<{ at: number }, []>(selectLastBackup).get()?.at;
}

function integrity(database: Database): string[] {
  const rows = database.query("pragma integrity_check").values() as [string][];
  return rows.map(([line]) => line).filter((line) => line !== "ok");
}
