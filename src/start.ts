import { writeSync } from "node:fs";
import pino, { type Logger } from "pino";
import type { ConsoleScript } from "./admin/console.ts";
import { readBuild } from "./build.ts";
import type { AdminAddress, Config } from "./config.ts";
import { type HttpServer, serveHttp } from "./http/server.ts";
import { once } from "./lib/concurrency.ts";
import { toLogged } from "./lib/errors-for-log.ts";
import { LineWriter } from "./lib/logging.ts";
import type { MetricsSample } from "./lib/metrics.ts";
import { isLoopback } from "./lib/networks.ts";
import { escapeControls } from "./lib/text.ts";
import type { Engine } from "./model/engine.ts";
import { Refusal } from "./model/errors.ts";
import { systemSite } from "./model/limits.ts";
import type { Resource } from "./model/resource.ts";
import { allResources } from "./resources/all.ts";
import { site as siteResource } from "./resources/site.ts";
import { startResponseExpiry, startRetention } from "./store/changes/retention.ts";
import { SiteWatch } from "./store/changes/site-change-notifier.ts";
import { LastBackup } from "./store/database/last-backup.ts";
import { measureEngine } from "./store/measured-engine.ts";
import { Snapshot } from "./store/memory/snapshot.ts";
import { openEngine } from "./store/open.ts";
import { Snapshots } from "./store/reads/site-views.ts";
import { WriteQueue } from "./store/writes/write-queue.ts";
import { startWebhooks } from "./webhooks/webhooks.ts";
import { type Certificate, connectionsWithin, descriptorLimit, type Listener } from "./wire/listen.ts";

export interface Running {
  readonly url: string;
  readonly port: number;
  readonly engine: Engine;
  readonly snapshots: Snapshots;
  /** The sites that it served when it started; undefined if the database could not be read. */
  readonly sites: number | undefined;
  /** The metrics of this process. @param isChecked whether to find out if it is ready, by default true */
  sample(isChecked?: boolean): Promise<MetricsSample>;
  /** Uses another certificate for new connections. Throws when it is invalid; the previous one stays in use. */
  replaceCertificate(certificate: Certificate): Promise<void>;
  /** Is not ready from now on, and serves for `--drain` seconds more. */
  drain(): Promise<void>;
  /** Accepts no new connections, ends idle ones after `idleSeconds`, and then finishes the requests under way, for at most 10 seconds. */
  finish(idleSeconds: number): Promise<void>;
  /** Finishes the requests under way, and closes the database. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Undefined for HTTP. */
  readonly certificate?: Certificate | undefined;
  readonly resources?: readonly Resource[];
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** Starts a server. Throws when the database cannot be opened or the port is taken, after it has closed everything. */
export async function start(config: Config, options: StartOptions = {}): Promise<Running> {
  const { certificate, resources = allResources, now = Date.now } = options;
  const connections = connectionsOf(config);
  const log = createLog(config);
  const accessLog = config.accessLog ? new LineWriter(stderr) : undefined;
  const store = await openStore(config, resources, log);
  const { engine, snapshots } = store;
  let http: HttpServer;
  try {
    const dependencies = { ...store, resources, build: once(readBuild), log, accessLog, now };
    http = serveHttp({ ...toHttpOptions(config, certificate), connections }, dependencies);
  } catch (error) {
    await engine.close();
    throw error;
  }
  const { webhookAllow: allow } = config;
  const webhooks = startWebhooks({ ...store, resources, allow, log });
  const retention = startRetention(engine, { days: config.journalDays, log, now });
  const background = [startResponseExpiry(engine, { log, now }), retention];
  return {
    url: http.url,
    port: http.port,
    engine,
    snapshots,
    sites: await countServed(snapshots),
    sample: async (isChecked) => [await http.sample(isChecked), await webhooks.families(), retention.families()].flat(),
    replaceCertificate: http.replaceCertificate,
    drain: () => http.drain(config.drain),
    async finish(idleSeconds) {
      await Promise.all([webhooks.stop(), http.stop(10, idleSeconds)]);
    },
    async stop() {
      await Promise.all([webhooks.stop(), http.stop(10)]);
      await accessLog?.stop(1000);
      store.siteWatch.stop();
      for (const work of background) await work.stop();
      await engine.close();
    },
  };
}

export async function openStore({ database, memory }: Config, resources: readonly Resource[], log: Logger) {
  const { engine, calls } = measureEngine(await openEngine(database, resources));
  const snapshots = new Snapshots(engine, resources, memory, (site) => log.warn({ site }, lostCommits));
  await engine
    .openForRequests()
    .catch((error) => log.warn({ err: error }, "some requests cannot be served at present"));
  const writeQueue = new WriteQueue(engine, snapshots);
  const siteWatch = new SiteWatch(engine);
  return { engine, engineCalls: calls, lastBackup: new LastBackup(engine), snapshots, writeQueue, siteWatch };
}

const lostCommits = "the database lost the last changes of this website at a failover; it has a new history";

/** The sites that are neither suspended nor being imported; undefined if the database cannot be read. */
async function countServed(snapshots: Snapshots): Promise<number | undefined> {
  try {
    const system = await snapshots.fresh(systemSite);
    if (!(system instanceof Snapshot)) return undefined;
    const sites = [...system.collection(siteResource)].map(({ json }) => JSON.parse(json));
    return sites.filter(({ Suspended, Importing }) => !Suspended && !Importing).length;
  } catch {
    return undefined;
  }
}

/** What the admin listener has of the rest of the server. */
interface AdminParts extends Pick<Running, "engine" | "snapshots"> {
  /** The metrics of all processes that serve the public port. */
  samples(): Promise<readonly MetricsSample[]>;
  /** The address of the public listener. */
  readonly publicUrl: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** The script of the console, if it is not to be loaded by this process. */
  readonly loadScript?: (() => Promise<ConsoleScript>) | undefined;
}

/** Starts the admin listener at `address`. Rejects when the port is taken. */
export async function startAdmin(
  config: Config,
  { host, port }: AdminAddress,
  certificate: Certificate | undefined,
  parts: AdminParts,
): Promise<Listener> {
  // It is large, and workers do without it.
  const { serveAdmin } = await import("./admin/server.ts");
  // Prometheus and a tunnel connect to a loopback address, for which no certificate is made.
  const isLocal = isLoopback(host);
  const tls = isLocal ? undefined : certificate;
  const log = createLog(config);
  if (!tls && !isLocal) log.warn({ host, port }, "the admin listener is not encrypted; set --tls-cert and --tls-key");
  const options = { host, port, tls, reusePort: config.role === "admin" || tls !== undefined };
  return serveAdmin(
    { ...options, hostnames: config.adminHosts },
    { now: Date.now, ...parts, webhookAllow: config.webhookAllow, log },
  );
}

/** The address of the public listener, as the settings have it. */
export function toPublicUrl({ host, port, tls }: Config): string {
  return `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The file descriptor of the log. */
const stderr = 2;

/** The log on stderr, one line of JSON per event. */
export function createLog({ logLevel }: Config): Logger {
  return pino({ level: logLevel, base: { pid: process.pid }, serializers: { err: toLogged } }, { write: writeLine });
}

/** Writes synchronously. A line that cannot be written is lost, so that a full disk of the log does not stop the server. */
function writeLine(line: string): void {
  try {
    writeSync(stderr, escapeControls(line));
  } catch {
    // Lost.
  }
}

/** Bytes that connections may keep even if `--memory` is less: some large lists and bodies. */
const minConnectionMemory = 64 * 1024 * 1024;

/** @throws Refusal `bad-request` for more connections than the file descriptors allow: a process without any left is ended by the runtime */
function connectionsOf({ connections }: Config): number {
  const descriptors = descriptorLimit();
  const { max, byDefault } = connectionsWithin(descriptors);
  if (connections === undefined || connections <= max) return connections ?? byDefault;
  throw new Refusal(
    "bad-request",
    `--connections (STOREFRONT_CONNECTIONS) may be at most ${max}, because this process may open ${descriptors} files; raise \`ulimit -n\``,
  );
}

function toHttpOptions(config: Config, tls: Certificate | undefined) {
  const { host, port, trustProxy, trustForwardedHost, idleTimeout, slowMs, rate, burst, memory } = config;
  return {
    host,
    port,
    tls,
    trustProxy,
    trustForwardedHost,
    idleTimeout,
    slowMs,
    memory: Math.max(memory, minConnectionMemory),
    // A certificate is reloaded by a second socket on the port.
    reusePort: config.role === "worker" || tls !== undefined,
    keyLimit: rate > 0 ? { rate, burst } : undefined,
    failureLimit: { rate: 2, burst: 100 },
  };
}
