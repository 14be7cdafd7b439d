// The connections of one pool: which caller gets one, and how many each host may have.

import { unavailableError } from "../../model/errors.ts";
import { type Host, nameOf } from "./address.ts";
import type { PostgresConnection } from "./connection.ts";
import type { Primary } from "./primary.ts";

export interface PoolUsage {
  /** Connections in use, including those being opened for a caller. */
  readonly inUse: number;
  /** Callers waiting for a connection. */
  readonly waiting: number;
}

interface Waiting {
  readonly resolve: (connection: PostgresConnection | Promise<PostgresConnection>) => void;
  /** Whether the caller has stopped waiting. */
  readonly hasEnded: () => boolean;
}

/** Maximum age of a connection, so that new ones spread the load to hosts that were added or have recovered. */
const maxAgeMs = 30 * 60 * 1000;

/** A pool's connections, at most `size` per host. Callers get them in the order of their calls. Connections are opened on demand. */
export class ConnectionQueue {
  readonly #primary: Primary;
  readonly #size: number;
  readonly #idle: PostgresConnection[] = [];
  #waiting: Waiting[] = [];
  /** Abandoned commits by host: their callers timed out, but they're still running in the database. */
  readonly #abandoned = new Map<string, number>();
  #acquired = 0;
  #isClosed = false;

  constructor(primary: Primary, size: number) {
    this.#primary = primary;
    this.#size = size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get usage(): PoolUsage {
    return { inUse: this.#acquired, waiting: this.#waiting.length };
  }

  /**
   * Waits for a connection, which the caller must release. If connecting fails, it must call `release(undefined)`.
   * @param hasEnded whether the caller has stopped waiting, so that we don't connect for it
   */
  acquire(hasEnded: () => boolean): Promise<PostgresConnection> {
    const { promise, resolve } = Promise.withResolvers<PostgresConnection>();
    this.#waiting.push({ resolve, hasEnded });
    this.#serve();
    return promise;
  }

  /** @param connection undefined if it was closed, or never opened */
  release(connection: PostgresConnection | undefined): void {
    this.#acquired--;
    this.#add(connection);
  }

  /**
   * Counts a commit that may still be running until the database has closed its connection, so that connections in use and abandoned commits never
   * add up to more than `size` per host. The caller must also call `release(undefined)`.
   */
  abandon({ host, ended }: PostgresConnection): void {
    this.#abandoned.set(host, (this.#abandoned.get(host) ?? 0) + 1);
    void ended.then(() => {
      this.#abandoned.set(host, (this.#abandoned.get(host) ?? 0) - 1);
      this.#serve();
    });
  }

  /**
   * Checks that another commit may start. Abandoned commits must leave a connection for other work, if the pool has several. If there are too many on
   * the current primary, the commit may only start if another host has become the primary.
   * @throws ProblemError `unavailable` if it may not start
   */
  async requireCommitAllowed(): Promise<void> {
    const limit = Math.max(1, this.#size - 1);
    const { current, address } = this.#primary;
    const hosts = address.hosts.filter((host) => this.#abandonedAt(host) < limit);
    if (!address.hosts.some((host) => nameOf(host) === current && !hosts.includes(host))) return;
    try {
      this.#add(await this.#primary.connect(hosts));
    } catch (error) {
      const reason = `${limit} commits on ${current} are still in progress, because its synchronous standby isn't responding`;
      throw unavailableError(reason, error);
    }
  }

  /** Closes idle connections. The others are closed when they're released. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()));
  }

  #add(connection: PostgresConnection | undefined): void {
    if (connection && this.#isUsable(connection)) this.#idle.push(connection);
    else void connection?.close();
    this.#serve();
  }

  #serve(): void {
    this.#waiting = this.#waiting.filter(({ hasEnded }) => !hasEnded());
    while (this.#waiting.length > 0) {
      const connection = this.#next();
      if (!connection) return;
      this.#acquired++;
      this.#waiting.shift()?.resolve(connection);
    }
  }

  /** Returns an idle connection or opens one; undefined if the pool is at its limit on all hosts. */
  #next(): PostgresConnection | Promise<PostgresConnection> | undefined {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (this.#isUsable(connection)) return connection;
      void connection.close();
    }
    const { hosts } = this.#primary.address;
    const free = hosts.filter((host) => this.#acquired + this.#abandonedAt(host) < this.#size);
    return free.length > 0 ? this.#primary.connect(free) : undefined;
  }

  #isUsable(connection: PostgresConnection): boolean {
    const isYoung = performance.now() - connection.openedAt < maxAgeMs;
    return !this.#isClosed && isYoung && connection.isOpen && this.#primary.trusts(connection);
  }

  #abandonedAt(host: Host): number {
    return this.#abandoned.get(nameOf(host)) ?? 0;
  }
}
