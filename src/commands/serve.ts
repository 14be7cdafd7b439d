// `storefront serve`: only its options, because the server itself takes long to import.

import { Command } from "commander";
import type { ConfigSources } from "../config.ts";
import { toConfig } from "./shared/database.ts";
import { type CommonOptions, collectValue, withCommonOptions } from "./shared/options.ts";

type ServeOptions = CommonOptions & Record<string, string | true | string[]>;

const helpText = `
--memory limits the memory for the records and lists of all sites together. It doesn't count:
  a single site over the limit, while it's in use
  sites being loaded and lists being sorted
  connections, which can take the same amount again, or 64 MiB if that's more
  batch requests, about 100 MiB each, up to four at a time in each process

Every option can also be set in the environment, such as --tls-cert as STOREFRONT_TLS_CERT. Options take precedence.`;

export function serveCommand(): Command {
  const command = withCommonOptions(new Command("serve")).description("run the server until SIGTERM or SIGINT");
  return withLogOptions(withLimitOptions(withSignInOptions(withListenOptions(command))))
    .addHelpText("after", helpText)
    .action(async ({ json, ...options }: ServeOptions) => {
      const settings = toSettings(options);
      const config = toConfig(settings);
      // Imported late, because it's large, and neither help nor a usage error needs it.
      const { serve } = await import("./processes/serve.ts");
      await serve(config, settings, { ...options, ...(json ? { json } : {}) });
    });
}

function withListenOptions(command: Command): Command {
  return command
    .option("--host <address>", "address to listen on, or 0.0.0.0 for all (default: 127.0.0.1)")
    .option("--port <number>", "TCP port to listen on, or 0 for any free one (default: $PORT, else 8080)")
    .option("--workers <number>", "number of processes sharing the port, 1 to 256 (default: 1)")
    .option("--demo", "if there are no sites yet, create one with sample records and print a key for it")
    .option("--tls-cert <file>", "serve HTTPS with the certificate chain in this PEM file (default: HTTP)")
    .option("--tls-key <file>", "PEM file with the certificate's private key")
    .option(
      "--trust-proxy",
      "take the client's address from the last entry of X-Forwarded-For (only behind a proxy that adds it)",
    )
    .option(
      "--trust-forwarded-host",
      "take the host from X-Forwarded-Host (only behind a proxy that sets it on every request)",
    )
    .option(
      "--contact <URL>",
      "mailto: or https: URL where integrators can reach you; shown in errors that only you can fix, and in the documentation",
    )
    .option(
      "--ignore-parameters <names>",
      "query parameters to ignore, such as lang,theme, for clients that add them to every URL (default: reject them with 400)",
    )
    .option(
      "--mcp <where>",
      "where to serve MCP for agents: public (/mcp on the public listener) or none (default: public)",
    )
    .option(
      "--admin <address:port>",
      "where to serve the console and metrics, or none (default: 127.0.0.1:8081 if it's free)",
    )
    .option(
      "--admin-host <hostnames>",
      "comma-separated hostnames for --admin, besides localhost and IP addresses (default: none)",
    )
    .option(
      "--admin-url <URL>",
      "address at which browsers reach the console, such as https://console.example; for single sign-on and links",
    )
    .option(
      "--webhook-allow <networks>",
      "comma-separated networks that webhooks can reach besides public ones, such as 10.0.0.0/8",
    );
}

function withSignInOptions(command: Command): Command {
  return command
    .option("--oidc-issuer <URL>", "let operators sign in with this OpenID Connect provider; needs --admin-url")
    .option("--oidc-client-id <ID>", "this server's client ID at the provider")
    .option("--oidc-secret-file <file>", "file with the client secret")
    .option(
      "--oidc-role <mapping>",
      'who can sign in, and as what: "claim=value:role" or "claim=value:role@site,site", such as "groups=shop-garden:editor@garden"; repeat for several',
      collectValue,
    )
    .option("--oidc-session <minutes>", "how long a session lasts before the provider is asked again (default: 60)")
    .option(
      "--sign-in-links <which>",
      "all, or none to only allow single sign-on and break-glass links (default: all)",
    );
}

function withLimitOptions(command: Command): Command {
  return command
    .option("--rate <number>", "requests per second for each key, or 0 for no limit (default: 0)")
    .option("--burst <number>", "requests a key can send in one burst (default: twice --rate)")
    .option("--memory <MiB>", "memory for the records and lists of all sites, per process; see below (default: 256)")
    .option("--idle-timeout <seconds>", "close connections that have been idle this long, 1 to 255 (default: 10)")
    .option("--connections <number>", "maximum open connections per process (default: nine tenths of `ulimit -n`)")
    .option(
      "--drain <seconds>",
      "keep serving this long after SIGTERM or SIGINT, with /readyz at 503 so that proxies notice (default: 0)",
    );
}

function withLogOptions(command: Command): Command {
  return command
    .option("--journal-days <number>", "delete history older than this many days (default: keep it all)")
    .option(
      "--verify <what>",
      "what to compare with the database in the background: memory (the sites in memory) or none (default: memory)",
    )
    .option("--log <level>", "trace, debug (includes --access-log), info, warn, error, fatal or silent (default: info)")
    .option("--access-log", "log every request, whatever the --log level")
    .option("--slow-ms <milliseconds>", "log requests that take at least this long, or 0 for none (default: 1000)");
}

/** Maps commander's names (`tlsCert`) to setting names (`TLS_CERT`). */
function toSettings(options: Record<string, string | true | string[]>): ConfigSources {
  const entries = Object.entries(options).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
    value === true ? "yes" : Array.isArray(value) ? value.join(";") : value,
  ]);
  return Object.fromEntries(entries);
}
