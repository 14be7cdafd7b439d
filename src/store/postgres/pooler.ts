// Checks at startup whether these settings work with a pooler such as PgBouncer. If they don't, requests would fail, but only under load: otherwise,
// a pooler gives a client the same session each time.

import { unavailableError } from "../../model/errors.ts";
import { createTimeLimit, type PostgresConnection } from "./connection.ts";
import { fromPostgres, unpreparedReason } from "./errors.ts";
import type { Pool } from "./pool.ts";
import type { Primary } from "./primary.ts";

/** Several, because a pooler may have several processes that don't share sessions. */
const testConnections = 4;

/**
 * @throws ProblemError `unavailable` if the pooler uses a different session for each statement, or for each transaction although statements are
 * prepared
 */
export async function requireSuitablePooler(pool: Pool, primary: Primary): Promise<void> {
  if (!(await pool.read(async ({ isPooled }) => isPooled))) return;
  const { prepare, timeoutMs } = primary.address;
  const connecting = Array.from({ length: prepare ? testConnections : 1 }, () => primary.connect());
  // In session mode, the pooler may have fewer sessions.
  const opened = (await Promise.allSettled(connecting)).flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  const limit = createTimeLimit(timeoutMs);
  try {
    await Promise.race([test(opened, prepare), limit.passed]);
  } catch (error) {
    throw fromPostgres(error);
  } finally {
    limit.stop();
    for (const connection of opened) void connection.close();
  }
}

async function test(connections: readonly PostgresConnection[], prepare: boolean): Promise<void> {
  const [first] = connections;
  if (!first) return;
  await first.script("begin").catch((error) => {
    // PgBouncer in statement mode only writes the reason to its log.
    throw unavailableError(
      "the pooler closes the connection when a transaction starts; set `pool_mode` to `transaction` or `session` in PgBouncer",
      error,
    );
  });
  const keepsNames = await hasPreparedName(first);
  await first.script("rollback");
  // A pooler that re-prepares statements in each session has to rename them, because its clients may use the same names.
  if (prepare && keepsNames && (await shareSessions(connections))) throw unavailableError(unpreparedReason);
}

/** Whether a prepared statement has the driver's name in the session. */
async function hasPreparedName(connection: PostgresConnection): Promise<boolean> {
  const name = await connection.prepare("select $1::bigint", 0);
  const [found] = await connection.script(`select 1 from pg_prepared_statements where name = '${name}'`);
  return found?.length === 1;
}

/**
 * Whether one connection gets several sessions, or two connections share one. Asks twice, because other clients may be using some of the sessions, and in a
 * different order, because a pooler may take its sessions in turn.
 */
async function shareSessions(connections: readonly PostgresConnection[]): Promise<boolean> {
  const sessions = new Map<number, PostgresConnection>();
  for (const connection of [...connections, ...connections.toReversed()]) {
    const [rows] = await connection.script("select pg_backend_pid() as pid");
    const pid = rows?.[0]?.pid;
    if ((sessions.get(pid) ?? connection) !== connection) return true;
    sessions.set(pid, connection);
  }
  return sessions.size > connections.length;
}
