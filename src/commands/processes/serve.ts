// Runs a server, in one process or in several. With several, each of them calls `serve` with its own role.

import { type AdminAddress, type Config, type ConfigSources, toEnvironment } from "../../config.ts";
import { withoutPassword } from "../../lib/text.ts";
import { type AdminParts, createLog, startAdmin } from "../../start.ts";
import type { Certificate } from "../../wire/listen.ts";
import type { CommonOptions } from "../shared/options.ts";
import { formatCount, printMessage, printResult } from "../shared/output.ts";
import { commandLine } from "../shared/shell-words.ts";
import { readCertificate, reloadCertificate } from "./certificate.ts";
import type { DemoSite } from "./demo.ts";
import { findFreeAdminAddress, listenOnPort, requireFreePort, withListenErrors } from "./ports.ts";
import type { Listening } from "./process-messages.ts";
import { serveAsAdmin, serveAsWorker } from "./worker.ts";
import { processFamilies } from "./worker-metrics.ts";
import { runWorkers } from "./workers.ts";

export interface Server extends Listening {
  /** Undefined without an admin listener. */
  readonly adminUrl: string | undefined;
  /** Reloads the certificate. With several processes, also restarts them from the program on disk. Reports the result on stderr. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Serves until SIGTERM or SIGINT. A child process only does its part.
 * @param settings those given as options, to pass on to child processes
 */
export async function serve(config: Config, settings: ConfigSources, options: CommonOptions): Promise<void> {
  const end = stopSignal();
  ignoreOtherSignals(config);
  if (config.role === "worker") return serveAsWorker(config, end);
  if (config.role === "admin" && config.admin) return serveAsAdmin(config, config.admin, end);
  const onReload = reloadSignal();
  const certificate = config.tls && readCertificate(config.tls);
  const admin = await findFreeAdminAddress(config);
  const demo = config.demo ? await import("./demo.ts") : undefined;
  const sample = await demo?.prepareDemo(config, options.as);
  const server =
    config.workers > 1
      ? await runWorkers(config, admin, certificate, toEnvironment(settings))
      : await serveAlone(config, admin, certificate);
  onReload(server.reload);
  printStarted(config, server, sample, options);
  if (demo && sample && !options.json) demo.printDemo(server, config, sample, options.database);
  await end;
  await server.stop();
}

/** Includes the number of sites, because a wrong setting often leads to an empty database. */
function printStarted(config: Config, server: Server, sample: DemoSite | undefined, options: CommonOptions): void {
  const { url, adminUrl, sites } = server;
  const created = sample?.isNew || server.isNew ? withoutPassword(config.database) : undefined;
  const lines = [`Storefront is listening on ${url}`];
  if (adminUrl) lines.push(`Console and metrics: ${adminUrl}`);
  if (created !== undefined) lines.push(`Created the database ${created}`);
  if (sites !== undefined)
    lines.push(`Serving ${formatCount(sites, "site")}${sites === 0 ? `; ${howToAdd(options)}` : ""}`);
  printResult(options, { url, adminUrl, key: sample?.key, created, sites }, lines);
}

function howToAdd({ database }: CommonOptions): string {
  return `create one with \`${commandLine(["site", "add", "shop", "--default"], database)}\``;
}

/** Resolves at the first SIGTERM or SIGINT. Ignores further ones, because npm and the terminal may both pass on a Ctrl-C. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
  });
}

/**
 * Catches SIGHUP from now on. Returns a function that sets the work to do. It runs once for all signals that came before it was set, and once more for
 * all that come while it's running.
 */
function reloadSignal(): (work: () => Promise<void>) => void {
  let work: (() => Promise<void>) | undefined;
  let isDue = false;
  let isRunning = false;
  async function run(): Promise<void> {
    if (!work || isRunning) return;
    isRunning = true;
    while (isDue) {
      isDue = false;
      await work();
    }
    isRunning = false;
  }
  process.on("SIGHUP", () => {
    isDue = true;
    void run();
  });
  return (given) => {
    work = given;
    void run();
  };
}

/** Logs and ignores signals that would otherwise end the process. Children also ignore SIGHUP, because it's for their parent. */
function ignoreOtherSignals(config: Config): void {
  const log = createLog(config);
  const others = ["SIGUSR1", "SIGUSR2"] as const;
  for (const signal of config.role === "server" ? others : ([...others, "SIGHUP"] as const)) {
    process.on(signal, () => log.info({ signal }, "signal ignored"));
  }
}

/** Serves everything in this process. @throws ProblemError that says why it can't listen */
async function serveAlone(
  config: Config,
  address: AdminAddress | undefined,
  certificate: Certificate | undefined,
): Promise<Server> {
  // With a certificate, the port is shared so that a second socket can take over with a new one. Listening on a shared port wouldn't fail if another
  // program had it too.
  if (certificate) await requireFreePort(config);
  const server = await listenOnPort(config, certificate);
  const { engine, siteViews, url, port, sites } = server;
  const own = { responding: 1, expected: 1, restarts: 0 };
  const samples = async () => [await server.sample(), processFamilies(own)];
  const askActivity: AdminParts["askActivity"] = async (question) => [server.answer(question)];
  const openAdmin = (at: AdminAddress) =>
    startAdmin(config, at, certificate, { engine, siteViews, samples, askActivity, publicUrl: url });
  const opening = address && withListenErrors(address, () => openAdmin(address));
  const admin = await opening?.catch(async (error) => {
    await server.stop();
    throw error;
  });
  return {
    url,
    port,
    sites,
    isNew: engine.isNew,
    adminUrl: admin?.url,
    async reload() {
      const next = reloadCertificate(config);
      if (!config.tls)
        printMessage("storefront: nothing to reload, because there's no certificate and only one worker");
      if (!next) return;
      await Promise.all([server.replaceCertificate(next), admin?.replaceCertificate(next)]);
      printMessage("storefront: reloaded the certificate");
    },
    async stop() {
      await server.drain();
      // First, because what it still has to record needs the database.
      await admin?.stop(0);
      await server.stop();
    },
  };
}
