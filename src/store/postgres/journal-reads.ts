// Reads of the journal of one site.

import type { Change, JournalEntry, JournalPage } from "../../model/change.ts";
import type { Engine, SinceOptions } from "../../model/engine.ts";
import { contiguousChanges } from "../database/journal.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";
import type { PostgresConnection } from "./connection.ts";
import type { Pool } from "./pool.ts";
import { toHead } from "./site-reads.ts";
import { sql } from "./statements.ts";

type JournalReads = Pick<Engine, "readChangesSince" | "readJournalPage">;

/** The limit for reading all changes: more than any journal has. */
const maxChanges = 1_000_000_000;

/** @param pagePool the pool for pages of a journal, which many clients may read at once */
export function createJournalReads(pool: Pool, pagePool: Pool): JournalReads {
  return {
    readChangesSince: (site, revision, options = {}) =>
      pool.read((connection) => readChanges(connection, site, revision, options)),
    readJournalPage: (site, revision, limit) =>
      pagePool.read((connection) => readJournal(connection, site, revision, limit)),
  };
}

async function readChanges(
  connection: PostgresConnection,
  site: number,
  revision: number,
  options: SinceOptions,
): Promise<readonly Change[] | undefined> {
  const texts = [sql.beginRead, sql.heads([site]), sql.since(site, revision, options.limit ?? maxChanges), sql.endRead];
  const [heads, rows = []] = await connection.script(texts.join("; "));
  const head = toHead(heads?.[0], connection);
  requireHeadAtLeast(head, options.requiredHead);
  return contiguousChanges(rows as Change[], head, revision, options);
}

async function readJournal(
  connection: PostgresConnection,
  site: number,
  revision: number,
  limit: number,
): Promise<JournalPage> {
  const texts = [sql.beginRead, sql.floor(site), sql.entries(site, revision, limit), sql.endRead];
  const [sites, rows = []] = await connection.script(texts.join("; "));
  return { head: toHead(sites?.[0], connection), floor: sites?.[0]?.floor ?? 0, entries: rows as JournalEntry[] };
}
