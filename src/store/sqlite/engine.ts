import type { Database } from "bun:sqlite";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Intent, Outcome } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { isStopped } from "../writes/batch.ts";
import { type CommitCheck, CommitWatches, commitChecks } from "./commit-poller.ts";
import { createCredentialWrites } from "./credentials.ts";
import { migrate, openDatabase, settleLog, translated } from "./database.ts";
import { createFileWatch, knownFiles, logSize, requireSameFiles } from "./files.ts";
import { decodeOutcomes, encodeIntents } from "./messages.ts";
import { giveWay } from "./portions.ts";
import { isWriteProtected, openReadOnly } from "./read-only.ts";
import { createReader } from "./reads.ts";
import { renewHistories } from "./renew.ts";
import { fillSite } from "./site-fill.ts";
import { makeViews, refillTables } from "./table-sets.ts";
import { createWebhookWrites } from "./webhook-writes.ts";
import type { WorkerCall } from "./worker.ts";
import { WriterThread } from "./writer-thread.ts";

interface SqliteOptions {
  /** Milliseconds to wait for transactions of other processes; by default those of a server. */
  readonly busyTimeout?: number | undefined;
  /** The clock by which leases end, in milliseconds since 1970; by default that of the machine. */
  readonly clock?: (() => number) | undefined;
}

/**
 * The embedded engine: reads on this thread, writes in a worker.
 * @param path the database file; it is created if it does not exist
 * @throws Refusal `unavailable` when the file cannot be opened or a newer program made it
 */
export function openSqlite(path: string, resources: readonly Resource[], options: SqliteOptions = {}): Engine {
  const { busyTimeout } = options;
  settleLog(path, busyTimeout);
  const database = openDatabase(path, busyTimeout);
  try {
    const isNew = migrate(database);
    translated(() => makeViews(database, resources));
    return { ...createEngine(database, path, options), isNew };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * The same, or only its read side if the file cannot be written: writes are then refused.
 * @throws Refusal as openSqlite does
 */
export function openReadableSqlite(path: string, resources: readonly Resource[], options: SqliteOptions): Engine {
  try {
    return openSqlite(path, resources, options);
  } catch (error) {
    if (!isWriteProtected(error)) throw error;
    return openReadOnlyAfter(error, path);
  }
}

/** The error of the second attempt has no more information than `error` of the first. */
function openReadOnlyAfter(error: unknown, path: string): Engine {
  try {
    return openReadOnly(path);
  } catch (second) {
    throw second instanceof Refusal ? second : error;
  }
}

function createEngine(database: Database, path: string, { busyTimeout, clock = Date.now }: SqliteOptions): Engine {
  const files = translated(() => knownFiles(path));
  const requireFiles = createFileWatch(files);
  const newCheck = translated(() => commitChecks(database, files));
  const watches = new CommitWatches(newCheck);
  /** Another connection to the same database. It requires the file, since SQLite would create a new one. */
  const openAgain = () => {
    requireSameFiles(files);
    return openDatabase(path, busyTimeout);
  };
  const reader = createReader(database, openAgain, requireFiles);
  const writer = new WriterThread({ path, files, busyTimeout });
  const run = async (call: WorkerCall) => void (await writer.call(call));
  const hasMore = async (call: WorkerCall) => (await writer.call(call)) === "more";
  return {
    ...reader,
    unchanged: guarded(newCheck(), requireFiles),
    watchCommits: (onCommit) => watches.start(onCommit),
    openForRequests: () => run({ name: "open" }),
    commit: async (intents, atomic = false) =>
      decodeOutcomes(await writer.call({ name: "commit", intents: encodeIntents(intents), atomic }), intents),
    commitTogether: (batches, onOutcomes) => commitTogether(writer, batches, onOutcomes),
    tryWrite: () => run({ name: "tryWrite" }),
    prune: (site, through, most) => hasMore({ name: "prune", site, through, most }),
    deleteExpiredResponses: (before, most) => hasMore({ name: "deleteExpiredResponses", before, most }),
    ...createNotes(run),
    dropSite: async (site) => {
      while (await hasMore({ name: "dropPortion", site })) await giveWay();
    },
    ...createWebhookWrites((writes) => writer.call({ name: "webhooks", writes }), clock),
    ...createCredentialWrites((write) => writer.call({ name: "credential", write })),
    ...createReplacements(openAgain),
    usage: () => ({ logBytes: logSize(path) }),
    close: async () => {
      watches.close();
      await writer.stop();
      database.close();
    },
  };
}

/** `check`, once `guard` has not thrown. */
function guarded(check: CommitCheck, guard: () => void): CommitCheck {
  return () => {
    guard();
    return check();
  };
}

/** What is stored beside the records and their journals. */
function createNotes(
  run: (call: WorkerCall) => Promise<void>,
): Pick<Engine, "noteCounts" | "noteBackup" | "noteKeyUse"> {
  return {
    noteCounts: (site, head, counts) => run({ name: "noteCounts", site, head, counts }),
    noteBackup: (at) => run({ name: "noteBackup", at }),
    noteKeyUse: (uses) => run({ name: "noteKeyUse", uses }),
  };
}

/** What is stored by a connection of its own, portion by portion. */
function createReplacements(open: () => Database): Pick<Engine, "fillSite" | "renew" | "refill"> {
  return {
    fillSite: (site, rows) => fillSite(open, site, rows),
    renew: () => renewHistories(open),
    refill: (rows, save, amend) => refillTables(open, rows, save, amend),
  };
}

/** Batches that the writer thread has at once: the next one is there when it has done one, since other writers wait for all of them. */
const maxSent = 2;

/** See `Engine.commitTogether`. */
function commitTogether(
  writer: WriterThread,
  batches: Iterable<readonly Intent[]>,
  onOutcomes: (outcomes: readonly Outcome[]) => MaybePromise<void>,
): Promise<void> {
  return writer.uninterrupted(async (call) => {
    await call({ name: "beginBatches" });
    let isCommitted = false;
    try {
      isCommitted = await addAll(call, batches, onOutcomes);
    } finally {
      await call({ name: "endBatches", isCommitted });
    }
  });
}

/** Returns whether all batches were decided, and no refusal stopped them. */
async function addAll(
  call: (request: WorkerCall) => Promise<string>,
  batches: Iterable<readonly Intent[]>,
  onOutcomes: (outcomes: readonly Outcome[]) => MaybePromise<void>,
): Promise<boolean> {
  const iterator = batches[Symbol.iterator]();
  const sent: { readonly intents: readonly Intent[]; readonly result: Promise<string> }[] = [];
  for (let next = iterator.next(); ; ) {
    for (; !next.done && sent.length < maxSent; next = iterator.next()) {
      const result = call({ name: "addBatch", intents: encodeIntents(next.value) });
      // Its failure counts when its turn comes.
      result.catch(() => {});
      sent.push({ intents: next.value, result });
    }
    const first = sent.shift();
    if (!first) return true;
    const outcomes = decodeOutcomes(await first.result, first.intents);
    await onOutcomes(outcomes);
    if (isStopped(outcomes, first.intents)) return false;
  }
}
