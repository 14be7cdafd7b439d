// The command `health`: asks a server for /readyz.

import { Command } from "commander";
import type { Config } from "../config.ts";
import { errorMessage, systemErrorCode } from "../lib/errors-for-log.ts";
import { isLoopback, toConnectableUrl, toUrlHost } from "../lib/networks.ts";
import { ProblemError } from "../model/errors.ts";
import { toConfig } from "./shared/database.ts";
import { printResult } from "./shared/output.ts";
import { UsageError } from "./shared/usage-error.ts";

/** Maximum milliseconds until the server responds. The server itself waits up to 3 seconds for its storage. */
const timeoutMs = 5000;

export function healthCommand(): Command {
  return new Command("health")
    .description("exit with 0 if a server is ready, otherwise with 1: for containers without a shell")
    .option("--url <url>", "address of the server (default: that of `serve` with the same STOREFRONT_... variables)")
    .option("--json", "print the result as JSON")
    .action(async ({ url, json }: { url?: string; json?: true }) => {
      const checked = readyAddress(url ?? ownAddress(toConfig()));
      await requireReady(checked);
      printResult(json ? { json } : {}, { ready: true, url: checked.href }, ["ready"]);
    });
}

/** Returns the URL of /readyz on the server at `url`. @throws UsageError if `url` is not an HTTP address */
function readyAddress(url: string): URL {
  const base = URL.parse(url);
  if (base && /^https?:$/.test(base.protocol)) return new URL("/readyz", base);
  throw new UsageError(`invalid URL \`${url}\`: write http://127.0.0.1:8080`);
}

/** Returns the URL at which a server with this configuration can be reached from the same machine. */
function ownAddress({ host, port, tls }: Config): string {
  return toConnectableUrl(`${tls ? "https" : "http"}://${toUrlHost(host)}:${port}`);
}

/** Requests `url`. @throws ProblemError `unavailable` if the server does not respond, or is not ready */
async function requireReady(url: URL): Promise<void> {
  // The certificate names the public hostname, not a loopback address: do not verify it there.
  const tls = { rejectUnauthorized: !isLoopback(url.hostname) };
  const options = { redirect: "manual", proxy: false, signal: AbortSignal.timeout(timeoutMs), tls } as const;
  const response = await fetch(url, options).catch((error) => {
    // The message of the runtime for this error asks whether the computer can reach the address.
    const reason = systemErrorCode(error) === "ECONNREFUSED" ? "nothing listens there" : errorMessage(error);
    throw new ProblemError("unavailable", `no response from ${url.href}: ${reason}`, { cause: error });
  });
  if (response.status === 200) return;
  throw new ProblemError("unavailable", `${url.href} responds with ${response.status}, so the server is not ready`);
}
