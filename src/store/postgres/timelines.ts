// Which hosts were replaced. A timeline is the number of promotions in a database's history: a standby that is promoted begins the next one
// (https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES). Of two hosts that both act as
// primary, the one on the lower timeline was replaced by the other, perhaps without noticing.

import { unavailable } from "./errors.ts";
import type { PostgresConnection } from "./postgres-connection.ts";

/** The highest timeline that this process has seen of any host, and the connections that it has. */
export class Timelines {
  #newest = 0;
  readonly #connections = new Set<PostgresConnection>();

  /** Whether a connection is to the newest primary that this process has seen. */
  isNewest({ timeline }: PostgresConnection): boolean {
    return timeline >= this.#newest;
  }

  /** Whether the database has timelines: some engines do not. */
  get areKnown(): boolean {
    return this.#newest > 0;
  }

  /** Whether any connection is in use. */
  get areUsed(): boolean {
    return this.#connections.values().some(({ isUsed }) => isUsed);
  }

  /** @throws Refusal `unavailable` when the host of a new connection was replaced */
  add(connection: PostgresConnection): void {
    for (const one of this.#connections) if (!one.isOpen) this.#connections.delete(one);
    const { timeline } = connection;
    this.note(timeline);
    if (this.isNewest(connection)) return void this.#connections.add(connection);
    void connection.close();
    throw unavailable(
      `it is on timeline ${timeline}, but ${this.#newest} has been seen: it was replaced, or restored (if it was restored, restart this server)`,
    );
  }

  /** Notes the timeline of a primary. All connections to hosts that it has replaced are left at once, also those on which a commit waits. */
  note(timeline: number): void {
    if (timeline <= this.#newest) return;
    this.#newest = timeline;
    for (const connection of this.#connections) if (!this.isNewest(connection)) connection.leave();
  }
}
