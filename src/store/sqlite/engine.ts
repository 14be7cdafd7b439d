// The embedded engine: reads on this thread (reads.ts), writes in the writer thread (writer-thread.ts).

import type { Database } from "bun:sqlite";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { createOperationCalls, type ExecuteOperation, isRead } from "../database/operations.ts";
import { commitAtomically } from "./commit-atomically.ts";
import { CommitPoller, createCheckFactory, type UnchangedCheck } from "./commit-detection.ts";
import { openDatabase, settleLog } from "./database.ts";
import { withSqliteErrors } from "./errors.ts";
import { createFileCheck, knownFiles, logSize, requireUnreplacedFiles } from "./files.ts";
import { decodeOutcomes, encodeIntents } from "./messages.ts";
import { createViews, migrate } from "./migrate.ts";
import { isWriteProtected, openReadOnly } from "./read-only.ts";
import { createReader } from "./reads.ts";
import { fillAndSwapTables, pauseForOtherWriters } from "./table-sets.ts";
import { WriterThread } from "./writer-thread.ts";

interface SqliteOptions {
  /** How long to wait for another process's transaction. The default suits a server. */
  readonly busyTimeoutMs?: number | undefined;
  /** Decides when leases end, in milliseconds since 1970. Default: the machine's clock. */
  readonly clock?: (() => number) | undefined;
}

/**
 * Opens a database file for reading and writing, and creates or upgrades its tables.
 * @param path created if it doesn't exist
 * @throws ProblemError `unavailable` if the file can't be opened, or was made by another program or a newer version of this one
 */
export function openSqlite(path: string, resources: readonly Resource[], options: SqliteOptions = {}): Engine {
  const { busyTimeoutMs } = options;
  settleLog(path, busyTimeoutMs);
  const database = openDatabase(path, busyTimeoutMs);
  try {
    const isNew = migrate(database);
    withSqliteErrors(() => createViews(database, resources));
    return { ...createEngine(database, path, options), isNew };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Like `openSqlite`, but if the file can't be written, opens it for reading only and rejects every write.
 * @throws ProblemError like `openSqlite`
 */
export function openReadableSqlite(path: string, resources: readonly Resource[], options: SqliteOptions): Engine {
  try {
    return openSqlite(path, resources, options);
  } catch (error) {
    if (!isWriteProtected(error)) throw error;
    return openReadOnlyAfter(error, path, options.busyTimeoutMs);
  }
}

/** If this fails with an SQLite error, throws the first attempt's `error`, because both say the same. */
function openReadOnlyAfter(error: unknown, path: string, busyTimeoutMs?: number): Engine {
  try {
    return openReadOnly(path, busyTimeoutMs);
  } catch (second) {
    throw second instanceof ProblemError ? second : error;
  }
}

function createEngine(database: Database, path: string, { busyTimeoutMs, clock = Date.now }: SqliteOptions): Engine {
  const files = withSqliteErrors(() => knownFiles(path));
  const requireUnreplaced = createFileCheck(files);
  const createCheck = withSqliteErrors(() => createCheckFactory(database, files));
  const subscriptions = new CommitPoller(createCheck);
  /** Checks the files first, because SQLite would create a missing one. */
  const openAgain = () => {
    requireUnreplacedFiles(files);
    return openDatabase(path, busyTimeoutMs);
  };
  const reader = createReader(database, openAgain, requireUnreplaced);
  const writer = new WriterThread({ path, files, busyTimeoutMs });
  const execute: ExecuteOperation = (name, args) =>
    isRead(name) ? reader.execute(name, args) : writer.execute({ name, args, now: clock() });
  return {
    ...reader.calls,
    ...createOperationCalls(execute, pauseForOtherWriters),
    checkUnchanged: guarded(createCheck(), requireUnreplaced),
    subscribeToCommits: (onCommit) => subscriptions.start(onCommit),
    openConnections: () => writer.call("open"),
    commit: async (intents, { atomic = false } = {}) =>
      decodeOutcomes(await writer.call("commit", encodeIntents(intents), atomic), intents),
    commitAtomically: (batches, onOutcomes, options) => commitAtomically(writer, batches, onOutcomes, options),
    probeWrite: () => writer.call("probeWrite"),
    deleteExpiredResponses: (before, most) => writer.call("deleteExpiredResponses", before, most),
    replaceAllData: (rows, save, amend) => fillAndSwapTables(openAgain, rows, save, amend),
    usage: () => ({ logBytes: logSize(path) }),
    close: async () => {
      subscriptions.close();
      await writer.stop();
      database.close();
    },
  };
}

function guarded(check: UnchangedCheck, guard: () => void): UnchangedCheck {
  return () => {
    guard();
    return check();
  };
}
