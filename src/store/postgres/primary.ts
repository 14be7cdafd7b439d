// Finds the primary among the hosts, and decides which connections may still be used.
//
// Grace: all hosts are tried at the same time. After the first primary has responded, the other hosts have 200 ms more (`graceMs`), because a replaced
// primary may respond first. If several hosts act as primary, the host on the highest timeline is used: it has replaced the others (timelines.ts).
//
// Trust: a connection is trusted if its host is the newest primary that this process has seen. After any connection to a host has failed, older
// connections to this host are not trusted any more, because the host may hang or have been replaced.

import { errorMessage } from "../../lib/errors-for-log.ts";
import { unavailableError } from "../../model/errors.ts";
import { type DatabaseAddress, type Host, nameOf } from "./address.ts";
import { connect, type PostgresConnection } from "./connection.ts";
import { isDatabaseError } from "./errors.ts";
import { comparisonIntervalMs, TimelineMonitor, Timelines } from "./timelines.ts";

/** Milliseconds in which the other hosts must respond after the first primary was found. */
const graceMs = 200;
/** Pause in milliseconds before a host that is not the primary is tried again, while another host has not responded yet. */
const pauseMs = 200;

export interface Primary {
  readonly address: DatabaseAddress;
  /** The host that was last found to be the primary, as in `PostgresConnection.host`. */
  readonly current: string | undefined;
  /**
   * Connects to the primary among `hosts`, by default all hosts. All are tried at the same time, so that a dead host causes no delay.
   * @throws the error that a database has returned, if any; otherwise the error of the only host, or ProblemError `unavailable` with the reason of
   *   each host
   */
  connect(hosts?: readonly Host[]): Promise<PostgresConnection>;
  /** Whether a connection is to the newest primary that this process has seen. */
  isNewest(connection: PostgresConnection): boolean;
  /** Whether a connection is to the newest primary, and no connection to its host has failed since this one was opened. */
  trusts(connection: PostgresConnection): boolean;
  /** Stops trusting all connections to the same host that are open now, because the host hangs, has disappeared, or was replaced. */
  distrust(connection: PostgresConnection): void;
  /** Starts to check whether another host has replaced the one in use. */
  checkForReplacement(): void;
  close(): void;
}

/** @param intervalMs milliseconds between two comparisons of all hosts */
export function createPrimary(address: DatabaseAddress, intervalMs = comparisonIntervalMs): Primary {
  let current: string | undefined;
  const timelines = new Timelines();
  const monitor = new TimelineMonitor(address, timelines, () => current, intervalMs);
  /** A time for each host (`performance.now()`): connections to the host are trusted if they were opened after it. */
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

/** Tries a host. Repeats this while another host has not responded: that host may be a dead primary, and the host tried here its next primary. */
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

/** Returns the connection on the highest timeline among those opened in time. Closes all other connections, also if they are opened later. */
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

/** Returns the error to throw if no host can be used: the error of a database, because the operator can act on it, or the errors of all hosts. */
function mostUsefulError(errors: readonly unknown[], hosts: readonly Host[]): unknown {
  const returned = errors.find(isDatabaseError);
  if (returned || errors.length === 1) return returned ?? errors[0];
  const reasons = errors.map((error, i) => `${nameOf(hosts[i] as Host)}: ${errorMessage(error)}`);
  return unavailableError(`no primary among the hosts of the database (${reasons.join("; ")})`, errors[0]);
}
