import { Command } from "commander";
import { type Config, type ConfigSources, environment, toEnvironment } from "../config.ts";
import { createLog } from "../start.ts";
import { type CommonOptions, printResult, toConfig, withCommonOptions } from "./common.ts";
import { prepareDemo, printDemo } from "./demo.ts";
import { listenOnPort } from "./listen-on-port.ts";
import { runWorkers } from "./workers.ts";

type ServeOptions = CommonOptions & Record<string, string | true>;

export function serveCommand(): Command {
  return withCommonOptions(new Command("serve"))
    .description("serve the interface until SIGTERM or SIGINT")
    .option("--host <address>", "the address to listen on (default 127.0.0.1; 0.0.0.0 for every one)")
    .option("--port <number>", "the port (default 8080; 0 picks a free one)")
    .option("--workers <number>", "how many processes share the port (default 1)")
    .option("--demo", "on an empty database, make a sample site with a key")
    .option("--tls-cert <file>", "serve HTTPS with this certificate chain (PEM)")
    .option("--tls-key <file>", "the certificate's private key (PEM)")
    .option(
      "--trust-proxy",
      "take the last entry of X-Forwarded-For for the client's address; a proxy of yours adds it",
    )
    .option("--trust-forwarded-host", "take X-Forwarded-Host for the host; a proxy of yours sets it on every request")
    .option("--rate <number>", "requests per second that each key may make (default 0: no limit)")
    .option("--burst <number>", "how many of them at once (default twice the rate)")
    .option("--memory <MiB>", "how much memory records may take (default 256)")
    .option("--idle-timeout <seconds>", "close a connection that sends nothing for so long (default 10)")
    .option("--connections <number>", "most connections at once, per process (default nine tenths of `ulimit -n`)")
    .option("--log <level>", "trace, debug (every request), info, warn, error, fatal or silent (default info)")
    .addHelpText(
      "after",
      "\nEvery option can be set in the environment too: --tls-cert is STOREFRONT_TLS_CERT, and so on.",
    )
    .action(async ({ json, ...options }: ServeOptions) => {
      await serve({ ...environment(), ...toSettings(options) }, { ...options, ...(json ? { json } : {}) });
    });
}

/** `tlsCert` as commander has it becomes `TLS_CERT`. */
function toSettings(options: Record<string, string | true>): ConfigSources {
  const entries = Object.entries(options).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
    value === true ? "yes" : value,
  ]);
  return Object.fromEntries(entries);
}

async function serve(settings: ConfigSources, options: CommonOptions): Promise<void> {
  const config = toConfig(settings);
  const end = signalled();
  ignoreOtherSignals(config);
  if (config.isWorker) return serveAsWorker(config, end);
  const sample = config.demo ? await prepareDemo(config) : undefined;
  const server = config.workers > 1 ? await runWorkers(config, toEnvironment(settings)) : await listenOnPort(config);
  printResult(options, { url: server.url, key: sample?.key }, [`Storefront listens on ${server.url}`]);
  if (sample && !options.json) printDemo(server.url, config, sample, options.database);
  await end;
  await server.stop();
}

/** One of several processes: it tells its parent where it listens, and ends when it is told to or left alone. */
async function serveAsWorker(config: Config, end: Promise<void>): Promise<void> {
  const left = new Promise((resolve) => process.once("disconnect", resolve));
  const server = await listenOnPort(config);
  process.send?.({ port: server.port, url: server.url });
  await Promise.race([end, left]);
  await server.stop();
  process.disconnect?.();
}

/** Waits for SIGTERM or SIGINT. One that comes again changes nothing: npm and a terminal may both pass on a Ctrl-C. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
  });
}

/** What ends a process by default and should not end a server. They may be sent by mistake, or when a terminal closes. */
function ignoreOtherSignals(config: Config): void {
  const log = createLog(config);
  for (const signal of ["SIGHUP", "SIGUSR1", "SIGUSR2"] as const) {
    process.on(signal, () => log.info({ signal }, "signal ignored"));
  }
}
