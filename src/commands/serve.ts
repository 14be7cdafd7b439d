// The options of `serve`.

import { Command } from "commander";
import type { ConfigSources } from "../config.ts";
import { toConfig } from "./shared/database.ts";
import { type CommonOptions, withCommonOptions } from "./shared/options.ts";

type ServeOptions = CommonOptions & Record<string, string | true>;

const helpText = `
--memory limits the memory of the records and lists of all sites together. Not counted:
  a site that is larger than this limit, while it is in use
  sites while they are loaded
  lists while they are sorted
  connections: they may take the same amount again, at least 64 MiB
  batch requests: about 100 MiB each, of which a process accepts four at a time

Every option can also be set in the environment, --tls-cert as STOREFRONT_TLS_CERT; the option takes precedence.`;

export function serveCommand(): Command {
  const command = withCommonOptions(new Command("serve")).description("run the server until SIGTERM or SIGINT");
  return withLogOptions(withLimitOptions(withListenOptions(command)))
    .addHelpText("after", helpText)
    .action(async ({ json, ...options }: ServeOptions) => {
      const settings = toSettings(options);
      const config = toConfig(settings);
      // Loaded only now, because the code of servers is large, and neither help nor a wrong call needs it.
      const { serve } = await import("./processes/serve.ts");
      await serve(config, settings, { ...options, ...(json ? { json } : {}) });
    });
}

function withListenOptions(command: Command): Command {
  return command
    .option("--host <address>", "address to listen on, 0.0.0.0 for all (default: 127.0.0.1)")
    .option("--port <number>", "TCP port to listen on, 0 for any free one (default: the variable PORT, else 8080)")
    .option("--workers <number>", "processes that share the port, 1 to 256 (default: 1)")
    .option("--demo", "in a database without sites, create one with sample records and print a key for it")
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
    .option(
      "--ignore-parameters <names>",
      "query parameters to ignore, for clients that add them to every URL, such as lang,theme (default: unknown ones get 400)",
    )
    .option(
      "--mcp <where>",
      "where agents reach the tools: public, at /mcp of the public listener, or none (default: public)",
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
    )
    .option(
      "--drain <seconds>",
      "keep serving for this time after SIGTERM or SIGINT; /readyz is 503 at once, so that proxies notice (default: 0)",
    );
}

function withLogOptions(command: Command): Command {
  return command
    .option("--journal-days <number>", "delete journal entries of sites after this many days (default: keep them)")
    .option(
      "--verify <what>",
      "what is compared with the database in the background: memory, the sites in memory, or none (default: memory)",
    )
    .option("--log <level>", "trace, debug (with --access-log), info, warn, error, fatal or silent (default: info)")
    .option("--access-log", "log every request, whatever --log is")
    .option("--slow-ms <milliseconds>", "log requests that take at least this time, 0 for none (default: 1000)");
}

/** Converts options from commander's names (`tlsCert`) to the names of settings (`TLS_CERT`). */
function toSettings(options: Record<string, string | true>): ConfigSources {
  const entries = Object.entries(options).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
    value === true ? "yes" : value,
  ]);
  return Object.fromEntries(entries);
}
