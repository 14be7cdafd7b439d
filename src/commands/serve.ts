import { Command } from "commander";
import { type Config, environment, readConfig, type Settings, toEnvironment } from "../config.ts";
import { messageOf, Refusal } from "../model/errors.ts";
import { makeDemo } from "../operator/demo.ts";
import { start } from "../start.ts";
import { tell, withCommonOptions, withEngine } from "./common.ts";
import { runWorkers } from "./workers.ts";

export function serveCommand(): Command {
  return withCommonOptions(new Command("serve"))
    .description("serve the interface until SIGTERM or SIGINT")
    .option("--host <address>", "the address to listen on (default 127.0.0.1; 0.0.0.0 for every one)")
    .option("--port <number>", "the port (default 8080; 0 picks a free one)")
    .option("--workers <number>", "how many processes share the port (default 1)")
    .option("--demo", "on an empty database, make a sample site with a key")
    .option("--tls-cert <file>", "serve HTTPS with this certificate chain (PEM)")
    .option("--tls-key <file>", "the certificate's private key (PEM)")
    .option("--trust-proxy", "believe X-Forwarded-Host and X-Forwarded-For, because a proxy of yours sets them")
    .option("--rate <number>", "requests per second that each key may make (default 0: no limit)")
    .option("--burst <number>", "how many of them at once (default twice the rate)")
    .option("--memory <MiB>", "how much memory records may take (default 256)")
    .option("--idle-timeout <seconds>", "close a connection that sends nothing for so long (default 10)")
    .option("--log <level>", "trace, debug (every request), info, warn, error, fatal or silent (default info)")
    .addHelpText(
      "after",
      "\nEvery option can be set in the environment too: --tls-cert is STOREFRONT_TLS_CERT, and so on.",
    )
    .action(async (options: Record<string, string | true>) => serve({ ...environment(), ...toSettings(options) }));
}

/** `tlsCert` as commander has it becomes `TLS_CERT`. */
function toSettings(options: Record<string, string | true>): Settings {
  const entries = Object.entries(options).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
    value === true ? "yes" : value,
  ]);
  return Object.fromEntries(entries);
}

async function serve(settings: Settings): Promise<void> {
  const config = readConfig(settings);
  if (config.isWorker) return serveAsWorker(config);
  const demoKey = config.demo ? await demo(config) : undefined;
  const server =
    config.workers > 1 ? await runWorkers(config.workers, config.port, toEnvironment(settings)) : await listen(config);
  console.log(`Storefront listens on ${server.url}`);
  if (config.demo) tellDemo(server.url, config, demoKey);
  await signalled();
  await server.stop();
}

/** One of several processes: it tells its parent where it listens, and ends when it is told to or left alone. */
async function serveAsWorker(config: Config): Promise<void> {
  const server = await listen(config);
  process.send?.({ port: server.port, url: server.url });
  await Promise.race([signalled(), new Promise((resolve) => process.once("disconnect", resolve))]);
  await server.stop();
  process.disconnect?.();
}

async function listen(config: Config) {
  try {
    return await start(config);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const reason = (error as NodeJS.ErrnoException).code === "EADDRINUSE" ? "the port is in use" : messageOf(error);
    throw new Refusal("unavailable", `cannot listen on ${config.host}:${config.port}: ${reason}`, { cause: error });
  }
}

function demo(config: Config): Promise<string | undefined> {
  return withEngine({ database: config.database }, (engine) => makeDemo(engine, Date.now()));
}

function tellDemo(url: string, config: Config, key: string | undefined): void {
  const reachable = url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
  const insecure = config.tls ? "-k " : "";
  const curl = (sent: string) => `\n  curl ${insecure}-H "X-API-AUTH: ${sent}" ${reachable}/restapi/brands.json\n`;
  if (key) {
    tell("\nThe sample site `demo` has a key. Note it: it is shown this once. Try it:");
    console.log(curl(key));
  } else {
    tell("\nThe database has sites already, so no sample was made. Keys are shown once; for another one:");
    console.log(`\n  KEY=$(npx storefront key create --site demo --database ${config.database})${curl("$KEY")}`);
  }
}

/** Waits for SIGTERM or SIGINT. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
}
