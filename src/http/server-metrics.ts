// All metrics except those about requests: connections, writes, the database, memory, the log and the build.

import { counter, gauge, histogram, type MetricFamily } from "../lib/metrics.ts";
import type { Engine, EngineUsage } from "../model/engine.ts";
import type { ListenerUsage } from "../wire/listen.ts";
import type { HttpDependencies } from "./dependencies.ts";

interface ServerUsage {
  readonly listener: ListenerUsage;
  readonly longPolls: number;
  /** The result of the last check; undefined before the first. */
  readonly isReady: boolean | undefined;
  /** Milliseconds since 1970; undefined without a certificate. */
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
      "Always 1. The labels are the program's version and the commit it was built from.",
      [[{ version, commit }, 1]],
      "first",
    ),
    gauge("storefront_http_connections", "Open client connections.", listener.connections),
    gauge("storefront_http_connection_bytes", "Memory used by requests and responses in flight.", listener.bytes),
    gauge("storefront_polls_waiting", "Long polls waiting for a change to their site.", longPolls),
    gauge("storefront_sites_in_memory", "Sites whose records are in memory.", sites),
    gauge("storefront_snapshot_bytes", "Estimated memory used by these records.", bytes),
    counter("storefront_site_loads_total", "Sites loaded into memory.", loads),
    counter("storefront_site_evictions_total", "Sites evicted from memory to stay within --memory.", evictions),
    ...verification.families(),
    gauge("storefront_write_queue_length", "Writes waiting for a transaction.", writeQueue.length),
    histogram("storefront_write_batch_size", "Writes per transaction.", [[{}, writeQueue.batchSizes]]),
    histogram(
      "storefront_database_call_duration_seconds",
      "Time per call to the database, including the wait for a connection.",
      [...engineCalls].map(([call, { durations }]) => [{ call }, durations]),
      1000,
    ),
    counter(
      "storefront_database_errors_total",
      "Failed calls to the database.",
      [...engineCalls].map(([call, { errors }]) => [{ call }, errors]),
    ),
    ...usageFamilies(usageOf(dependencies.engine)),
    counter("storefront_log_lines_lost_total", "Lines lost by the access log.", accessLog?.lostLines ?? 0),
  ];
  if (isReady !== undefined) families.push(readyFamily(isReady));
  if (certificateExpiry !== undefined) {
    const help = "When the public listener's certificate expires.";
    const at = certificateExpiry / 1000;
    families.push(gauge("storefront_certificate_expiry_timestamp_seconds", help, at, "min"));
  }
  if (backup) {
    const help = "When the last backup was made with `storefront backup`; 0 if there is none.";
    // Labelled by database, so that one database's backup isn't mistaken for another's.
    const values = [[{ database: backup.database }, backup.at / 1000]] as const;
    families.push(gauge("storefront_last_backup_timestamp_seconds", help, values, "max"));
  }
  return families;
}

/** A server with several processes is ready if all of them are (`min`). */
export function readyFamily(isReady: boolean): MetricFamily {
  const help = "1 if the server is ready, as /readyz says; otherwise 0.";
  return gauge("storefront_ready", help, isReady ? 1 : 0, "min");
}

/** Returns an empty object if the usage can't be read, for example because the file was lost, so that other metrics still appear. */
function usageOf(engine: Engine): EngineUsage {
  try {
    return engine.usage?.() ?? {};
  } catch {
    return {};
  }
}

function usageFamilies({ connections, logBytes }: EngineUsage): MetricFamily[] {
  const families: MetricFamily[] = [];
  if (connections) {
    const { inUse, waiting, max } = connections;
    families.push(
      gauge("storefront_postgres_connections_in_use", "Connections to PostgreSQL in use.", inUse),
      gauge("storefront_postgres_connections_max", "Maximum connections to PostgreSQL (`pool_size`).", max),
      gauge("storefront_postgres_callers_waiting", "Calls waiting for a connection to PostgreSQL.", waiting),
    );
  }
  if (logBytes !== undefined) {
    // All processes report the same file, so take the maximum, not the sum.
    families.push(gauge("storefront_sqlite_wal_bytes", "Size of SQLite's write-ahead log.", logBytes, "max"));
  }
  return families;
}
