// The engine for many processes on many machines: its connection pools and its calls.

import type { Engine } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import type { Resource } from "../../model/resource.ts";
import { findStreamedInconsistencies } from "../database/consistency-check.ts";
import { createOperationCalls } from "../database/operations.ts";
import { replaceEpoch } from "../database/site-operations.ts";
import { describeLeftoverTables } from "../database/table-swap.ts";
import { parseAddress } from "./address.ts";
import { commitIntents, probeWrite } from "./commit.ts";
import { commitAtomically } from "./commit-atomically.ts";
import { CommitListener } from "./commit-listener.ts";
import { CommitNotifier } from "./commit-notifier.ts";
import type { PostgresConnection } from "./connection.ts";
import type { PoolUsage } from "./connection-queue.ts";
import { dumpRows } from "./dump.ts";
import { createExpiredResponseDeletion } from "./expired-responses.ts";
import { migrate } from "./migrate.ts";
import { Pool } from "./pool.ts";
import { requireSuitablePooler } from "./pooler.ts";
import { createPrimary, type Primary } from "./primary.ts";
import { createReads, toHead } from "./reads.ts";
import { sql } from "./statements.ts";
import { fillAndSwapTables, readTableNames } from "./table-sets.ts";
import { changeLoosely, createOperationExecutor } from "./transaction.ts";

/**
 * Opens a PostgreSQL database, and creates or upgrades its tables.
 * @param url as for `parseAddress`
 * @param minTimeoutMs minimum time limit per call in milliseconds; the address may allow more
 * @throws ProblemError `bad-request` if the address is invalid; `unavailable` if no primary responds, a pooler needs other settings, or a newer
 * version of the program created the tables
 */
export async function openPostgres(url: string, resources: readonly Resource[], minTimeoutMs = 0): Promise<Engine> {
  const given = parseAddress(url);
  const timeoutMs = Math.max(given.timeoutMs, minTimeoutMs);
  const primary = createPrimary({ ...given, timeoutMs });
  const { headsPool, pool, pagePool, maxLoads, probePool, sharedPools } = createPools(primary);
  const notifier = new CommitNotifier(new Pool(primary, 1));
  const listener = new CommitListener(primary, notifier);
  const close = async () => {
    listener.close();
    primary.close();
    await Promise.all([notifier, ...sharedPools, probePool].map((one) => one.close()));
  };
  const isNew = await requireSuitablePooler(pool, primary)
    .then(() => migrate(pool, primary, resources))
    .catch(async (error) => {
      await close();
      throw error;
    });
  return {
    isNew,
    readsOnThisThread: false,
    openConnections: () => openOneEach(sharedPools),
    readHeads: (sites) => headsPool.read((connection) => readHeads(connection, sites)),
    ...createReads(pool, pagePool, maxLoads),
    ...createCommits(pool, timeoutMs, notifier),
    subscribeToCommits: (onCommit) => listener.start(onCommit),
    replaceEpoch: (site, epoch) =>
      pool.use(async (connection) =>
        toHead(await changeLoosely(connection, timeoutMs, replaceEpoch(site, epoch)), connection),
      ),
    probeWrite: () => probeWrite(probePool, timeoutMs),
    deleteExpiredResponses: createExpiredResponseDeletion(pool, timeoutMs),
    ...createMaintenance(primary, pool, timeoutMs, notifier),
    usage: () => ({ connections: { ...sumOf(sharedPools.map(({ usage }) => usage)), max: given.poolSize } }),
    close,
  };
}

/** Maximum sites loaded at once, because `--memory` only counts a site's memory after its load. */
const maxConcurrentLoads = 4;

/** The pools in `sharedPools` share the address's `pool_size`; `probePool` has one more connection. */
function createPools(primary: Primary) {
  const { poolSize } = primary.address;
  // Every request reads heads, so they get a connection that no long-running work can hold up.
  const headsPool = new Pool(primary, 1);
  // Many clients may be reading pages of uncached sites. Without connections of their own, they'd make all writes wait.
  const pageConnections = Math.floor((poolSize - 1) / 3);
  const connections = poolSize - 1 - pageConnections;
  const pool = new Pool(primary, connections);
  const pagePool = pageConnections > 0 ? new Pool(primary, pageConnections) : pool;
  // `probeWrite` may wait for a standby that's down, and mustn't use connections that reads and writes need.
  const probePool = new Pool(primary, 1);
  // A load uses its connection for seconds. That leaves two for look-ups and writes, if the pool has at least three.
  const maxLoads = Math.max(1, Math.min(maxConcurrentLoads, connections - 2));
  return { headsPool, pool, pagePool, maxLoads, probePool, sharedPools: [...new Set([headsPool, pool, pagePool])] };
}

/** Opens one connection per pool. */
async function openOneEach(pools: readonly Pool[]): Promise<void> {
  await Promise.all(pools.map((pool) => pool.use(async () => {})));
}

function sumOf(usages: readonly PoolUsage[]): PoolUsage {
  const sum = (count: (usage: PoolUsage) => number) => usages.reduce((total, usage) => total + count(usage), 0);
  return { inUse: sum(({ inUse }) => inUse), waiting: sum(({ waiting }) => waiting) };
}

/** Creates the methods that commit and then notify other processes. */
function createCommits(
  pool: Pool,
  timeoutMs: number,
  notifier: CommitNotifier,
): Pick<Engine, "commit" | "commitAtomically"> {
  return {
    async commit(intents, options) {
      const outcomes = await commitIntents(pool, timeoutMs, intents, options?.atomic);
      if (outcomes.some(({ kind }) => kind === "done"))
        notifier.queueSites([...new Set(intents.map(({ site }) => site))]);
      return outcomes;
    },
    async commitAtomically(batches, onOutcomes, options) {
      const { result, changedSites } = await commitAtomically(pool, timeoutMs, batches, onOutcomes, options);
      if (result.kind === "committed" && changedSites.size > 0) notifier.queueSites([...changedSites]);
      return result;
    },
  };
}

function createMaintenance(primary: Primary, pool: Pool, timeoutMs: number, notifier: CommitNotifier) {
  const calls = createOperationCalls(createOperationExecutor(pool, timeoutMs), async () => {});
  return {
    ...calls,
    dropSite: (site) => notifier.notifyAfter(calls.dropSite(site)),
    dump: (site) => dumpRows(primary, { site }),
    importSiteRows: (site, rows) => notifier.notifyAfter(calls.importSiteRows(site, rows)),
    replaceEpochs: () => notifier.notifyAfter(calls.replaceEpochs()),
    replaceAllData: (rows, save, amend) => notifier.notifyAfter(fillAndSwapTables(primary, rows, save, amend)),
    findInconsistencies: async (onRow?: () => void) => [
      ...(await findStreamedInconsistencies(dumpRows(primary), onRow)),
      ...describeLeftoverTables(await pool.read(readTableNames)),
    ],
  } satisfies Partial<Engine>;
}

async function readHeads(connection: PostgresConnection, sites: readonly number[]): Promise<Head[]> {
  const [rows = []] = await connection.scriptAtOnce(sql.heads(sites));
  const found = new Map(rows.map((row) => [row.id as number, toHead(row, connection)]));
  return sites.map((site) => found.get(site) ?? toHead(undefined, connection));
}
