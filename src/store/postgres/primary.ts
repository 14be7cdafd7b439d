// Finds the primary among the hosts, and decides which connections still lead to it.
//
// A timeline is the number of promotions in a database's history: a standby that is promoted begins the next one
// (https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES). Of two hosts that both act as
// primary, the one on the lower timeline was replaced by the other without noticing.

import { messageOf } from "../../lib/thrown.ts";
import { type DatabaseAddress, type Host, nameOf } from "./address.ts";
import { isDatabaseError, unavailable } from "./errors.ts";
import { connect, type PostgresConnection } from "./postgres-connection.ts";

/** How long the other hosts have to respond after the first primary was found, in milliseconds. */
const grace = 200;
/** The pause before a host that is no primary is tried again, while another has not responded yet, in milliseconds. */
const pause = 200;

export interface Primary {
  readonly address: DatabaseAddress;
  /** The host that was last found to be the primary, as in `PostgresConnection.host`. */
  readonly current: string | undefined;
  /**
   * Connects to the primary among `hosts` (all of them when not given). All are tried at once, so that a dead one causes no
   * delay; of several primaries, the one on the highest timeline is used.
   * @throws what went wrong, or Refusal `unavailable` with every host's reason
   */
  connect(hosts?: readonly Host[]): Promise<PostgresConnection>;
  /** Whether a connection is to the newest primary that this process has seen. */
  isNewest(connection: PostgresConnection): boolean;
  /** Whether it is, and no connection to its host has failed since it was opened. */
  trusts(connection: PostgresConnection): boolean;
  /** Stops trusting all connections to the same host that are open now: the host hangs, is gone, or was replaced. */
  distrust(connection: PostgresConnection): void;
}

export function createPrimary(address: DatabaseAddress): Primary {
  let current: string | undefined;
  /** The highest timeline of any host so far. */
  let newest = 0;
  /** By host, the time after which its connections were opened that are trusted (`performance.now()`). */
  const trustedSince = new Map<string, number>();

  function isNewest({ timeline }: PostgresConnection): boolean {
    return timeline >= newest;
  }

  async function tryHost(host: Host): Promise<PostgresConnection> {
    const connection = await connect(host, address);
    newest = Math.max(newest, connection.timeline);
    if (isNewest(connection)) return connection;
    void connection.close();
    throw unavailable(
      `it is on timeline ${connection.timeline}, but ${newest} has been seen: it was replaced, or restored (if it was restored, restart this server)`,
    );
  }

  /** Tries a host, repeatedly while another does not respond: a standby may be promoted in its place meanwhile. */
  async function search(host: Host, isAnyPending: () => boolean, onResponse: () => void): Promise<PostgresConnection> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await tryHost(host);
      } catch (error) {
        if (attempt === 1) onResponse();
        if (isAnyPending()) await Bun.sleep(pause);
        if (!isAnyPending()) throw error;
      }
    }
  }

  async function connectTo(hosts: readonly Host[]): Promise<PostgresConnection> {
    let pending = hosts.length;
    let isFound = false;
    const searches = hosts.map((host) =>
      search(
        host,
        () => pending > 0 && !isFound,
        () => void pending--,
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

/** Returns the connection on the highest timeline, of those that are open in time. Closes the others, also those that come later. */
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

/** Why no host can be used: an error of a database, which an operator can act on, or the errors of all hosts. */
function mostUseful(errors: readonly unknown[], hosts: readonly Host[]): unknown {
  const returned = errors.find(isDatabaseError);
  if (returned || errors.length === 1) return returned ?? errors[0];
  const reasons = errors.map((error, i) => `${nameOf(hosts[i] as Host)}: ${messageOf(error)}`);
  return unavailable(`no primary among the hosts of the database (${reasons.join("; ")})`, errors[0]);
}
