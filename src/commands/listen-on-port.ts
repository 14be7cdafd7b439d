import { accessSync, constants } from "node:fs";
import type { Config } from "../config.ts";
import { messageOf, systemCodeOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";
import { type Running, start } from "../start.ts";
import { asUsageError } from "./common.ts";

/** Starts a server. @throws Refusal with the reason when it cannot listen */
export async function listenOnPort(config: Config): Promise<Running> {
  return withListenErrors(config, () => start(config));
}

/**
 * Checks that no process listens on the port. Processes that share a port would share it with those of another program
 * too, and receive each other's requests.
 * @throws Refusal `unavailable` when one does
 */
export async function claimPort({ host, port, ...config }: Config): Promise<void> {
  if (port === 0) return;
  await withListenErrors({ host, port, ...config }, async () => {
    const probe = Bun.listen({ hostname: host, port, exclusive: true, socket: { data() {} } });
    probe.stop(true);
  });
}

async function withListenErrors<T>(config: Config, work: () => Promise<T>): Promise<T> {
  for (const file of config.tls ? Object.values(config.tls) : []) requireReadable(file);
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal)
      return asUsageError(() => {
        throw error;
      });
    throw new Refusal("unavailable", `cannot listen on ${config.host}:${config.port}: ${reasonOf(error, config)}`, {
      cause: error,
    });
  }
}

function requireReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    throw new Refusal("not-found", `cannot read ${file}: ${messageOf(error)}`, { cause: error });
  }
}

/** The runtime reports almost every failure to listen as a port in use, also that of a hostname that does not resolve. */
function reasonOf(error: unknown, { host, tls }: Config): string {
  if (systemCodeOf(error) === "EADDRINUSE")
    return isAddress(host) ? "the port is in use" : "the port is in use, or the host is unknown";
  if (tls && /PEM|SSL|x509|ASN1|KEY/i.test(messageOf(error)))
    return `${tls.cert} and ${tls.key} are not a certificate and its key in PEM form (${messageOf(error)})`;
  return messageOf(error);
}

function isAddress(host: string): boolean {
  return host === "localhost" || /^[0-9.]+$/.test(host) || host.includes(":");
}
