// Finds the primary among the hosts, and decides which connections are still good.
//
// Grace: all hosts are tried at once. After a first primary has responded, the others have another 200 ms (`graceMs`), because a replaced primary may
// respond first. If several hosts act as the primary, we use the one on the highest timeline: it has replaced the others (timelines.ts).
//
// Trust: a connection is trusted if its host is the newest primary this process has seen. Once any connection to a host has failed, older ones to it
// are no longer trusted, because the host may hang or have been replaced.

import { errorMessage } from "../../lib/errors-for-log.ts";
import { unavailableError } from "../../model/errors.ts";
import { type DatabaseAddress, type Host, nameOf } from "./address.ts";
import { connect, type PostgresConnection } from "./connection.ts";
import { isDatabaseError } from "./errors.ts";
import { comparisonIntervalMs, TimelineMonitor, Timelines } from "./timelines.ts";

/** How long other hosts have to respond after the first primary was found. */
const graceMs = 200;
/** How long to wait before retrying a host that isn't the primary, while another has yet to respond. */
const pauseMs = 200;

export interface Primary {
  readonly address: DatabaseAddress;
  /** The host last found to be the primary, as in `PostgresConnection.host`. */
  readonly current: string | undefined;
  /**
   * Connects to the primary among `hosts`, by default all of them. They're tried at once, so a dead host causes no delay.
   * @throws an error returned by a database, if any; otherwise the only host's error, or ProblemError `unavailable` with each host's reason
   */
  connect(hosts?: readonly Host[]): Promise<PostgresConnection>;
  /** Whether the connection is to the newest primary this process has seen. */
  isNewest(connection: PostgresConnection): boolean;
  /** Whether the connection is to the newest primary, and none to its host has failed since it was opened. */
  trusts(connection: PostgresConnection): boolean;
  /** Stops trusting all current connections to the same host, because it hangs, has disappeared, or was replaced. */
  distrust(connection: PostgresConnection): void;
  /** Starts to check whether another host has replaced the one in use. */
  checkForReplacement(): void;
  close(): void;
}

/** @param intervalMs milliseconds between comparisons of all hosts */
export function createPrimary(address: DatabaseAddress, intervalMs = comparisonIntervalMs): Primary {
  let current: string | undefined;
  const timelines = new Timelines();
  const monitor = new TimelineMonitor(address, timelines, () => current, intervalMs);
  /** Per host, by `performance.now()`: only connections opened after this are trusted. */
  const trustedSince = new Map<string, number>();

  async function tryHost(host: Host): Promise<PostgresConnection> {
    const connection = await connect(host, address, { onUse: () => monitor.markUsed() });
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
      if (hosts.length === address.hosts.length) monitor.markCompared();
      return chosen;
    },
    isNewest: (connection) => timelines.isNewest(connection),
    trusts: (connection) =>
      timelines.isNewest(connection) && connection.openedAt > (trustedSince.get(connection.host) ?? -1),
    distrust: ({ host }) => void trustedSince.set(host, performance.now()),
    checkForReplacement: () => monitor.checkForReplacement(),
    close: () => monitor.close(),
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
    throw mostUsefulError((error as AggregateError).errors, hosts);
  }
  isFound = true;
  return choose(searches);
}

/** Keeps trying a host while another has yet to respond: that one may be a dead primary, and this one about to replace it. */
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
      if (isAnyPending()) await Bun.sleep(pauseMs);
      if (!isAnyPending()) throw error;
    }
  }
}

/** Returns the connection on the highest timeline among those opened in time. Closes all others, even if they're opened later. */
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
  const timer = setTimeout(resolve, graceMs);
  await Promise.race([Promise.all(all), isOver]);
  clearTimeout(timer);
  chosen = found.reduce((best, connection) => (connection.timeline > best.timeline ? connection : best));
  for (const connection of found) if (connection !== chosen) void connection.close();
  return chosen;
}

/**
 * Returns the error to throw if no host can be used: preferably a database's, which the operator can do something about, otherwise those of all
 * hosts.
 */
function mostUsefulError(errors: readonly unknown[], hosts: readonly Host[]): unknown {
  const returned = errors.find(isDatabaseError);
  if (returned || errors.length === 1) return returned ?? errors[0];
  const reasons = errors.map((error, i) => `${nameOf(hosts[i] as Host)}: ${errorMessage(error)}`);
  return unavailableError(`no primary among the hosts of the database (${reasons.join("; ")})`, errors[0]);
}
