// Starts a server: one process that does everything, or several processes. Each of several processes calls `serve` again, with its own role.

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

/** A running server, of one process or of several. */
export interface Server extends Listening {
  /** The address of the admin listener. Undefined if the server has no admin listener. */
  readonly adminUrl: string | undefined;
  /** Reads the certificate again. With several processes, also restarts them from the program on disk. Reports the result on stderr. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Serves until SIGTERM or SIGINT. In a child process, does only the part of its role.
 * @param settings the settings from options of the command line, for the environment of child processes
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

/** Prints the address of the server, and the number of its sites, because a wrong setting often leads to an empty database. */
function printStarted(config: Config, server: Server, sample: DemoSite | undefined, options: CommonOptions): void {
  const { url, adminUrl, sites } = server;
  const created = sample?.isNew || server.isNew ? withoutPassword(config.database) : undefined;
  const lines = [`Storefront listens on ${url}`];
  if (adminUrl) lines.push(`The admin listener is at ${adminUrl}`);
  if (created !== undefined) lines.push(`It has created the database ${created}`);
  if (sites !== undefined)
    lines.push(`It serves ${formatCount(sites, "site")}${sites === 0 ? `: ${howToAdd(options)}` : ""}`);
  printResult(options, { url, adminUrl, key: sample?.key, created, sites }, lines);
}

function howToAdd({ database }: CommonOptions): string {
  return `add one with \`${commandLine(["site", "add", "shop", "--default"], database)}\``;
}

/** Resolves at the first SIGTERM or SIGINT. Ignores later signals, because npm and the terminal may both pass on a Ctrl-C. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
  });
}

/**
 * Listens for SIGHUP from now on. Returns a function that sets the work to do at SIGHUP. Two runs of the work do not overlap. Signals during a run
 * cause one more run. Signals before the work was set cause one run.
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

/** Ignores and logs signals that would end the process by default. A child process also ignores SIGHUP, because only the parent reacts to it. */
function ignoreOtherSignals(config: Config): void {
  const log = createLog(config);
  const others = ["SIGUSR1", "SIGUSR2"] as const;
  for (const signal of config.role === "server" ? others : ([...others, "SIGHUP"] as const)) {
    process.on(signal, () => log.info({ signal }, "signal ignored"));
  }
}

/** Serves the public port and the admin listener in this process. @throws ProblemError with the reason if it cannot listen */
async function serveAlone(
  config: Config,
  address: AdminAddress | undefined,
  certificate: Certificate | undefined,
): Promise<Server> {
  // With a certificate, the server opens a shared port, so that a second socket can take over with a new certificate. A shared port does not
  // fail if another program has it too: check that here.
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
      if (!config.tls) printMessage("storefront: there is nothing to reload: no certificate, and one worker");
      if (!next) return;
      await Promise.all([server.replaceCertificate(next), admin?.replaceCertificate(next)]);
      printMessage("storefront: reloaded the certificate");
    },
    async stop() {
      await server.drain();
      await Promise.all([server.stop(), admin?.stop(0)]);
    },
  };
}
