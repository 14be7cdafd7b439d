// Database operations, such as webhook leases, credentials and removing sites. Each is a transaction shared by both engines (transaction.ts says what
// isn't). Engines run them by name, with plain data as arguments and results, because SQLite does so in another thread.

import { type Credential, maxCredentials } from "../../model/credentials.ts";
import type { Engine } from "../../model/engine.ts";
import { readRestrictions } from "./restrictions.ts";
import {
  deleteSiteChunk,
  deleteSiteInChunks,
  importSiteChunk,
  importSiteInChunks,
  pruneJournal,
  readSitesToDrop,
  replaceEpochs,
  startSiteImport,
} from "./site-operations.ts";
import { readDatabaseId, readLastBackupTime, saveBackupTime } from "./this-database.ts";
import { execute, insert, query, type Row, type Transaction, upsert } from "./transaction.ts";
import {
  acquireWebhookLease,
  addWebhookAttempt,
  compareAndSetWebhook,
  deleteWebhook,
  readLatestAttempts,
  readWebhookAttempts,
  readWebhookExchange,
  readWebhookSecrets,
  readWebhookStates,
  rotateWebhookSecret,
  saveWebhook,
} from "./webhook-state.ts";

interface DatabaseOperation {
  // biome-ignore lint/suspicious/noExplicitAny: every operation has its own arguments
  readonly transaction: (...args: any[]) => Transaction<unknown>;
  /**
   * `read`: a single statement, as of one moment. `durable`: its changes are on durable storage when it returns, and on the synchronous standby, if
   * there is one. `loose`: a crash may lose its changes, so it waits for neither.
   */
  readonly kind: "read" | "durable" | "loose";
  /** Whether SQLite may run several of these in one transaction, which then wait for the disk only once. */
  readonly isSmall?: boolean;
}

export const operations = {
  countChanges: { transaction: countChanges, kind: "read" },
  pruneJournal: { transaction: pruneJournal, kind: "loose" },
  replaceEpochs: { transaction: replaceEpochs, kind: "durable" },
  saveKeyUses: { transaction: saveKeyUses, kind: "loose" },
  readLastKeyUses: { transaction: readLastKeyUses, kind: "read" },
  saveBackupTime: { transaction: saveBackupTime, kind: "durable" },
  readLastBackupTime: { transaction: readLastBackupTime, kind: "read" },
  readRestrictions: { transaction: readRestrictions, kind: "read" },
  readSitesToDrop: { transaction: readSitesToDrop, kind: "read" },
  deleteSiteChunk: { transaction: deleteSiteChunk, kind: "durable" },
  startSiteImport: { transaction: startSiteImport, kind: "durable" },
  importSiteChunk: { transaction: importSiteChunk, kind: "durable" },
  saveCredential: { transaction: saveCredential, kind: "durable" },
  findCredential: { transaction: findCredential, kind: "read" },
  consumeCredential: { transaction: consumeCredential, kind: "durable" },
  deleteCredentials: { transaction: deleteCredentials, kind: "durable" },
  readWebhookStates: { transaction: readWebhookStates, kind: "read" },
  readWebhookSecrets: { transaction: readWebhookSecrets, kind: "read" },
  readLatestAttempts: { transaction: readLatestAttempts, kind: "read" },
  readWebhookAttempts: { transaction: readWebhookAttempts, kind: "read" },
  readWebhookExchange: { transaction: readWebhookExchange, kind: "read" },
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

export function transactionOf(name: OperationName, args: readonly unknown[]): Transaction<unknown> {
  return (operations[name] as DatabaseOperation).transaction(...args);
}

export function isRead(name: OperationName): boolean {
  return operations[name].kind === "read";
}

export type ExecuteOperation = (name: OperationName, args: readonly unknown[]) => Promise<unknown>;

type Calls = { [N in OperationName]: (...args: Arguments<N>) => Promise<Result<N>> };
type OperationCalls = Pick<Engine, "dropSite" | "importSiteRows" | Extract<OperationName, keyof Engine>>;

/** Creates an engine's methods that are operations. @param pause lets others write between two chunks of rows */
export function createOperationCalls(execute: ExecuteOperation, pause: () => Promise<void>): OperationCalls {
  const names = Object.keys(operations) as OperationName[];
  const calls = Object.fromEntries(
    names.map((name) => [name, (...args: unknown[]) => execute(name, args)]),
  ) as unknown as Calls;
  // These are parts of other calls.
  const { deleteSiteChunk, startSiteImport, importSiteChunk, ...methods } = calls;
  return {
    ...methods,
    dropSite: (site) => deleteSiteInChunks(site, deleteSiteChunk, pause),
    importSiteRows: (site, rows) => importSiteInChunks(site, rows, { startSiteImport, importSiteChunk }, pause),
  };
}

function* countChanges(site: number, after: number, through: number): Transaction<ReadonlyMap<string, number>> {
  const range = "site_id = :site and revision > :after and revision <= :through";
  const text = `select resource, count(*) as changes from journal where ${range} group by resource`;
  const rows = yield query(text, { site, after, through });
  return new Map(rows.map(({ resource, changes }) => [String(resource), Number(changes)]));
}

function* saveKeyUses(uses: ReadonlyMap<number, number>): Transaction<void> {
  const rows = [...uses].map(([key_id, at]) => ({ key_id, at }));
  // In a fixed order, so that two processes can't wait for each other's rows.
  rows.sort((a, b) => a.key_id - b.key_id);
  yield upsert("key_uses", rows, "excluded.at > key_uses.at");
}

function* readLastKeyUses(): Transaction<ReadonlyMap<number, number>> {
  const rows = yield query("select key_id, at from key_uses");
  return new Map(rows.map(({ key_id, at }) => [Number(key_id), Number(at)]));
}

const columns = "digest, kind, operator_id, expires_at";

const deleteOldest = `delete from credentials where operator_id = :operator and kind = :kind and digest not in (
  select digest from credentials where operator_id = :operator and kind = :kind order by expires_at desc, digest limit ${maxCredentials}
)`;

function* saveCredential({ digest, kind, operator, expiresAt }: Credential, now: number): Transaction<void> {
  yield execute("delete from credentials where expires_at <= :now", { now: Math.floor(now) });
  yield insert("credentials", [{ digest, kind, operator_id: operator, expires_at: Math.floor(expiresAt) }]);
  yield execute(deleteOldest, { operator, kind });
}

function* findCredential(digest: string): Transaction<Credential | undefined> {
  return toCredential(yield query(`select ${columns} from credentials where digest = :digest`, { digest }));
}

function* consumeCredential(digest: string): Transaction<Credential | undefined> {
  return toCredential(yield execute(`delete from credentials where digest = :digest returning ${columns}`, { digest }));
}

function* deleteCredentials(operator: number): Transaction<void> {
  yield execute("delete from credentials where operator_id = :operator", { operator });
}

function toCredential([row]: readonly Row[]): Credential | undefined {
  if (!row) return undefined;
  const { digest, kind, operator_id: operator, expires_at: expiresAt } = row;
  return { digest, kind, operator, expiresAt } as Credential;
}
