// Notices hosts that were replaced. A database's timelines are numbered from 1: a standby that's promoted starts the next one
// (https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES). If two hosts act as the primary, the one on the higher
// timeline has replaced the other, which may not know.

import { unavailableError } from "../../model/errors.ts";
import { type DatabaseAddress, type Host, nameOf } from "./address.ts";
import { connect, createTimeLimit, type PostgresConnection } from "./connection.ts";
import { isDatabaseError } from "./errors.ts";

/** The highest timeline seen by this process on any host, and its open connections. */
export class Timelines {
  #newest = 0;
  readonly #connections = new Set<PostgresConnection>();

  /** Whether the connection is to the newest primary this process has seen. */
  isNewest({ timeline }: PostgresConnection): boolean {
    return timeline >= this.#newest;
  }

  /** Some databases don't have timelines. */
  get areKnown(): boolean {
    return this.#newest > 0;
  }

  get hasUsedConnection(): boolean {
    return this.#connections.values().some(({ isUsed }) => isUsed);
  }

  /** Adds a new connection, or closes it if its host was replaced. @throws ProblemError `unavailable` if it was */
  add(connection: PostgresConnection): void {
    for (const one of this.#connections) if (!one.isOpen) this.#connections.delete(one);
    const { timeline } = connection;
    this.advanceTo(timeline);
    if (this.isNewest(connection)) return void this.#connections.add(connection);
    void connection.close();
    throw unavailableError(
      `it's on timeline ${timeline}, but we've seen ${this.#newest}: it was replaced or restored (if it was restored, restart this server)`,
    );
  }

  /** Notes a primary's timeline. Closes all connections to hosts that it has replaced, even if a commit is waiting on them. */
  advanceTo(timeline: number): void {
    if (timeline <= this.#newest) return;
    this.#newest = timeline;
    for (const connection of this.#connections) if (!this.isNewest(connection)) connection.leave();
  }
}

// Notices that another host has replaced the primary in use. The old one may still be running without knowing: it returns old data, and its commits
// wait for a standby that now follows the new primary. So for as long as a process uses the database, it compares the timelines of all hosts.

/** How often all hosts are compared. Including the comparison itself, it's usually less than a second. */
export const comparisonIntervalMs = 750;
/** How long to wait before asking a host again that returned an error, for example because it rejects this user. */
const pauseAfterFailureMs = 10_000;

export class TimelineMonitor {
  readonly #timelines: Timelines;
  readonly #intervalMs: number;
  readonly #probes: readonly TimelineProbe[];
  readonly #current: () => string | undefined;
  /** When all hosts were last compared, by `performance.now()`. */
  #comparedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #wasUsed = false;
  #isClosed = false;

  /** @param current returns the name of the host in use */
  constructor(address: DatabaseAddress, timelines: Timelines, current: () => string | undefined, intervalMs: number) {
    this.#timelines = timelines;
    this.#intervalMs = intervalMs;
    this.#current = current;
    this.#probes = address.hosts.map((host) => new TimelineProbe(host, address));
  }

  /** Call this when the database is used. Starts the periodic comparison. */
  markUsed(): void {
    this.#wasUsed = true;
    if (this.#timer || this.#isClosed || this.#probes.length === 1 || !this.#timelines.areKnown) return;
    this.#plan(Math.max(0, this.#comparedAt + this.#intervalMs - performance.now()));
  }

  /** Call this after all hosts' timelines were read elsewhere. The next comparison follows after the interval. */
  markCompared(): void {
    this.#comparedAt = performance.now();
  }

  /** Compares now. Call this after an error that can mean that the primary was replaced. */
  checkForReplacement(): void {
    if (this.#isClosed || !this.#timelines.areKnown) return;
    this.markCompared();
    const others = this.#probes.filter(({ host }) => host !== this.#current());
    // A single hostname may lead to another machine by now. Only a new connection gets there.
    const isSingle = others.length === 0;
    for (const probe of isSingle ? this.#probes : others) void this.#ask(probe, isSingle);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const probe of this.#probes) probe.close();
  }

  #plan(pauseMs: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#wasUsed && !this.#timelines.hasUsedConnection) return;
      this.#wasUsed = false;
      this.checkForReplacement();
      this.#plan(this.#intervalMs);
    }, pauseMs);
    this.#timer.unref();
  }

  async #ask(probe: TimelineProbe, mustReconnect: boolean): Promise<void> {
    const timeline = await probe.read(mustReconnect);
    if (this.#isClosed) probe.close();
    else if (timeline !== undefined) this.#timelines.advanceTo(timeline);
  }
}

/** Reads a host's timeline over a connection that stays open, even while the host is a standby. */
class TimelineProbe {
  readonly host: string;
  readonly #host: Host;
  readonly #address: DatabaseAddress;
  #connection: PostgresConnection | undefined;
  #isReading = false;
  #pausedUntil = 0;

  constructor(host: Host, address: DatabaseAddress) {
    this.host = nameOf(host);
    this.#host = host;
    this.#address = address;
  }

  /**
   * Returns the host's timeline; 0 for a standby. Returns undefined if the host doesn't respond in time, if another read is in flight, or during the
   * pause after an error.
   * @param mustReconnect whether to open a new connection for this read, and close it afterwards
   */
  async read(mustReconnect: boolean): Promise<number | undefined> {
    if (this.#isReading || performance.now() < this.#pausedUntil) return undefined;
    this.#isReading = true;
    if (mustReconnect) this.close();
    const limit = createTimeLimit(this.#address.timeoutMs);
    try {
      return await Promise.race([this.#read(), limit.passed]);
    } catch (error) {
      if (isDatabaseError(error)) this.#pausedUntil = performance.now() + pauseAfterFailureMs;
      this.close();
      return undefined;
    } finally {
      limit.stop();
      if (mustReconnect) this.close();
      this.#isReading = false;
    }
  }

  close(): void {
    void this.#connection?.close();
    this.#connection = undefined;
  }

  async #read(): Promise<number> {
    if (this.#connection?.isOpen) return this.#connection.readTimeline();
    this.#connection = await connect(this.#host, this.#address, { mayBeStandby: true });
    return this.#connection.timeline;
  }
}
