// The database operations: rare work on a database, written once for both engines. Each is one transaction (transaction.ts). An engine executes
// them by name, because SQLite does so in another thread: their arguments and results are plain data.

import { randomText } from "../../lib/text.ts";
import type { DumpedRow, Engine, Head } from "../../model/engine.ts";
import { systemSite } from "../../model/system-site.ts";
import { consumeCredential, deleteCredentials, findCredential, saveCredential } from "./credentials.ts";
import { lastPrunable } from "./journal.ts";
import {
  canImportSite,
  invalidRowError,
  isLiveEpoch,
  newImportingEpoch,
  newSiteState,
  removedEpoch,
  type StoredSite,
  selectDeleted,
  selectSitesToDrop,
  siteNotImportingError,
  siteTables,
  toSiteRow,
} from "./site-state.ts";
import { type RowChunk, toChunksWithNewEpochs } from "./table-swap.ts";
import { columnsOf, primaryKeyOf, type TableName } from "./tables.ts";
import {
  change,
  completeSite,
  insert,
  query,
  queryForUpdate,
  type Row,
  type Transaction,
  upsert,
} from "./transaction.ts";
import {
  acquireWebhookLease,
  addWebhookAttempt,
  compareAndSetWebhook,
  deleteWebhook,
  readDatabaseId,
  rotateWebhookSecret,
  saveWebhook,
  webhookAttempts,
  webhookSecrets,
  webhookStates,
} from "./webhook-state.ts";

interface DatabaseOperation {
  // biome-ignore lint/suspicious/noExplicitAny: every operation has its own arguments
  readonly transaction: (...args: any[]) => Transaction<unknown>;
  /**
   * `read`: one statement, as of one moment. `durable`: its changes are on durable storage when it returns, and on the synchronous standby, if any.
   * `loose`: its changes may be lost in a crash, so it waits for neither.
   */
  readonly kind: "read" | "durable" | "loose";
  /** Whether SQLite may execute several of them in one transaction, so that they wait for the disk only once. */
  readonly isSmall?: boolean;
}

export const operations = {
  pruneJournal: { transaction: pruneJournal, kind: "loose" },
  renewEpochs: { transaction: renewEpochs, kind: "durable" },
  saveKeyUses: { transaction: saveKeyUses, kind: "loose" },
  readLastKeyUses: { transaction: readLastKeyUses, kind: "read" },
  saveBackupTime: { transaction: saveBackupTime, kind: "durable" },
  readLastBackupTime: { transaction: readLastBackupTime, kind: "read" },
  readSitesToDrop: { transaction: readSitesToDrop, kind: "read" },
  deleteSiteChunk: { transaction: deleteSiteChunk, kind: "durable" },
  startSiteImport: { transaction: startSiteImport, kind: "durable" },
  importSiteChunk: { transaction: importSiteChunk, kind: "durable" },
  saveCredential: { transaction: saveCredential, kind: "durable" },
  findCredential: { transaction: findCredential, kind: "read" },
  consumeCredential: { transaction: consumeCredential, kind: "durable" },
  deleteCredentials: { transaction: deleteCredentials, kind: "durable" },
  webhookStates: { transaction: webhookStates, kind: "read" },
  webhookSecrets: { transaction: webhookSecrets, kind: "read" },
  webhookAttempts: { transaction: webhookAttempts, kind: "read" },
  readDatabaseId: { transaction: readDatabaseId, kind: "read" },
  acquireWebhookLease: { transaction: acquireWebhookLease, kind: "durable", isSmall: true },
  compareAndSetWebhook: { transaction: compareAndSetWebhook, kind: "durable", isSmall: true },
  saveWebhook: { transaction: saveWebhook, kind: "durable", isSmall: true },
  rotateWebhookSecret: { transaction: rotateWebhookSecret, kind: "durable", isSmall: true },
  deleteWebhook: { transaction: deleteWebhook, kind: "durable", isSmall: true },
  addWebhookAttempt: { transaction: addWebhookAttempt, kind: "durable", isSmall: true },
} as const satisfies Record<string, DatabaseOperation>;

export type OperationName = keyof typeof operations;
type Arguments<N extends OperationName> = Parameters<(typeof operations)[N]["transaction"]>;
type Result<N extends OperationName> =
  ReturnType<(typeof operations)[N]["transaction"]> extends Transaction<infer R> ? R : never;

/** Creates the statements of an operation. @param args the arguments of the operation of this name */
export function transactionOf(name: OperationName, args: readonly unknown[]): Transaction<unknown> {
  return (operations[name] as DatabaseOperation).transaction(...args);
}

export function isRead(name: OperationName): boolean {
  return operations[name].kind === "read";
}

/** How an engine executes an operation. */
export type ExecuteOperation = (name: OperationName, args: readonly unknown[]) => Promise<unknown>;

type Calls = { [N in OperationName]: (...args: Arguments<N>) => Promise<Result<N>> };
type OperationCalls = Pick<Engine, "dropSite" | "importSiteRows" | Extract<OperationName, keyof Engine>>;

/** Creates the methods of an engine that are operations. @param pause lets others write, between two chunks of rows */
export function createOperationCalls(execute: ExecuteOperation, pause: () => Promise<void>): OperationCalls {
  const names = Object.keys(operations) as OperationName[];
  const calls = Object.fromEntries(
    names.map((name) => [name, (...args: unknown[]) => execute(name, args)]),
  ) as unknown as Calls;
  // These are parts of other calls.
  const { deleteSiteChunk, startSiteImport, importSiteChunk, ...methods } = calls;
  return {
    ...methods,
    async dropSite(site) {
      for (const table of siteTables) while (await deleteSiteChunk(site, table)) await pause();
    },
    importSiteRows: (site, rows) => importSiteRows({ startSiteImport, importSiteChunk }, pause, site, rows),
  };
}

async function importSiteRows(
  { startSiteImport, importSiteChunk }: Pick<Calls, "startSiteImport" | "importSiteChunk">,
  pause: () => Promise<void>,
  site: number,
  rows: AsyncIterable<DumpedRow>,
) {
  const epoch = newImportingEpoch();
  try {
    await startSiteImport(site, epoch);
    for await (const chunk of toChunksWithNewEpochs(rows)) {
      await importSiteChunk(site, epoch, chunk);
      await pause();
    }
  } catch (error) {
    throw isRejectedRow(error) ? invalidRowError(error) : error;
  }
}

/** Whether a database has rejected a row. The codes are those of SQLite, and SQLSTATEs of the classes 22 and 23. */
function isRejectedRow(error: unknown): boolean {
  return /^(SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)|2[23])/.test(String((error as { code?: unknown }).code));
}

function* pruneJournal(site: number, through: number, most: number): Transaction<boolean> {
  // The lock makes commits to the site, and a restore, wait until the end of this transaction.
  const [row] = yield* lockSite(site);
  const end = lastPrunable(through, row?.revision ?? 0);
  if (!row || row.epoch === removedEpoch || row.floor >= end) return false;
  const floor = Math.min(end, row.floor + most);
  yield* change("delete from journal where site_id = :site and revision <= :floor", { site, floor });
  yield* change("update sites set floor = :floor where id = :site", { site, floor });
  return floor < end;
}

type LockedSite = Pick<StoredSite, "revision" | "epoch" | "floor">;

function* lockSite(site: number): Transaction<readonly LockedSite[]> {
  const rows = yield* queryForUpdate("select revision, epoch, floor from sites where id = :site", { site });
  return rows as unknown as readonly LockedSite[];
}

/** Maximum rows in one statement. */
const maxRows = 1000;

function* renewEpochs(): Transaction<number> {
  const rows = yield* queryForUpdate(`select ${columnsOf("sites").join(", ")} from sites order by id`);
  const live = rows.filter(({ epoch }) => isLiveEpoch(String(epoch)));
  const renewed = live.map((row): Row => ({ ...row, epoch: randomText(8) }));
  for (let at = 0; at < renewed.length; at += maxRows) yield* upsert("sites", renewed.slice(at, at + maxRows));
  return renewed.filter(({ id }) => id !== systemSite).length;
}

/**
 * Implements `Engine.renewSite`, which only an engine with timelines has. Reads wait for it, and must work without a standby, so it is `loose`. The next
 * write makes it durable too.
 */
export function* renewSite(site: number, epoch: string): Transaction<Pick<Head, "revision" | "epoch">> {
  const [row = { revision: 0, epoch: "" }] = yield* lockSite(site);
  const { revision } = row;
  if (row.epoch !== epoch) return { revision, epoch: row.epoch };
  const renewed = randomText(8);
  yield* change("update sites set epoch = :renewed where id = :site", { site, renewed });
  return { revision, epoch: renewed };
}

function* saveKeyUses(uses: ReadonlyMap<number, number>): Transaction<void> {
  const rows = [...uses].map(([key_id, at]) => ({ key_id, at }));
  // The order prevents two processes from waiting for each other's rows.
  rows.sort((a, b) => a.key_id - b.key_id);
  yield* upsert("key_uses", rows, "excluded.at > key_uses.at");
}

function* readLastKeyUses(): Transaction<ReadonlyMap<number, number>> {
  const rows = yield* query("select key_id, at from key_uses");
  return new Map(rows.map(({ key_id, at }) => [Number(key_id), Number(at)]));
}

/**
 * An earlier time does not replace a later time, because two backups may end in another order than they began. A stored time in the future comes from
 * a wrong clock, and is always replaced. Otherwise it would hide missing backups.
 * @param at the time that the backup shows, in milliseconds since 1970
 */
function* saveBackupTime(at: number, now = Date.now()): Transaction<void> {
  yield* change(
    `insert into last_backup (id, at) values (1, :at) on conflict (id) do update set at = excluded.at
where excluded.at > last_backup.at or last_backup.at > :now`,
    { at: Math.floor(at), now },
  );
}

function* readLastBackupTime(): Transaction<number | undefined> {
  const [row] = yield* query("select at from last_backup where id = 1");
  return row && Number(row.at);
}

function* readSitesToDrop(): Transaction<readonly number[]> {
  return (yield* query(selectSitesToDrop)).map(({ id }) => Number(id));
}

/** Maximum rows of a removed site that one transaction deletes. On SQLite, this takes 10 to 25 ms, during which other writers wait. */
const maxDeleted = 2000;

/** If the record of a site is deleted: makes the site reject writes, and deletes some of its rows in `table`. Returns whether it has deleted rows. */
function* deleteSiteChunk(site: number, table: TableName): Transaction<boolean> {
  // A lock on a row of `sites` prevents a restore from replacing the tables before the commit.
  yield* lockSite(site);
  const deleted = yield* query(selectDeleted(":site"), { site });
  if (deleted.length === 0) return false;
  yield* upsert("sites", [toSiteRow(site, { ...newSiteState(), epoch: removedEpoch })]);
  return (yield* change(deleteSome(table, ":site", `limit ${maxDeleted}`), { site })).length > 0;
}

/**
 * Returns a statement that deletes the rows of a site that `which` selects, and returns a row for each. The rows are compared by their whole key,
 * without a separate condition for the site. With such a condition, PostgreSQL would compare all rows of the site with each row to delete, if the
 * site has more rows than the statistics say. For `idempotency`, the key includes the time, because PostgreSQL may use the index of times.
 */
export function deleteSome(table: TableName, site: string, which: string): string {
  const key = [...primaryKeyOf(table), ...(table === "idempotency" ? ["at"] : [])].join(", ");
  return `delete from ${table} where (${key}) in (select ${key} from ${table} where site_id = ${site} ${which}) returning 1`;
}

// The import of the rows of a site; site-state.ts explains the epochs.

function* startSiteImport(site: number, epoch: string): Transaction<void> {
  const [row] = yield* lockSite(site);
  if (!canImportSite(row)) throw siteNotImportingError();
  yield* upsert("sites", [toSiteRow(site, { ...newSiteState(), epoch })]);
}

function* importSiteChunk(site: number, epoch: string, { table, rows }: RowChunk): Transaction<void> {
  const [row] = yield* lockSite(site);
  if (row?.epoch !== epoch) throw siteNotImportingError();
  if (table !== "sites") return void (yield* insert(table, rows));
  yield* upsert("sites", rows);
  yield* completeSite(site);
}
