// A simulation's store: the SQLite engine's statements on a database in memory, without its threads and files. So a call ends in the tick in which it starts,
// and the same seed gives the same rows. The database can go back to an earlier state.

import { Database } from "bun:sqlite";
import { nextImmediate } from "../../src/lib/yielding.ts";
import type { Intent, Outcome } from "../../src/model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, Engine, OnCommit } from "../../src/model/engine.ts";
import { allResources } from "../../src/resources/all.ts";
import {
  createOperationCalls,
  type ExecuteOperation,
  isRead,
  transactionOf,
} from "../../src/store/database/operations.ts";
import { replaceEpoch } from "../../src/store/database/site-operations.ts";
import { createViews, migrate } from "../../src/store/sqlite/migrate.ts";
import { createReader } from "../../src/store/sqlite/reads.ts";
import { fillAndSwapTables } from "../../src/store/sqlite/table-sets.ts";
import { runInTransaction, runStatements } from "../../src/store/sqlite/transaction.ts";
import { OpenTransaction } from "../../src/store/sqlite/writer.ts";
import { BatchTransaction } from "../../src/store/writes/batch-transaction.ts";
import { commitBatch } from "../../src/store/writes/commit-batch.ts";
import { simulatedClock } from "./time.ts";

/** A site's tables that may lose their last commits in a failover. */
const tables = {
  sites: "id",
  records: "site_id",
  journal: "site_id",
  webhook_state: "site_id",
  idempotency: "site_id",
};

/** Hears of a transaction before anything else happens. With `isTogether`, it had several batches, and nobody may see only part of them. */
type OnTransaction = (intents: readonly Intent[], outcomes: readonly Outcome[], isTogether: boolean) => void;

export interface SimulatedDatabase {
  readonly engine: Engine;
  /** Called with each stored transaction of intents, in order. */
  onTransaction: OnTransaction;
  /** Saves the rows of a site, by default of all sites. The returned function restores them, which loses later commits. */
  remember(site?: number): () => Promise<void>;
  /** Stores `intents`' responses for their idempotency keys, but not the records. Only a planted fault does this. */
  storeResponsesOnly(...args: Parameters<Engine["commit"]>): void;
  close(): void;
}

/** Bytes of an empty database with all tables. */
let empty: Uint8Array | undefined;

function openEmpty(): Database {
  if (!empty) {
    const made = new Database(":memory:", { strict: true });
    migrate(made);
    createViews(made, allResources);
    empty = made.serialize();
    made.close();
  }
  return Database.deserialize(empty, { strict: true });
}

/** Opens a new database whose leases end by the simulated clock. */
export function openSimulatedDatabase(): SimulatedDatabase {
  const database = openEmpty();
  const simulated: SimulatedDatabase = {
    engine: createEngine(database, (...transaction) => simulated.onTransaction(...transaction)),
    onTransaction: () => {},
    remember: (site) => remember(database, site),
    storeResponsesOnly: (intents) => storeResponsesOnly(database, () => decideAll(database, intents)),
    close: () => database.close(),
  };
  return simulated;
}

/** Runs `work` on a new database. */
export async function withSimulatedDatabase<T>(work: (database: SimulatedDatabase) => Promise<T>): Promise<T> {
  const database = openSimulatedDatabase();
  try {
    return await work(database);
  } finally {
    database.close();
  }
}

function createEngine(database: Database, onTransaction: OnTransaction): Engine {
  const subscribers = new Set<OnCommit>();
  const reader = createReader(
    database,
    () => Database.deserialize(database.serialize(), { strict: true }),
    () => {},
  );
  /** Runs a write, then tells subscribers about it. */
  const write = <T>(work: () => T): T => {
    const result = runInTransaction(database, work);
    for (const onCommit of subscribers) onCommit(undefined);
    return result;
  };
  const execute: ExecuteOperation = async (name, args) =>
    isRead(name)
      ? reader.execute(name, args)
      : write(() => runStatements(database, transactionOf(name, args), simulatedClock.now()));
  return {
    ...reader.calls,
    ...createOperationCalls(execute, nextImmediate),
    subscribeToCommits: (onCommit) => {
      subscribers.add(onCommit);
      return { mayMissCommits: false, stop: () => void subscribers.delete(onCommit) };
    },
    openConnections: async () => {},
    commit: async (intents, { atomic = false } = {}) => {
      const outcomes = write(() => decideAll(database, intents, atomic));
      onTransaction(intents, outcomes, false);
      return outcomes;
    },
    commitAtomically: async (batches, onOutcomes, options = {}) => {
      const all = Array.from(batches);
      const { decided, result } = commitAll(database, all, options);
      if (result.kind === "committed") onTransaction(all.flat(), decided.flat(), true);
      for (const onCommit of subscribers) onCommit(undefined);
      for (const outcomes of decided) await onOutcomes(outcomes);
      return result;
    },
    probeWrite: async () => {},
    deleteExpiredResponses: async () => false,
    replaceEpoch: async (site, epoch) => write(() => runStatements(database, replaceEpoch(site, epoch))),
    replaceAllData: async (rows, save, amend) => {
      // A real restore has its own connection. Here, its statements run on the only one, which stays open.
      const shared = new Proxy(database, {
        get: (target, name) => {
          if (name === "close") return () => {};
          const value = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
      const heads = await fillAndSwapTables(() => shared, rows, save, amend);
      for (const onCommit of subscribers) onCommit(undefined);
      return heads;
    },
    close: async () => {},
  };
}

/** Commits batches in one transaction. Returns the outcomes of each decided batch. */
function commitAll(
  database: Database,
  batches: Parameters<Engine["commitAtomically"]>[0],
  options: AtomicCommitOptions,
): { readonly decided: readonly (readonly Outcome[])[]; readonly result: AtomicCommitResult } {
  const open = new OpenTransaction(database, options);
  try {
    const decided = Array.from(batches, (intents) => open.add(intents)).filter(({ length }) => length > 0);
    return { decided, result: open.end(true) };
  } catch (error) {
    if (database.inTransaction) open.end(false);
    throw error;
  }
}

function decideAll(database: Database, intents: Parameters<Engine["commit"]>[0], atomic = false) {
  return runStatements(database, commitBatch(intents, new BatchTransaction(), { atomic })).outcomes;
}

function storeResponsesOnly(database: Database, decide: () => unknown): void {
  const text = "select * from idempotency";
  let rows: unknown[][] = [];
  database.run("begin immediate");
  decide();
  rows = database.query(text).values();
  database.run("rollback");
  const insert = database.query(`insert or ignore into idempotency values (${places(rows[0]?.length ?? 0)})`);
  for (const row of rows) insert.run(...(row as string[]));
}

const places = (count: number) => Array.from({ length: count }, () => "?").join(", ");

function remember(database: Database, site: number | undefined): () => Promise<void> {
  const kept = Object.entries(tables).map(([table, column]) => {
    const which = `from ${table} where ${site === undefined ? "true" : `${column} = ${site}`}`;
    return { table, which, rows: database.query(`select * ${which}`).values() };
  });
  const goBack = database.transaction(() => {
    for (const { table, which, rows } of kept) {
      database.query(`delete ${which}`).run();
      for (const row of rows)
        database.query(`insert into ${table} values (${places(row.length)})`).run(...(row as string[]));
    }
  });
  return async () => goBack.immediate();
}
