// Starts a server: the database, the public listener, webhook delivery and background work. The admin listener starts separately, because it can have a
// process to itself.

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
  /** Answers a question about a site's activity, as far as this process knows. */
  readonly answer: HttpServer["answer"];
  /** Live sites served at the start; undefined if the database couldn't be read. */
  readonly sites: number | undefined;
  /** Returns this process's metrics. @param checksReadiness whether to check now if it's ready, by default true */
  sample(checksReadiness?: boolean): Promise<MetricsSample>;
  /** Applies to new connections. @throws if the certificate is invalid; the previous one then stays in use */
  replaceCertificate(certificate: Certificate): Promise<void>;
  /** Reports that this process isn't ready, but serves for `--drain` more seconds, after which it resolves. */
  drain(): Promise<void>;
  /** Accepts no new connections, closes idle ones after `idleSeconds`, stops webhooks, and waits up to 10 seconds for requests in flight. */
  finish(idleSeconds: number): Promise<void>;
  /** Waits up to 10 seconds for requests in flight, and closes the database. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Undefined for HTTP. */
  readonly certificate?: Certificate | undefined;
  readonly resources?: readonly Resource[];
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Clock for webhook delivery; by default, the machine's. */
  readonly webhookClock?: Clock;
  /** How long the verification of sites in memory pauses. */
  readonly verificationPauses?: VerificationPauses;
}

/** @throws if the database can't be opened or the port is in use, after closing everything that was opened */
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
    const dependencies = { ...parts, build: once(readBuild), accessLog, now, webhookAllow: config.webhookAllow };
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
 * Opens the database, and creates what all requests share: site views, write queue and change notifier. Starts to verify the sites in memory.
 * @throws if the database can't be opened
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
    .catch((error) =>
      log.warn({ err: error }, "couldn't open all database connections, so some requests can't be served yet"),
    );
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

    async close() {
      await verification.stop();
      await engine.close();
    },
  };
}

const lostCommits =
  "the database lost this site's last changes in a failover; the site's earlier ETags and cursors are no longer valid";

/** The index follows the cached snapshot of the system site. */
function createSystemSiteIndex(siteViews: SiteViews, resources: readonly Resource[]): SystemSiteIndex {
  const index = new SystemSiteIndex(resources);
  siteViews.subscribeToSystemSite(index);
  return index;
}

/** Counts live sites that are neither suspended nor being imported; undefined if the database can't be read. */
async function countServed(siteViews: SiteViews, index: SystemSiteIndex): Promise<number | undefined> {
  try {
    await siteViews.getUpToDate(systemSite);
    return index.counts.servedSites;
  } catch {
    return undefined;
  }
}

/** What the admin listener needs from the server. */
export interface AdminParts extends Pick<Running, "engine" | "siteViews"> {
  /** Collects the metrics of all processes that serve the public port. */
  samples(): Promise<readonly MetricsSample[]>;
  /** Asks all these processes about a site's activity. An answer is undefined if the process doesn't respond. */
  askActivity(question: ActivityQuestion): Promise<readonly ActivityAnswer[]>;
  /** The public listener's URL. */
  readonly publicUrl: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** By default, stderr. */
  readonly log?: Logger | undefined;
  /** Loads the console's script; by default, from this program's files. */
  readonly loadScript?: (() => Promise<ConsoleScript>) | undefined;
}

/** @throws if the port is in use */
export async function startAdmin(
  config: Config,
  { host, port }: AdminAddress,
  certificate: Certificate | undefined,
  parts: AdminParts,
): Promise<Listener> {
  // Imported late, because it's large and workers don't need it.
  const { serveAdmin } = await import("./admin/server.ts");
  // Loopback needs no encryption: only Prometheus or a tunnel connects to it, and nobody issues certificates for loopback addresses.
  const isLoopbackHost = isLoopback(host);
  const tls = isLoopbackHost ? undefined : certificate;
  const log = parts.log ?? createLog(config);
  if (!tls && !isLoopbackHost)
    log.warn({ host, port }, "the admin listener isn't encrypted; set --tls-cert and --tls-key");
  const options = { host, port, tls, reusePort: config.role === "admin" || tls !== undefined };
  return serveAdmin(
    { ...options, hostnames: config.adminHosts },
    {
      ...{ now: Date.now, ...parts, log },
      webhookAllow: config.webhookAllow,
      trustProxy: config.trustProxy,
      singleSignOn: config.singleSignOn,
      allowsLinks: config.signInLinks,
    },
  );
}

/** The public listener's URL according to the settings. */
export function toPublicUrl({ host, port, tls }: Config): string {
  return `${tls ? "https" : "http"}://${toUrlHost(host)}:${port}`;
}

/** File descriptor of the log. */
const stderr = 2;

/** Logs one line of JSON per event to stderr. */
export function createLog({ logLevel }: Config): Logger {
  return pino(
    { level: logLevel, base: { pid: process.pid }, serializers: { err: toLoggedError } },
    { write: writeLine },
  );
}

/** Writes synchronously. If that fails, the line is lost, because a full log disk mustn't stop the server. */
function writeLine(line: string): void {
  try {
    writeSync(stderr, escapeControls(line));
  } catch {
    // See above.
  }
}

/** What connections get even if `--memory` is less, in bytes. Enough for a few large lists and bodies. */
const minConnectionMemory = 64 * 1024 * 1024;

/**
 * The maximum number of client connections: `--connections`, or a default based on the limit of file descriptors.
 * @throws ProblemError `bad-request` if `--connections` needs too many, because Bun ends the process when it runs out
 */
function connectionsOf({ connections }: Config): number {
  const descriptors = descriptorLimit();
  const { max, byDefault } = connectionsWithin(descriptors);
  if (connections === undefined || connections <= max) return connections ?? byDefault;
  throw new ProblemError(
    "bad-request",
    `--connections (STOREFRONT_CONNECTIONS) can be at most ${max}, because this process can only open ${descriptors} files; lower it, or raise \`ulimit -n\``,
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
    contact,
    ignoredParameters,
  } = config;
  return {
    host,
    port,
    tls,
    trustProxy,
    trustForwardedHost,
    servesMcp: mcp,
    contact,
    ignoredParameters,
    idleTimeoutSeconds: idleTimeout,
    slowMs,
    memory: Math.max(memory, minConnectionMemory),
    // To switch to a new certificate, the listener opens a second socket on the same port.
    reusePort: config.role === "worker" || tls !== undefined,
    keyLimit: rate > 0 ? { tokensPerSecond: rate, maxTokens: burst } : undefined,
    failureLimit: { tokensPerSecond: 2, maxTokens: 100 },
  };
}
