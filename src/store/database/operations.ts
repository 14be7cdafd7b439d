// The list of the database operations, such as leases of webhooks, credentials and the removal of sites. Each operation is one transaction that is written
// once for both engines; transaction.ts says which work is not. An engine executes operations by name, because SQLite does so in another thread: their
// arguments and results are plain data.

import type { Engine } from "../../model/engine.ts";
import { consumeCredential, deleteCredentials, findCredential, saveCredential } from "./credentials.ts";
import { readLastKeyUses, saveKeyUses } from "./key-uses.ts";
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
import type { Transaction } from "./transaction.ts";
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
   * `read`: one statement, as of one moment. `durable`: its changes are on durable storage when it returns, and on the synchronous standby, if any.
   * `loose`: its changes may be lost in a crash, so it waits for neither.
   */
  readonly kind: "read" | "durable" | "loose";
  /** Whether SQLite may execute several of them in one transaction, so that they wait for the disk only once. */
  readonly isSmall?: boolean;
}

export const operations = {
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
    dropSite: (site) => deleteSiteInChunks(site, deleteSiteChunk, pause),
    importSiteRows: (site, rows) => importSiteInChunks(site, rows, { startSiteImport, importSiteChunk }, pause),
  };
}
