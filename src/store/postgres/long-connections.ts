// Work that takes longer for larger databases, such as a dump. It uses a connection of its own, with a long time limit per step.

import { createTimeLimit, type PostgresConnection, type ResultRow } from "./connection.ts";
import { fromPostgres, isDatabaseError, unknownOutcomeError } from "./errors.ts";
import type { Primary } from "./primary.ts";
import { commitTransaction } from "./transaction.ts";

/** Time limit per step. */
const timeoutMs = 15 * 60_000;

/** Opens a connection outside the pools. @throws ProblemError `unavailable` */
export async function openConnection(primary: Primary): Promise<PostgresConnection> {
  try {
    return await primary.connect();
  } catch (error) {
    throw fromPostgres(error);
  }
}

/** Waits for `work`, which is one step. @throws ProblemError `unavailable` if the connection is lost or the time is up */
export async function step<T>(connection: PostgresConnection, work: Promise<T>): Promise<T> {
  const limit = createTimeLimit(timeoutMs);
  work.catch(() => {});
  connection.onLost(limit.fail);
  try {
    return await Promise.race([work, limit.passed]);
  } catch (error) {
    throw fromPostgres(error);
  } finally {
    connection.onLost(undefined);
    limit.stop();
  }
}

/**
 * Commits, as one step. If the outcome is unknown, closes the connection, because nothing may be sent after that.
 * @param last as for `commitTransaction`
 */
export async function commitStep(connection: PostgresConnection, last?: string): Promise<ResultRow[][]> {
  try {
    return await step(connection, commitTransaction(connection, { markCommitting() {} }, last));
  } catch (error) {
    if (isDatabaseError(error)) throw error;
    void connection.close();
    throw unknownOutcomeError(error);
  }
}
