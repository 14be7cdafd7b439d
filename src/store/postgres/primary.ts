// Which of the hosts is the primary, and what this process has learned of them.
//
// A timeline is the number of promotions in a database's history: a standby that is promoted begins the next one
// (https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES). Of two hosts that both claim to
// be the primary, the one on the lower timeline was replaced by the other and does not know it.

import { messageOf } from "../../lib/thrown.ts";
import { type DatabaseAddress, type Host, nameOf } from "./address.ts";
import { isDatabaseError, unavailable } from "./errors.ts";
import { connect, type PostgresConnection } from "./postgres-connection.ts";

/** How long the other hosts have to respond once one was found to be a primary, in milliseconds. */
const grace = 200;
/** How long a host that is no primary is left alone while another has not responded yet, in milliseconds. */
const pause = 200;

export interface Primary {
  readonly address: DatabaseAddress;
  /** The host that was last found to be the primary, as connections name it. */
  readonly current: string | undefined;
  /**
   * Connects to the primary among `hosts` (all of them when not given). All are asked at once, so that a dead one costs no
   * time; of several primaries, the one on the highest timeline is taken.
   * @throws what went wrong, or Refusal `unavailable` with every host's reason
   */
  connect(hosts?: readonly Host[]): Promise<PostgresConnection>;
  /** Whether a connection is to the newest primary that this process has seen. */
  isNewest(connection: PostgresConnection): boolean;
  /** Whether it is, and nothing went wrong at its host since it was opened. */
  trusts(connection: PostgresConnection): boolean;
  /** Stops trusting every connection to the same host that is open now: it hangs, is gone, or is not what it was. */
  distrust(connection: PostgresConnection): void;
}

export function createPrimary(address: DatabaseAddress): Primary {
  let current: string | undefined;
  /** The highest timeline that any host was found on. */
  let newest = 0;
  /** By host, since when its connections are trusted (`performance.now()`). */
  const trustedSince = new Map<string, number>();

  function isNewest({ timeline }: PostgresConnection): boolean {
    return timeline >= newest;
  }

  async function ask(host: Host): Promise<PostgresConnection> {
    const connection = await connect(host, address);
    newest = Math.max(newest, connection.timeline);
    if (isNewest(connection)) return connection;
    void connection.close();
    throw unavailable(
      `it is on timeline ${connection.timeline}, but ${newest} has been seen: it was replaced, or restored anew (then restart this server)`,
    );
  }

  /** Asks a host; again and again while another keeps silent, for a standby may be promoted in its place meanwhile. */
  async function search(host: Host, isSomeSilent: () => boolean, onResponse: () => void): Promise<PostgresConnection> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await ask(host);
      } catch (error) {
        if (attempt === 1) onResponse();
        if (isSomeSilent()) await Bun.sleep(pause);
        if (!isSomeSilent()) throw error;
      }
    }
  }

  async function connectTo(hosts: readonly Host[]): Promise<PostgresConnection> {
    let silent = hosts.length;
    let isFound = false;
    const searches = hosts.map((host) =>
      search(
        host,
        () => silent > 0 && !isFound,
        () => void silent--,
      ),
    );
    try {
      await Promise.any(searches);
    } catch (error) {
      throw mostUseful((error as AggregateError).errors, hosts);
    }
    isFound = true;
    const chosen = await choose(searches);
    current = chosen.host;
    return chosen;
  }

  return {
    address,
    get current() {
      return current;
    },
    connect: (hosts = address.hosts) => connectTo(hosts),
    isNewest,
    trusts: (connection) => isNewest(connection) && connection.openedAt > (trustedSince.get(connection.host) ?? -1),
    distrust: ({ host }) => void trustedSince.set(host, performance.now()),
  };
}

/** The connection on the highest timeline, of those that are there in time; the others are closed, also those that come later. */
async function choose(searches: readonly Promise<PostgresConnection>[]): Promise<PostgresConnection> {
  const found: PostgresConnection[] = [];
  let chosen: PostgresConnection | undefined;
  const all = searches.map((search) =>
    search.then(
      (connection) => void (chosen ? connection.close() : found.push(connection)),
      () => {},
    ),
  );
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, grace);
  await Promise.race([Promise.all(all), isOver]);
  clearTimeout(timer);
  chosen = found.reduce((best, connection) => (connection.timeline > best.timeline ? connection : best));
  for (const connection of found) if (connection !== chosen) void connection.close();
  return chosen;
}

/** Of the reasons why no host would do, one that an operator can act on; with several hosts, all of them. */
function mostUseful(errors: readonly unknown[], hosts: readonly Host[]): unknown {
  const spoken = errors.find(isDatabaseError);
  if (spoken || errors.length === 1) return spoken ?? errors[0];
  const reasons = errors.map((error, i) => `${nameOf(hosts[i] as Host)}: ${messageOf(error)}`);
  return unavailable(`no primary among the hosts of the database (${reasons.join("; ")})`, errors[0]);
}
