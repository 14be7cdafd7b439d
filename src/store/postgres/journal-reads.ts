// What is read of the journal of one site.

import type { Change, JournalEntry, JournalPage } from "../../model/change.ts";
import type { Engine, Head, SinceOptions } from "../../model/engine.ts";
import { following, requireReached } from "../since.ts";
import type { Pool } from "./pool.ts";
import type { PostgresConnection } from "./postgres-connection.ts";
import { sql } from "./statements.ts";

type JournalReads = Pick<Engine, "since" | "journal">;

/** More than a journal has. */
const maxChanges = 1_000_000_000;

/** @param pagePool for the pages of a journal, which many clients may read */
export function createJournalReads(pool: Pool, pagePool: Pool): JournalReads {
  return {
    since: (site, revision, options = {}) =>
      pool.read((connection) => readChanges(connection, site, revision, options)),
    journal: (site, revision, limit) => pagePool.read((connection) => readJournal(connection, site, revision, limit)),
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
  requireReached(head, options.minHead);
  return following(rows as Change[], head, revision, options);
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

/** The head in a row of `sites`. A site that was never written to has no row. */
export function toHead(
  row: { revision?: number; epoch?: string } | undefined,
  { timeline }: Pick<PostgresConnection, "timeline">,
): Head {
  return { revision: row?.revision ?? 0, epoch: row?.epoch ?? "", timeline };
}
