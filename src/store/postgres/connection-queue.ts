import { type Host, nameOf } from "./address.ts";
import type { PostgresConnection } from "./connection.ts";
import { unavailable } from "./errors.ts";
import type { Primary } from "./primary.ts";

export interface PoolUsage {
  /** Connections that callers have, those under way to them included. */
  readonly inUse: number;
  /** Callers that wait. */
  readonly waiting: number;
}

interface Waiting {
  readonly resolve: (connection: PostgresConnection | Promise<PostgresConnection>) => void;
  /** Whether the caller no longer waits. */
  readonly hasEnded: () => boolean;
}

/** How long a connection is used, in milliseconds, so that load moves on to a database that was added or is back. */
const lifetime = 30 * 60 * 1000;

/**
 * The connections of a pool: at most `size` to any one host, one for each caller, in the order of the calls. A connection
 * is opened when a caller needs it.
 */
export class ConnectionQueue {
  readonly #primary: Primary;
  readonly #size: number;
  readonly #idle: PostgresConnection[] = [];
  #waiting: Waiting[] = [];
  /** The number of commits whose callers timed out and that still run in the database, by host. */
  readonly #abandoned = new Map<string, number>();
  #taken = 0;
  #isClosed = false;

  constructor(primary: Primary, size: number) {
    this.#primary = primary;
    this.#size = size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get usage(): PoolUsage {
    return { inUse: this.#taken, waiting: this.#waiting.length };
  }

  /**
   * Waits for a connection. Each one is given back, also after a failure to connect (`giveBack(undefined)`).
   * @param hasEnded whether the caller no longer waits; then nothing is connected for it
   */
  take(hasEnded: () => boolean): Promise<PostgresConnection> {
    const { promise, resolve } = Promise.withResolvers<PostgresConnection>();
    this.#waiting.push({ resolve, hasEnded });
    this.#serve();
    return promise;
  }

  /** Returns a connection to the queue, or undefined in the place of one that is closed. */
  giveBack(connection: PostgresConnection | undefined): void {
    this.#taken--;
    this.#add(connection);
  }

  /**
   * Counts a connection on which a commit may still run, until the database has ended it: so a host never has more than
   * `size` of them. The connection is given back as well.
   */
  abandon({ host, ended }: PostgresConnection): void {
    this.#abandoned.set(host, (this.#abandoned.get(host) ?? 0) + 1);
    void ended.then(() => {
      this.#abandoned.set(host, (this.#abandoned.get(host) ?? 0) - 1);
      this.#serve();
    });
  }

  /**
   * Makes sure that another commit may run: one connection is left to other work where the pool has several. Where the primary
   * has too many abandoned commits, only another host that has become the primary may run further ones.
   * @throws Refusal `unavailable`
   */
  async requireCommit(): Promise<void> {
    const limit = Math.max(1, this.#size - 1);
    const { current, address } = this.#primary;
    const hosts = address.hosts.filter((host) => this.#abandonedAt(host) < limit);
    if (!address.hosts.some((host) => nameOf(host) === current && !hosts.includes(host))) return;
    try {
      this.#add(await this.#primary.connect(hosts));
    } catch (error) {
      const reason = `${limit} commits at ${current} are still under way; its synchronous standby does not respond`;
      throw unavailable(reason, error);
    }
  }

  /** Closes the idle connections; the others are closed when they are given back. */
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
      this.#taken++;
      this.#waiting.shift()?.resolve(connection);
    }
  }

  /** An idle connection, or a new one; undefined when the pool has as many as it may have. */
  #next(): PostgresConnection | Promise<PostgresConnection> | undefined {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (this.#isUsable(connection)) return connection;
      void connection.close();
    }
    const { hosts } = this.#primary.address;
    const free = hosts.filter((host) => this.#taken + this.#abandonedAt(host) < this.#size);
    return free.length > 0 ? this.#primary.connect(free) : undefined;
  }

  #isUsable(connection: PostgresConnection): boolean {
    const isYoung = performance.now() - connection.openedAt < lifetime;
    return !this.#isClosed && isYoung && connection.isOpen && this.#primary.trusts(connection);
  }

  #abandonedAt(host: Host): number {
    return this.#abandoned.get(nameOf(host)) ?? 0;
  }
}
