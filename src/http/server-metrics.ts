// The metrics of the server except requests: connections, writes, the database, memory, the log and the build.

import { counter, gauge, histogram, type MetricFamily } from "../lib/metrics.ts";
import type { Engine, EngineUsage } from "../model/engine.ts";
import type { BackupTime } from "../store/last-backup.ts";
import type { MeasuredCalls } from "../store/measured-engine.ts";
import type { SiteViews } from "../store/reads/site-views.ts";
import type { WriteQueue } from "../store/writes/write-queue.ts";
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
  const { engine, engineCalls, siteViews, verification, writeQueue, accessLog } = dependencies;
  const build = dependencies.build();
  const help = "Always 1. The labels are the version of the program and the commit that it was built from.";
  return [
    gauge("storefront_build_info", help, [[{ version: build.version, commit: build.commit }, 1]], "first"),
    gauge("storefront_http_connections", "Open connections of clients.", listener.connections),
    gauge("storefront_http_connection_bytes", "Memory of requests and responses that are in flight.", listener.bytes),
    gauge("storefront_polls_waiting", "Requests that wait for a change of their site.", longPolls),
    ...(isReady === undefined ? [] : [readyFamily(isReady)]),
    ...(certificateExpiry === undefined ? [] : [expiryFamily(certificateExpiry)]),
    ...memoryFamilies(siteViews),
    ...verification.families(),
    ...writeFamilies(writeQueue),
    ...callFamilies(engineCalls),
    ...usageFamilies(usageOf(engine)),
    ...backupFamilies(dependencies.lastBackup.latest),
    counter("storefront_log_lines_lost_total", "Lines that the access log lost.", accessLog?.lostLines ?? 0),
  ];
}

function memoryFamilies(siteViews: SiteViews): MetricFamily[] {
  const { sites, bytes, loads, evictions } = siteViews.usage;
  return [
    gauge("storefront_sites_in_memory", "Sites whose records are in memory.", sites),
    gauge("storefront_snapshot_bytes", "Estimated memory of the records in memory.", bytes),
    counter("storefront_site_loads_total", "Sites that were loaded into memory.", loads),
    counter(
      "storefront_site_evictions_total",
      "Sites that were evicted from memory, to stay within --memory.",
      evictions,
    ),
  ];
}

function writeFamilies({ length, batchSizes }: WriteQueue): MetricFamily[] {
  return [
    gauge("storefront_write_queue_length", "Writes that wait for a transaction.", length),
    histogram("storefront_write_batch_size", "Writes in one transaction.", [[{}, batchSizes]]),
  ];
}

function callFamilies(calls: MeasuredCalls): MetricFamily[] {
  return [
    histogram(
      "storefront_database_call_duration_seconds",
      "Time of a call to the database, with the time in which it waited for a connection, by call.",
      [...calls].map(([call, { durations }]) => [{ call }, durations]),
      1000,
    ),
    counter(
      "storefront_database_errors_total",
      "Calls to the database that failed, by call.",
      [...calls].map(([call, { errors }]) => [{ call }, errors]),
    ),
  ];
}

/** Returns the metric of readiness. A server of several processes is ready if each process is (`min`). */
export function readyFamily(isReady: boolean): MetricFamily {
  const help = "1 if the database can be read and written, as /readyz says; otherwise 0.";
  return gauge("storefront_ready", help, isReady ? 1 : 0, "min");
}

function expiryFamily(at: number): MetricFamily {
  const help = "When the certificate of the public listener expires.";
  return gauge("storefront_certificate_expiry_timestamp_seconds", help, at / 1000, "min");
}

/** Returns the metric of the last backup, with the database as a label, so that a backup of one database is not taken for one of another. */
function backupFamilies(latest: BackupTime | undefined): MetricFamily[] {
  if (latest === undefined) return [];
  const help = "As of when the last backup was made with `storefront backup`; 0 when there is none.";
  const { database, at } = latest;
  return [gauge("storefront_last_backup_timestamp_seconds", help, [[{ database }, at / 1000]], "max")];
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
