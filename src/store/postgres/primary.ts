// Finds the primary among the hosts, and decides which connections still lead to it.

import { messageOf } from "../../lib/errors-for-log.ts";
import { type DatabaseAddress, type Host, nameOf } from "./address.ts";
import { connect, type PostgresConnection } from "./connection.ts";
import { isDatabaseError, unavailable } from "./errors.ts";
import { Timelines, TimelineWatch } from "./timelines.ts";

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
  /** Looks now whether another host has replaced the one in use. */
  compare(): void;
  close(): void;
}

export function createPrimary(address: DatabaseAddress): Primary {
  let current: string | undefined;
  const timelines = new Timelines();
  const watch = new TimelineWatch(address, timelines, () => current);
  /** By host, the time after which its connections were opened that are trusted (`performance.now()`). */
  const trustedSince = new Map<string, number>();

  async function tryHost(host: Host): Promise<PostgresConnection> {
    const connection = await connect(host, address, { onUse: () => watch.noteUse() });
    timelines.add(connection);
    return connection;
  }

  return {
    address,
    get current() {
      return current;
    },
    async connect(hosts = address.hosts) {
      const chosen = await searchAll(hosts, tryHost);
      current = chosen.host;
      if (hosts.length === address.hosts.length) watch.noteCompared();
      return chosen;
    },
    isNewest: (connection) => timelines.isNewest(connection),
    trusts: (connection) =>
      timelines.isNewest(connection) && connection.openedAt > (trustedSince.get(connection.host) ?? -1),
    distrust: ({ host }) => void trustedSince.set(host, performance.now()),
    compare: () => watch.compare(),
    close: () => watch.close(),
  };
}

type TryHost = (host: Host) => Promise<PostgresConnection>;

async function searchAll(hosts: readonly Host[], tryHost: TryHost): Promise<PostgresConnection> {
  let pending = hosts.length;
  let isFound = false;
  const searches = hosts.map((host) =>
    search(
      () => tryHost(host),
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
  return choose(searches);
}

/** Tries a host, repeatedly while another does not respond: a standby may be promoted in its place meanwhile. */
async function search(
  attempt: () => Promise<PostgresConnection>,
  isAnyPending: () => boolean,
  onResponse: () => void,
): Promise<PostgresConnection> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await attempt();
    } catch (error) {
      if (isFirst) onResponse();
      if (isAnyPending()) await Bun.sleep(pause);
      if (!isAnyPending()) throw error;
    }
  }
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
