// The connections of one process, each used by one caller at a time and for a limited time.

import type { Address } from "./address.ts";
import { type Connection, connectToPrimary } from "./connection.ts";
import { codeOf, fromPostgres, unavailable } from "./errors.ts";

/** What a caller does with a connection. It calls `more` whenever the database has answered and its time begins anew. */
export type Work<T> = (connection: Connection, more: () => void) => Promise<T>;

export interface Pool {
  /**
   * Lends a connection to `work`. It is closed unless `work` ends well and in time.
   * @throws Refusal `unavailable`
   */
  use<T>(work: Work<T>): Promise<T>;
  /** The same for work that changes nothing: done again when a connection turns out to be dead. */
  read<T>(work: Work<T>): Promise<T>;
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: (connection: Connection | Promise<Connection>) => void;
  /** Whether whoever waits has given up. */
  readonly isOver: () => boolean;
}

/** How long a connection is kept, in milliseconds, so that load moves on to a database that was added or came back. */
const lifetime = 30 * 60 * 1000;

/** Makes a pool of at most `size` connections. Nothing is connected before it is needed. */
export function createPool(address: Address, size: number): Pool {
  const idle: Connection[] = [];
  let waiting: Waiting[] = [];
  const closing: Promise<void>[] = [];
  let taken = 0;
  let isClosed = false;

  function take(isOver: () => boolean): Promise<Connection> {
    for (let connection = idle.pop(); connection; connection = idle.pop()) {
      if (!isUsable(connection)) discard(connection);
      else {
        taken++;
        return Promise.resolve(connection);
      }
    }
    if (taken < size) {
      taken++;
      return connectToPrimary(address);
    }
    const { promise, resolve } = Promise.withResolvers<Connection>();
    waiting.push({ resolve, isOver });
    return promise;
  }

  function giveBack(connection: Connection | undefined): void {
    waiting = waiting.filter(({ isOver }) => !isOver());
    const next = waiting.shift();
    if (connection && isUsable(connection) && !isClosed) {
      if (next) {
        next.resolve(connection);
        return;
      }
      taken--;
      idle.push(connection);
      return;
    }
    if (connection) discard(connection);
    if (next) next.resolve(connectToPrimary(address));
    else taken--;
  }

  function discard(connection: Connection): void {
    const closed = connection.close().catch(() => {});
    if (isClosed) closing.push(closed);
  }

  async function use<T>(work: Work<T>): Promise<T> {
    if (isClosed) throw unavailable("the database was closed");
    const limit = createLimit(address.timeout);
    let connection: Connection | undefined;
    let isOver = false;
    const taking = take(() => isOver).then(
      (lent) => {
        if (isOver) giveBack(lent);
        else connection = lent;
        return lent;
      },
      (error) => {
        giveBack(undefined);
        throw error;
      },
    );
    try {
      const lent = await Promise.race([taking, limit.passed]);
      // Not a promise of the connection's own: it would hold what every caller waited for as long as it lives.
      lent.onLost(limit.fail);
      const result = await Promise.race([work(lent, limit.restart), limit.passed]);
      lent.onLost(undefined);
      giveBack(lent);
      return result;
    } catch (error) {
      isOver = true;
      taking.catch(() => {});
      if (connection) {
        discard(connection);
        giveBack(undefined);
      }
      throw fromPostgres(error);
    } finally {
      limit.stop();
    }
  }

  return {
    use,
    async read(work) {
      const started = performance.now();
      try {
        return await use(work);
      } catch (error) {
        if (!wasDead(error) || performance.now() - started > address.timeout / 4) throw error;
        return use(work);
      }
    },
    async close() {
      isClosed = true;
      for (const connection of idle.splice(0)) discard(connection);
      await Promise.all(closing);
    },
  };
}

function isUsable(connection: Connection): boolean {
  return connection.isOpen && performance.now() - connection.openedAt < lifetime;
}

/** Whether the connection was lost, rather than the database being slow, absent or unwilling. */
function wasDead(error: unknown): boolean {
  const { cause } = error as Error;
  return /^(CONNECTION_CLOSED|ECONNRESET|EPIPE|57P01)$/.test(codeOf(cause ?? {}));
}

/** A time limit that can be started again. */
function createLimit(milliseconds: number) {
  const { promise: passed, reject } = Promise.withResolvers<never>();
  passed.catch(() => {});
  const expire = () => reject(unavailable(`the database did not answer within ${milliseconds} ms`));
  let timer = setTimeout(expire, milliseconds);
  return {
    /** Never resolves; rejects when the time is over, or with what `fail` is given. */
    passed,
    fail: reject,
    restart: () => {
      clearTimeout(timer);
      timer = setTimeout(expire, milliseconds);
    },
    stop: () => clearTimeout(timer),
  };
}
