// The metrics of the server except requests: connections, writes, the database, memory, the log and the build.

import { counter, gauge, histogram, type MetricFamily } from "../lib/metrics.ts";
import type { Engine, EngineUsage } from "../model/engine.ts";
import type { ListenerUsage } from "../wire/listen.ts";
import type { HttpDependencies } from "./dependencies.ts";

interface ServerUsage {
  readonly listener: ListenerUsage;
  readonly longPolls: number;
  /** Whether the server was ready at the last check; undefined if it was never checked. */
  readonly isReady: boolean | undefined;
  /** When the certificate in use expires, in milliseconds since 1970; undefined without one. */
  readonly certificateExpiry: number | undefined;
}

export async function serverFamilies(
  dependencies: HttpDependencies,
  { listener, longPolls, isReady, certificateExpiry }: ServerUsage,
): Promise<MetricFamily[]> {
  const { engineCalls, siteViews, verification, writeQueue, accessLog } = dependencies;
  const { version, commit } = dependencies.build();
  const { sites, bytes, loads, evictions } = siteViews.usage;
  const backup = dependencies.lastBackup.latest;
  const families = [
    gauge(
      "storefront_build_info",
      "Always 1. The labels are the version of the program and the commit that it was built from.",
      [[{ version, commit }, 1]],
      "first",
    ),
    gauge("storefront_http_connections", "Open connections of clients.", listener.connections),
    gauge("storefront_http_connection_bytes", "Memory of requests and responses that are in flight.", listener.bytes),
    gauge("storefront_polls_waiting", "Requests that wait for a change of their site.", longPolls),
    gauge("storefront_sites_in_memory", "Sites whose records are in memory.", sites),
    gauge("storefront_snapshot_bytes", "Estimated memory of the records in memory.", bytes),
    counter("storefront_site_loads_total", "Sites that were loaded into memory.", loads),
    counter(
      "storefront_site_evictions_total",
      "Sites that were evicted from memory, to stay within --memory.",
      evictions,
    ),
    ...verification.families(),
    gauge("storefront_write_queue_length", "Writes that wait for a transaction.", writeQueue.length),
    histogram("storefront_write_batch_size", "Writes in one transaction.", [[{}, writeQueue.batchSizes]]),
    histogram(
      "storefront_database_call_duration_seconds",
      "Time of a call to the database, with the time in which it waited for a connection, by call.",
      [...engineCalls].map(([call, { durations }]) => [{ call }, durations]),
      1000,
    ),
    counter(
      "storefront_database_errors_total",
      "Calls to the database that failed, by call.",
      [...engineCalls].map(([call, { errors }]) => [{ call }, errors]),
    ),
    ...usageFamilies(usageOf(dependencies.engine)),
    counter("storefront_log_lines_lost_total", "Lines that the access log lost.", accessLog?.lostLines ?? 0),
  ];
  if (isReady !== undefined) families.push(readyFamily(isReady));
  if (certificateExpiry !== undefined) {
    const help = "When the certificate of the public listener expires.";
    const at = certificateExpiry / 1000;
    families.push(gauge("storefront_certificate_expiry_timestamp_seconds", help, at, "min"));
  }
  if (backup) {
    const help = "As of when the last backup was made with `storefront backup`; 0 when there is none.";
    // With the database as a label, so that a backup of one database is not taken for one of another.
    const values = [[{ database: backup.database }, backup.at / 1000]] as const;
    families.push(gauge("storefront_last_backup_timestamp_seconds", help, values, "max"));
  }
  return families;
}

/** Returns the metric of readiness. A server of several processes is ready if each process is (`min`). */
export function readyFamily(isReady: boolean): MetricFamily {
  const help = "1 if the database can be read and written, as /readyz says; otherwise 0.";
  return gauge("storefront_ready", help, isReady ? 1 : 0, "min");
}

/** Returns the usage of `engine`; an empty object if it cannot be read, for example after its file was lost, so that other metrics still appear. */
function usageOf(engine: Engine): EngineUsage {
  try {
    return engine.usage?.() ?? {};
  } catch {
    return {};
  }
}

/** Returns the metrics of the engine in use. Each engine has its own ones. */
function usageFamilies({ connections, logBytes }: EngineUsage): MetricFamily[] {
  const families: MetricFamily[] = [];
  if (connections) {
    const { inUse, waiting, max } = connections;
    families.push(
      gauge("storefront_postgres_connections_in_use", "Connections to PostgreSQL that are in use.", inUse),
      gauge("storefront_postgres_connections_max", "Connections to PostgreSQL that may be in use, `pool_size`.", max),
      gauge("storefront_postgres_callers_waiting", "Calls that wait for a connection to PostgreSQL.", waiting),
    );
  }
  if (logBytes !== undefined) {
    // All processes report the same file, so take the maximum and not the sum.
    families.push(gauge("storefront_sqlite_wal_bytes", "Size of the write-ahead log of SQLite.", logBytes, "max"));
  }
  return families;
}
