// `storefront health`: gets /readyz from a server.

import { Command } from "commander";
import type { Config } from "../config.ts";
import { errorMessage, systemErrorCode } from "../lib/errors-for-log.ts";
import { isLoopback, toConnectableUrl, toUrlHost } from "../lib/networks.ts";
import { ProblemError } from "../model/errors.ts";
import { toConfig } from "./shared/database.ts";
import { printResult } from "./shared/output.ts";
import { UsageError } from "./shared/usage-error.ts";

/** Must be more than the 3 seconds that the server gives its storage. */
const timeoutMs = 5000;

export function healthCommand(): Command {
  return new Command("health")
    .description("check whether a server is ready: exit with 0 if so, or with 1 if not")
    .option(
      "--url <url>",
      "URL of the server (default: where `serve` would listen with the same STOREFRONT_... variables)",
    )
    .option("--json", "print the result as JSON")
    .action(async ({ url, json }: { url?: string; json?: true }) => {
      const checked = readyUrl(url ?? ownUrl(toConfig()));
      await requireReady(checked);
      printResult(json ? { json } : {}, { ready: true, url: checked.href }, ["ready"]);
    });
}

/** @throws UsageError if `url` isn't an HTTP URL */
function readyUrl(url: string): URL {
  const base = URL.parse(url);
  if (base && /^https?:$/.test(base.protocol)) return new URL("/readyz", base);
  throw new UsageError(`invalid URL \`${url}\`: use one such as http://127.0.0.1:8080`);
}

/** Where a server with this configuration can be reached from this machine. */
export function ownUrl({ host, port, tls }: Config): string {
  return toConnectableUrl(`${tls ? "https" : "http"}://${toUrlHost(host)}:${port}`);
}

/** @throws ProblemError `unavailable` if the server doesn't respond or isn't ready */
async function requireReady(url: URL): Promise<void> {
  // A certificate is for the public hostname, so it can't be verified on a loopback address.
  const tls = { rejectUnauthorized: !isLoopback(url.hostname) };
  const options = { redirect: "manual", proxy: false, signal: AbortSignal.timeout(timeoutMs), tls } as const;
  const response = await fetch(url, options).catch((error) => {
    // Bun's own message for this error asks "Is the computer able to access the url?"
    const reason = systemErrorCode(error) === "ECONNREFUSED" ? "nothing is listening there" : errorMessage(error);
    throw new ProblemError("unavailable", `no response from ${url.href}: ${reason}`, { cause: error });
  });
  if (response.status === 200) return;
  throw new ProblemError("unavailable", `the server isn't ready: ${url.href} returned ${response.status}`);
}
