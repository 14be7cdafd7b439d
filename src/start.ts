// Starts a server: opens the database, and starts the public listener, the delivery of webhooks and the background work. The admin listener is
// started separately, because it can be a process of its own.

import { writeSync } from "node:fs";
import pino, { type Logger } from "pino";
import type { ConsoleScript } from "./admin/console.ts";
import { readBuild } from "./build.ts";
import type { AdminAddress, Config } from "./config.ts";
import type { ActivityAnswer, ActivityQuestion } from "./http/common/activity.ts";
import { type HttpServer, serveHttp } from "./http/server.ts";
import { once } from "./lib/concurrency.ts";
import { toLoggedError } from "./lib/errors-for-log.ts";
import { LineWriter } from "./lib/logging.ts";
import type { MetricsSample } from "./lib/metrics.ts";
import { isLoopback, toUrlHost } from "./lib/networks.ts";
import { escapeControls } from "./lib/text.ts";
import type { Engine } from "./model/engine.ts";
import { ProblemError } from "./model/errors.ts";
import type { Resource } from "./model/resource.ts";
import { systemSite } from "./model/system-site.ts";
import { allResources } from "./resources/all.ts";
import { startRetention } from "./store/changes/retention.ts";
import { SiteChangeNotifier } from "./store/changes/site-change-notifier.ts";
import { LastBackup } from "./store/last-backup.ts";
import { measureEngine } from "./store/measured-engine.ts";
import { openEngine } from "./store/open.ts";
import { SiteViews } from "./store/reads/site-views.ts";
import { DifferenceReports, startVerification, type VerificationPauses } from "./store/reads/snapshot-verification.ts";
import { startResponseExpiry } from "./store/writes/response-expiry.ts";
import { WriteQueue } from "./store/writes/write-queue.ts";
import { SystemSiteIndex } from "./system/system-site-index.ts";
import type { Clock } from "./webhooks/clock.ts";
import { startWebhooks } from "./webhooks/start-webhooks.ts";
import { connectionsWithin, descriptorLimit } from "./wire/connection-places.ts";
import type { Certificate, Listener } from "./wire/listen.ts";

export interface Running {
  readonly url: string;
  readonly port: number;
  readonly engine: Engine;
  readonly siteViews: SiteViews;
  /** Answers a question about the activity of a site, as far as this process knows. */
  readonly answer: HttpServer["answer"];
  /** Number of live sites that the server served when it started; undefined if the database could not be read. */
  readonly sites: number | undefined;
  /** Returns the metrics of this process. @param checksReadiness whether to check now that this process is ready, by default true */
  sample(checksReadiness?: boolean): Promise<MetricsSample>;
  /** Uses another certificate for new connections. @throws if the certificate is invalid; the previous one then stays in use */
  replaceCertificate(certificate: Certificate): Promise<void>;
  /** Reports from now on that this process is not ready, and serves for `--drain` more seconds. Resolves after them. */
  drain(): Promise<void>;
  /** Accepts no new connections, closes idle ones after `idleSeconds`, stops the webhooks, and waits at most 10 seconds for requests in flight. */
  finish(idleSeconds: number): Promise<void>;
  /** Stops everything: waits at most 10 seconds for the requests in flight, and closes the database. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Undefined for HTTP. */
  readonly certificate?: Certificate | undefined;
  readonly resources?: readonly Resource[];
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** The clock of the delivery of webhooks; by default, that of the machine. */
  readonly webhookClock?: Clock;
  /** The pauses of the verification of the sites in memory. */
  readonly verificationPauses?: VerificationPauses;
}

/** Starts a server. @throws if the database cannot be opened or the port is in use; everything that was opened is closed before */
export async function start(config: Config, options: StartOptions = {}): Promise<Running> {
  const { certificate, resources = allResources, now = Date.now } = options;
  const connections = connectionsOf(config);
  const log = createLog(config);
  const accessLog = config.accessLog ? new LineWriter(stderr) : undefined;
  const store = await openStore(config, resources, log, options.verificationPauses);
  const { engine, siteViews } = store;
  const parts = { ...store, systemSiteIndex: createSystemSiteIndex(siteViews, resources), resources, log };
  let http: HttpServer;
  try {
    const dependencies = { ...parts, build: once(readBuild), accessLog, now };
    http = serveHttp({ ...toHttpOptions(config, certificate), connections }, dependencies);
  } catch (error) {
    await store.close();
    throw error;
  }
  const webhooks = startWebhooks({ ...parts, allow: config.webhookAllow, clock: options.webhookClock });
  const retention = startRetention(engine, { days: config.journalDays, log, now });
  const background = [startResponseExpiry(engine, { log, now }), retention];
  return {
    ...{ url: http.url, port: http.port, engine, siteViews },
    sites: await countServed(siteViews, parts.systemSiteIndex),
    answer: http.answer,
    sample: async (checks) => [await http.sample(checks), await webhooks.families(), retention.families()].flat(),
    replaceCertificate: http.replaceCertificate,
    drain: () => http.drain(config.drain),
    async finish(idleSeconds) {
      await Promise.all([webhooks.stop(), http.stop(10, idleSeconds)]);
    },
    async stop() {
      await Promise.all([webhooks.stop(), http.stop(10)]);
      await accessLog?.stop(1000);
      store.changeNotifier.stop();
      for (const work of background) await work.stop();
      await store.close();
    },
  };
}

/**
 * Opens the database, and creates what all requests share: site views, write queue and change notifier. Starts the verification of the sites in memory.
 * @throws if the database cannot be opened
 */
export async function openStore(
  { database, memory, verify }: Config,
  resources: readonly Resource[],
  log: Logger,
  pauses?: VerificationPauses,
) {
  const { engine, calls } = measureEngine(await openEngine(database, resources));
  const reports = new DifferenceReports(log);
  const onLost = (site: number) => log.warn({ site }, lostCommits);
  const siteViews = new SiteViews(engine, resources, memory, { onLost, onDifferences: reports.add });
  await engine
    .openConnections()
    .catch((error) => log.warn({ err: error }, "some requests cannot be served at present"));
  const writeQueue = new WriteQueue(engine, siteViews);
  const changeNotifier = new SiteChangeNotifier(engine);
  const verification = startVerification(verify, { engine, siteViews, resources, reports, log, pauses });
  return {
    engine,
    engineCalls: calls,
    lastBackup: new LastBackup(engine),
    siteViews,
    writeQueue,
    changeNotifier,
    verification,
    /** Stops the verification, and closes the database. */
    async close() {
      await verification.stop();
      await engine.close();
    },
  };
}

const lostCommits =
  "the database lost the last changes of this site in a failover; earlier ETags and cursors of the site are not valid any more";

/** Creates the index of the system site, which follows its cached snapshot. */
function createSystemSiteIndex(siteViews: SiteViews, resources: readonly Resource[]): SystemSiteIndex {
  const index = new SystemSiteIndex(resources);
  siteViews.subscribeToSystemSite(index);
  return index;
}

/** Returns the number of live sites that are neither suspended nor being imported; undefined if the database cannot be read. */
async function countServed(siteViews: SiteViews, index: SystemSiteIndex): Promise<number | undefined> {
  try {
    await siteViews.getUpToDate(systemSite);
    return index.counts.servedSites;
  } catch {
    return undefined;
  }
}

/** The parts of the server that the admin listener uses. */
export interface AdminParts extends Pick<Running, "engine" | "siteViews"> {
  /** Returns the metrics of all processes that serve the public port. */
  samples(): Promise<readonly MetricsSample[]>;
  /** Asks all these processes about the activity of a site. The answer of a process is undefined if it does not respond. */
  askActivity(question: ActivityQuestion): Promise<readonly ActivityAnswer[]>;
  /** The URL of the public listener. */
  readonly publicUrl: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Loads the script of the console; by default, this process loads it from its own files. */
  readonly loadScript?: (() => Promise<ConsoleScript>) | undefined;
}

/** Starts the admin listener. @throws if the port is in use */
export async function startAdmin(
  config: Config,
  { host, port }: AdminAddress,
  certificate: Certificate | undefined,
  parts: AdminParts,
): Promise<Listener> {
  // Imported only when it is needed: the module is large, and workers do not use it.
  const { serveAdmin } = await import("./admin/server.ts");
  // Loopback needs no encryption: Prometheus and a tunnel connect to it, and no certificate is issued for a loopback address.
  const isLoopbackHost = isLoopback(host);
  const tls = isLoopbackHost ? undefined : certificate;
  const log = createLog(config);
  if (!tls && !isLoopbackHost)
    log.warn({ host, port }, "the admin listener is not encrypted; set --tls-cert and --tls-key");
  const options = { host, port, tls, reusePort: config.role === "admin" || tls !== undefined };
  return serveAdmin(
    { ...options, hostnames: config.adminHosts },
    { now: Date.now, ...parts, webhookAllow: config.webhookAllow, log },
  );
}

/** Returns the URL of the public listener according to the settings. */
export function toPublicUrl({ host, port, tls }: Config): string {
  return `${tls ? "https" : "http"}://${toUrlHost(host)}:${port}`;
}

/** The file descriptor of the log. */
const stderr = 2;

/** Creates the log: it writes one line of JSON per event to stderr. */
export function createLog({ logLevel }: Config): Logger {
  return pino(
    { level: logLevel, base: { pid: process.pid }, serializers: { err: toLoggedError } },
    { write: writeLine },
  );
}

/** Writes a line synchronously. If writing fails, the line is lost, so that a full disk of the log does not stop the server. */
function writeLine(line: string): void {
  try {
    writeSync(stderr, escapeControls(line));
  } catch {
    // The line is lost.
  }
}

/** Minimum memory budget of the connections in bytes, even if `--memory` is less. It is enough for some large lists and bodies. */
const minConnectionMemory = 64 * 1024 * 1024;

/**
 * Returns the maximum number of client connections: `--connections`, or a default that depends on the limit of file descriptors.
 * @throws ProblemError `bad-request` if `--connections` needs too many file descriptors. Otherwise the runtime could run out of them, and would then
 * end the process
 */
function connectionsOf({ connections }: Config): number {
  const descriptors = descriptorLimit();
  const { max, byDefault } = connectionsWithin(descriptors);
  if (connections === undefined || connections <= max) return connections ?? byDefault;
  throw new ProblemError(
    "bad-request",
    `--connections (STOREFRONT_CONNECTIONS) may be at most ${max}, because this process may open ${descriptors} files; raise \`ulimit -n\``,
  );
}

function toHttpOptions(config: Config, tls: Certificate | undefined) {
  const {
    host,
    port,
    trustProxy,
    trustForwardedHost,
    idleTimeout,
    slowMs,
    rate,
    burst,
    memory,
    mcp,
    ignoredParameters,
  } = config;
  return {
    host,
    port,
    tls,
    trustProxy,
    trustForwardedHost,
    servesMcp: mcp,
    ignoredParameters,
    idleTimeoutSeconds: idleTimeout,
    slowMs,
    memory: Math.max(memory, minConnectionMemory),
    // To use a new certificate, the listener opens a second socket on the same port.
    reusePort: config.role === "worker" || tls !== undefined,
    keyLimit: rate > 0 ? { tokensPerSecond: rate, maxTokens: burst } : undefined,
    failureLimit: { tokensPerSecond: 2, maxTokens: 100 },
  };
}
