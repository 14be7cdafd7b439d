// The pools of a process. Each call gets a connection and a time limit, and ends with a known or an unknown outcome.
//
// Unknown outcomes: before sending a commit, call `markCommitting`. If the call then fails, its outcome is unknown, unless the database itself
// returned the error. The ProblemError says that the write may have gone through. Commits that needn't survive a crash (`commitWithoutWait`) aren't
// marked.
//
// Abandoned commits: a commit waiting for a synchronous standby continues in the database even if its caller times out and the connection is closed.
// Until the database has ended it, it counts as a connection. Abandoned commits leave one of the pool's connections for other work, if it has several
// (connection-queue.ts).
//
// Repeated reads: work that only reads is repeated if its connection was lost, or its host is behind or was replaced. It isn't if the database is
// slow, unreachable or returns another error.

import { unavailableError } from "../../model/errors.ts";
import { storeBehindCode } from "../database/required-head.ts";
import { createTimeLimit, type PostgresConnection } from "./connection.ts";
import { ConnectionQueue, type PoolUsage } from "./connection-queue.ts";
import { codeOf, fromPostgres, isDatabaseError, isTimeout, unknownOutcomeError } from "./errors.ts";
import type { Primary } from "./primary.ts";

/** How the work of a call reports its progress to the pool. */
export interface CallProgress {
  /** Restarts the time limit. Call this after a response from the database, if there's more work to come. */
  restartTimeLimit(): void;
  /** Call this before sending a commit. If the call fails after that, its outcome is unknown, unless the database itself returned the error. */
  markCommitting(): void;
}

export type Work<T> = (connection: PostgresConnection, progress: CallProgress) => Promise<T>;

interface Call {
  connection: PostgresConnection | undefined;
  isCommitting: boolean;
  /** Whether the call has failed or timed out. */
  hasFailed: boolean;
}

/** Maximum attempts of a read, including the first. */
const maxReads = 3;

/** A pool of connections to the primary, opened on demand. */
export class Pool {
  /** Time limit per call, in milliseconds. */
  readonly timeoutMs: number;
  readonly #primary: Primary;
  readonly #connections: ConnectionQueue;

  /**
   * @param size maximum connections per host
   * @param timeoutMs per call, in milliseconds
   */
  constructor(primary: Primary, size: number, timeoutMs = primary.address.timeoutMs) {
    this.#primary = primary;
    this.timeoutMs = timeoutMs;
    this.#connections = new ConnectionQueue(primary, size);
  }

  /**
   * Runs `work` with a connection. If it fails or takes too long, the connection is closed.
   * @param firstMs milliseconds until the first response, if the caller has already waited
   * @throws ProblemError `unavailable`, or the error of `work`
   */
  async use<T>(work: Work<T>, firstMs = this.timeoutMs): Promise<T> {
    if (this.#connections.isClosed) throw unavailableError("the database was closed");
    const limit = createTimeLimit(this.timeoutMs, firstMs);
    const call: Call = { connection: undefined, isCommitting: false, hasFailed: false };
    const acquiring = this.#acquire(call);
    try {
      const connection = await Promise.race([acquiring, limit.passed]);
      // A promise of the connection would keep every caller's result in memory for as long as the connection lives, so this is a callback.
      connection.onLost(limit.fail);
      const progress: CallProgress = {
        restartTimeLimit: limit.restart,
        markCommitting() {
          call.isCommitting = true;
        },
      };
      const result = await Promise.race([work(connection, progress), limit.passed]);
      connection.onLost(undefined);
      this.#requireNewest(connection);
      this.#connections.release(connection);
      return result;
    } catch (error) {
      acquiring.catch(() => {});
      throw this.#end(call, error);
    } finally {
      limit.stop();
    }
  }

  /** Like `use`, for `work` that doesn't change anything. Repeats it if the connection was lost, or its host is behind or was replaced. */
  async read<T>(work: Work<T>, firstMs = this.timeoutMs): Promise<T> {
    const started = performance.now();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.use(work, firstMs);
      } catch (error) {
        const isLate = attempt === maxReads || performance.now() - started > firstMs / 4;
        if (isLate || !isWorthRepeating(error)) throw error;
      }
    }
  }

  /**
   * Like `use`, for `work` that commits.
   * @throws ProblemError `unavailable`, including if too many abandoned commits are still running, or if the outcome is unknown
   */
  async commit<T>(work: Work<T>): Promise<T> {
    await this.#connections.requireCommitAllowed();
    return this.use(work);
  }

  get usage(): PoolUsage {
    return this.#connections.usage;
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  /** Waits for a connection. If the call has ended by then, releases it right away. */
  async #acquire(call: Call): Promise<PostgresConnection> {
    try {
      const connection = await this.#connections.acquire(() => call.hasFailed);
      if (call.hasFailed) this.#connections.release(connection);
      else call.connection = connection;
      return connection;
    } catch (error) {
      this.#connections.release(undefined);
      throw error;
    }
  }

  #requireNewest(connection: PostgresConnection): void {
    if (this.#primary.isNewest(connection)) return;
    throw unavailableError(`${connection.host} is no longer the primary`, { code: storeBehindCode });
  }

  /** Ends a failed call and closes its connection. Returns the error to throw. */
  #end(call: Call, error: unknown): unknown {
    call.hasFailed = true;
    const { connection, isCommitting } = call;
    const isUnknown = isCommitting && !isDatabaseError(error);
    if (connection) {
      const isLost = !isDatabaseError(error);
      if (isLost) this.#primary.distrust(connection);
      // A timeout can also mean that the host was replaced. Its commits then wait in vain for a standby, and never release their locks.
      if (isLost || isTimeout(error)) this.#primary.checkForReplacement();
      if (isUnknown) this.#connections.abandon(connection);
      void connection.close();
      this.#connections.release(undefined);
    }
    return isUnknown ? unknownOutcomeError(error) : fromPostgres(error);
  }
}

/** Whether the connection was lost, or its host is behind or was replaced. */
function isWorthRepeating(error: unknown): boolean {
  const code = codeOf((error as Error).cause ?? {});
  return code === storeBehindCode || /^(CONNECTION_CLOSED|ECONNRESET|EPIPE|57P01)$/.test(code);
}
