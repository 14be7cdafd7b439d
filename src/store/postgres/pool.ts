// The connections of one process, each used by one caller at a time and for a limited time.

import { messageOf } from "../../lib/thrown.ts";
import { outdated } from "../since.ts";
import { type Host, nameOf } from "./address.ts";
import { codeOf, fromPostgres, isTold, unavailable } from "./errors.ts";
import type { PostgresConnection } from "./postgres-connection.ts";
import type { Primary } from "./primary.ts";

/** What a caller says while it has a connection. */
export interface Lease {
  /** The database has responded: the caller's time begins anew. */
  more(): void;
  /** From now on nobody knows, unless the database says so, whether the work was done. */
  committing(): void;
}

export type Work<T> = (connection: PostgresConnection, lease: Lease) => Promise<T>;

export interface Pool {
  /**
   * Lends a connection to `work`. It is closed unless `work` ends well and in time.
   * @throws Refusal `unavailable`
   */
  use<T>(work: Work<T>): Promise<T>;
  /** The same for work that changes nothing: done again when a connection turns out to be dead or the host outdated. */
  read<T>(work: Work<T>): Promise<T>;
  /**
   * The same for work that commits. A commit that waits for a standby goes on when its caller has given up and the connection
   * was closed, so it keeps its place in the pool until the database has ended it. One place is left to other work, if there are several.
   */
  commit<T>(work: Work<T>): Promise<T>;
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: (connection: PostgresConnection | Promise<PostgresConnection>) => void;
  /** Whether whoever waits has given up. */
  readonly isOver: () => boolean;
}

/** What a caller has of the pool. */
interface Loan {
  connection: PostgresConnection | undefined;
  isCommitting: boolean;
  /** Whether the caller has given up. */
  isOver: boolean;
}

/** How often something is read, the first time included. */
const mostReads = 3;

/** How long a connection is kept, in milliseconds, so that load moves on to a database that was added or came back. */
const lifetime = 30 * 60 * 1000;

/**
 * Makes a pool of at most `size` connections to any one host. Nothing is connected before it is needed.
 * @param timeout milliseconds that the database has for one call
 */
export function createPool(primary: Primary, size: number, timeout = primary.address.timeout): Pool {
  const { hosts } = primary.address;
  const mostAbandoned = Math.max(1, size - 1);
  const idle: PostgresConnection[] = [];
  let waiting: Waiting[] = [];
  /** Commits that were given up and are still under way in the database, by host. */
  const abandoned = new Map<string, number>();
  let taken = 0;
  let isClosed = false;

  function take(isOver: () => boolean): Promise<PostgresConnection> {
    const { promise, resolve } = Promise.withResolvers<PostgresConnection>();
    waiting.push({ resolve, isOver });
    serve();
    return promise;
  }

  /** Lends what there is to those who wait, in their order. */
  function serve(): void {
    waiting = waiting.filter(({ isOver }) => !isOver());
    while (waiting.length > 0) {
      const lent = lend();
      if (!lent) return;
      taken++;
      waiting.shift()?.resolve(lent);
    }
  }

  function lend(): PostgresConnection | Promise<PostgresConnection> | undefined {
    for (let connection = idle.pop(); connection; connection = idle.pop()) {
      if (isUsable(connection)) return connection;
      void connection.close();
    }
    const free = hosts.filter((host) => taken + abandonedAt(host) < size);
    return free.length > 0 ? primary.connect(free) : undefined;
  }

  function isUsable(connection: PostgresConnection): boolean {
    const isYoung = performance.now() - connection.openedAt < lifetime;
    return !isClosed && isYoung && connection.isOpen && primary.trusts(connection);
  }

  function giveBack(connection: PostgresConnection | undefined): void {
    taken--;
    if (connection && isUsable(connection)) idle.push(connection);
    else void connection?.close();
    serve();
  }

  function abandonedAt(host: Host): number {
    return abandoned.get(nameOf(host)) ?? 0;
  }

  function abandon({ host, ended }: PostgresConnection): void {
    abandoned.set(host, (abandoned.get(host) ?? 0) + 1);
    void ended.then(() => {
      abandoned.set(host, (abandoned.get(host) ?? 0) - 1);
      serve();
    });
  }

  async function use<T>(work: Work<T>): Promise<T> {
    if (isClosed) throw unavailable("the database was closed");
    const limit = createLimit(timeout);
    const loan: Loan = { connection: undefined, isCommitting: false, isOver: false };
    const taking = borrow(loan);
    try {
      const lent = await Promise.race([taking, limit.passed]);
      // Not a promise of the connection's own: it would hold what every caller waited for as long as it lives.
      lent.onLost(limit.fail);
      const lease = {
        more: limit.restart,
        committing() {
          loan.isCommitting = true;
        },
      };
      const result = await Promise.race([work(lent, lease), limit.passed]);
      lent.onLost(undefined);
      if (!primary.isNewest(lent)) throw unavailable(`${lent.host} is no longer the primary`, { code: outdated });
      giveBack(lent);
      return result;
    } catch (error) {
      loan.isOver = true;
      taking.catch(() => {});
      throw drop(loan, error);
    } finally {
      limit.stop();
    }
  }

  /** A connection for `loan`; one that comes when the caller has given up stays in the pool. */
  async function borrow(loan: Loan): Promise<PostgresConnection> {
    try {
      const lent = await take(() => loan.isOver);
      if (loan.isOver) giveBack(lent);
      else loan.connection = lent;
      return lent;
    } catch (error) {
      giveBack(undefined);
      throw error;
    }
  }

  /** Closes the connection on which something went wrong, and says what. */
  function drop({ connection, isCommitting }: Loan, error: unknown): unknown {
    const isUnknown = isCommitting && !isTold(error);
    if (connection) {
      if (!isTold(error)) primary.distrust(connection);
      if (isUnknown) abandon(connection);
      void connection.close();
      giveBack(undefined);
    }
    return isUnknown ? unknownOutcome(error) : fromPostgres(error);
  }

  /** Where too many commits were given up, only another host that has become the primary takes further ones. */
  async function requireRoom(): Promise<void> {
    const isFull = (host: Host) => abandonedAt(host) >= mostAbandoned;
    if (!hosts.some((host) => nameOf(host) === primary.current && isFull(host))) return;
    try {
      const other = await primary.connect(hosts.filter((host) => !isFull(host)));
      taken++;
      giveBack(other);
    } catch (error) {
      const reason = `${mostAbandoned} commits at ${primary.current} are still under way; its synchronous standby does not respond`;
      throw unavailable(reason, error);
    }
  }

  return {
    use,
    async read(work) {
      const started = performance.now();
      for (let attempt = 1; ; attempt++) {
        try {
          return await use(work);
        } catch (error) {
          const isLate = attempt === mostReads || performance.now() - started > timeout / 4;
          if (isLate || !isWorthAnother(error)) throw error;
        }
      }
    },
    async commit(work) {
      await requireRoom();
      return use(work);
    },
    async close() {
      isClosed = true;
      await Promise.all(idle.splice(0).map((connection) => connection.close()));
    },
  };
}

/** Whether the connection was lost or the host outdated, rather than the database being slow, absent or unwilling. */
function isWorthAnother(error: unknown): boolean {
  const code = codeOf((error as Error).cause ?? {});
  return code === outdated || /^(CONNECTION_CLOSED|ECONNRESET|EPIPE|57P01)$/.test(code);
}

function unknownOutcome(error: unknown): unknown {
  return unavailable(`${messageOf(fromPostgres(error))}; the write may have been done all the same`, error);
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
