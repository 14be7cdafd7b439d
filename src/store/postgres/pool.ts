// The connections of one process, each used by one caller at a time and for a limited time.

import { outdated } from "../database/site-state.ts";
import { createTimeLimit, type PostgresConnection } from "./connection.ts";
import { ConnectionQueue, type PoolUsage } from "./connection-queue.ts";
import { codeOf, fromPostgres, isDatabaseError, isTimeout, unavailable, unknownOutcome } from "./errors.ts";
import type { Primary } from "./primary.ts";

/** What a caller reports while it has a connection. */
export interface Lease {
  /** The database has responded: the caller's time starts again. */
  more(): void;
  /** From now on it is unknown, unless the database returns an error, whether the work was done. */
  committing(): void;
}

export type Work<T> = (connection: PostgresConnection, lease: Lease) => Promise<T>;

/** What a caller has of the pool. */
interface Loan {
  connection: PostgresConnection | undefined;
  isCommitting: boolean;
  /** Whether the caller has failed or timed out. */
  hasEnded: boolean;
}

/** How often something is read, the first time included. */
const maxReads = 3;

/** A pool of connections to the primary. Nothing is connected before it is needed. */
export class Pool {
  readonly #primary: Primary;
  readonly #timeout: number;
  readonly #connections: ConnectionQueue;

  /**
   * @param size connections to any one host at most
   * @param timeout milliseconds that the database has for one call
   */
  constructor(primary: Primary, size: number, timeout = primary.address.timeout) {
    this.#primary = primary;
    this.#timeout = timeout;
    this.#connections = new ConnectionQueue(primary, size);
  }

  /**
   * Runs `work` with a connection, which is closed unless `work` succeeds in time.
   * @throws Refusal `unavailable`
   */
  async use<T>(work: Work<T>): Promise<T> {
    if (this.#connections.isClosed) throw unavailable("the database was closed");
    const limit = createTimeLimit(this.#timeout);
    const loan: Loan = { connection: undefined, isCommitting: false, hasEnded: false };
    const borrowing = this.#borrow(loan);
    try {
      const connection = await Promise.race([borrowing, limit.passed]);
      // Not a promise that belongs to the connection: it would retain the result of every caller as long as it lives.
      connection.onLost(limit.fail);
      const lease: Lease = {
        more: limit.restart,
        committing() {
          loan.isCommitting = true;
        },
      };
      const result = await Promise.race([work(connection, lease), limit.passed]);
      connection.onLost(undefined);
      this.#requireNewest(connection);
      this.#connections.giveBack(connection);
      return result;
    } catch (error) {
      borrowing.catch(() => {});
      throw this.#end(loan, error);
    } finally {
      limit.stop();
    }
  }

  /** The same for work that changes nothing: repeated when a connection turns out to be dead or the host outdated. */
  async read<T>(work: Work<T>): Promise<T> {
    const started = performance.now();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.use(work);
      } catch (error) {
        const isLate = attempt === maxReads || performance.now() - started > this.#timeout / 4;
        if (isLate || !isWorthAnother(error)) throw error;
      }
    }
  }

  /**
   * The same for work that commits. A commit that waits for a standby continues when its caller has timed out and the
   * connection was closed, so it counts as a connection until the database has ended it. One connection is left to other
   * work, if there are several.
   */
  async commit<T>(work: Work<T>): Promise<T> {
    await this.#connections.requireCommit();
    return this.use(work);
  }

  get usage(): PoolUsage {
    return this.#connections.usage;
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  /** Takes a connection for `loan`; one that comes when the loan has ended is given back. */
  async #borrow(loan: Loan): Promise<PostgresConnection> {
    try {
      const connection = await this.#connections.take(() => loan.hasEnded);
      if (loan.hasEnded) this.#connections.giveBack(connection);
      else loan.connection = connection;
      return connection;
    } catch (error) {
      this.#connections.giveBack(undefined);
      throw error;
    }
  }

  #requireNewest(connection: PostgresConnection): void {
    if (this.#primary.isNewest(connection)) return;
    throw unavailable(`${connection.host} is no longer the primary`, { code: outdated });
  }

  /** Closes the connection on which something went wrong. Returns what to throw. */
  #end(loan: Loan, error: unknown): unknown {
    loan.hasEnded = true;
    const { connection, isCommitting } = loan;
    const isUnknown = isCommitting && !isDatabaseError(error);
    if (connection) {
      const isLost = !isDatabaseError(error);
      if (isLost) this.#primary.distrust(connection);
      // Locks that are never released, too, are those of a host on which commits wait for a standby in vain.
      if (isLost || isTimeout(error)) this.#primary.compare();
      if (isUnknown) this.#connections.abandon(connection);
      void connection.close();
      this.#connections.giveBack(undefined);
    }
    return isUnknown ? unknownOutcome(error) : fromPostgres(error);
  }
}

/** Whether the connection was lost or the host outdated, rather than the database being slow, absent or unwilling. */
function isWorthAnother(error: unknown): boolean {
  const code = codeOf((error as Error).cause ?? {});
  return code === outdated || /^(CONNECTION_CLOSED|ECONNRESET|EPIPE|57P01)$/.test(code);
}
