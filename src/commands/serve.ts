import { Command } from "commander";
import { type Config, type ConfigSources, environment, toEnvironment } from "../config.ts";
import { createLog } from "../start.ts";
import { readCertificate } from "./certificate.ts";
import { type CommonOptions, printResult, toConfig, withCommonOptions } from "./common.ts";
import { claimAdmin } from "./listen-on-port.ts";
import { serveAlone } from "./serve-alone.ts";
import { serveAsAdmin, serveAsWorker } from "./worker.ts";
import { runWorkers } from "./workers.ts";

type ServeOptions = CommonOptions & Record<string, string | true>;

const notes = `
--memory limits what the records and lists of all sites keep together. Not in it: a single site that is larger, while
it is in use; sites while they are loaded; lists while they are sorted; and connections, which may take as much again,
at least 64 MiB.

Every option can also be set in the environment, --tls-cert as STOREFRONT_TLS_CERT; the option takes precedence.`;

export function serveCommand(): Command {
  const command = withCommonOptions(new Command("serve")).description("run the server until SIGTERM or SIGINT");
  return withLogOptions(withLimitOptions(withListenOptions(command)))
    .addHelpText("after", notes)
    .action(async ({ json, ...options }: ServeOptions) => {
      await serve({ ...environment(), ...toSettings(options) }, { ...options, ...(json ? { json } : {}) });
    });
}

function withListenOptions(command: Command): Command {
  return command
    .option("--host <address>", "address to listen on, 0.0.0.0 for all (default: 127.0.0.1)")
    .option("--port <number>", "TCP port to listen on, 0 for any free one (default: 8080)")
    .option("--workers <number>", "processes that share the port, 1 to 256 (default: 1)")
    .option("--demo", "in a database without websites, create one with sample records and print a key for it")
    .option("--tls-cert <file>", "PEM file with the certificate chain; serves HTTPS (default: HTTP)")
    .option("--tls-key <file>", "PEM file with the private key of the certificate")
    .option(
      "--trust-proxy",
      "use the last entry of X-Forwarded-For as the client's address (only behind a proxy that adds it)",
    )
    .option(
      "--trust-forwarded-host",
      "use X-Forwarded-Host as the host (only behind a proxy that sets it on every request)",
    )
    .option("--admin <address:port>", "where to listen for operators, or none (default: 127.0.0.1:8081 if it is free)")
    .option(
      "--admin-host <hostnames>",
      "hostnames of the admin listener, separated by commas (default: only localhost and IP addresses)",
    )
    .option(
      "--webhook-allow <networks>",
      "networks that webhooks may reach besides public ones, such as 10.0.0.0/8, separated by commas",
    );
}

function withLimitOptions(command: Command): Command {
  return command
    .option("--rate <number>", "requests per second for each key, 0 for no limit (default: 0)")
    .option("--burst <number>", "requests that a key may send at once (default: twice --rate)")
    .option("--memory <MiB>", "memory for records and lists of all sites, in MiB per process; see below (default: 256)")
    .option(
      "--idle-timeout <seconds>",
      "close a connection without data after this time, 1 to 255 seconds (default: 10)",
    )
    .option(
      "--connections <number>",
      "maximum of open connections of each process (default: nine tenths of `ulimit -n`)",
    );
}

function withLogOptions(command: Command): Command {
  return command
    .option(
      "--journal-days <number>",
      "delete entries of the journal of websites after so many days (default: keep them)",
    )
    .option("--log <level>", "trace, debug (with --access-log), info, warn, error, fatal or silent (default: info)")
    .option("--access-log", "log every request, whatever --log is")
    .option("--slow-ms <milliseconds>", "log requests that take as long or longer, 0 for none (default: 1000)");
}

/** Options as commander names them, `tlsCert`, under the names of their settings, `TLS_CERT`. */
function toSettings(options: Record<string, string | true>): ConfigSources {
  const entries = Object.entries(options).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
    value === true ? "yes" : value,
  ]);
  return Object.fromEntries(entries);
}

/** The processes that serve. */
export interface Server {
  readonly url: string;
  /** Undefined when there is no admin listener. */
  readonly adminUrl: string | undefined;
  /** Uses the files on disk as they are now. Reports on stderr. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

async function serve(settings: ConfigSources, options: CommonOptions): Promise<void> {
  const config = toConfig(settings);
  const end = stopSignal();
  ignoreOtherSignals(config);
  if (config.role === "worker") return serveAsWorker(config, end);
  if (config.role === "admin" && config.admin) return serveAsAdmin(config, config.admin, end);
  const onReload = reloadSignal();
  const certificate = config.tls && readCertificate(config.tls);
  const admin = await claimAdmin(config);
  const demo = config.demo ? await import("./demo.ts") : undefined;
  const sample = await demo?.prepareDemo(config, options.as);
  const server =
    config.workers > 1
      ? await runWorkers(config, admin, certificate, toEnvironment(settings))
      : await serveAlone(config, admin, certificate);
  onReload(server.reload);
  const lines = [`Storefront listens on ${server.url}`];
  if (server.adminUrl) lines.push(`The admin listener is at ${server.adminUrl}`);
  printResult(options, { url: server.url, adminUrl: server.adminUrl, key: sample?.key }, lines);
  if (demo && sample && !options.json) demo.printDemo(server, config, sample, options.database);
  await end;
  await server.stop();
}

/** Resolves at the first SIGTERM or SIGINT. Later ones are ignored: npm and the terminal may both pass on a Ctrl-C. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
  });
}

/**
 * Waits for SIGHUP. Returns a function that takes the work to do then. The work is done once at a time, and once more for signals that arrive
 * meanwhile, or that have arrived before.
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

/** Signals that end a process by default, and that are sent by mistake. Of several processes, only the parent has something to do at SIGHUP. */
function ignoreOtherSignals(config: Config): void {
  const log = createLog(config);
  const others = ["SIGUSR1", "SIGUSR2"] as const;
  for (const signal of config.role === "server" ? others : ([...others, "SIGHUP"] as const)) {
    process.on(signal, () => log.info({ signal }, "signal ignored"));
  }
}
