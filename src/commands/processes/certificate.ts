// The certificate and the ports of a server, before the server starts.

import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { AdminAddress, Config } from "../../config.ts";
import { certificateExpiry } from "../../lib/certificate-expiry.ts";
import { errorMessage, systemErrorCode } from "../../lib/errors-for-log.ts";
import { ProblemError } from "../../model/errors.ts";
import { type Running, start } from "../../start.ts";
import type { Certificate } from "../../wire/listen.ts";
import { printMessage } from "../shared/output.ts";
import { asUsageError } from "../shared/usage-error.ts";

/**
 * Reads a certificate and its key. An expired certificate is reported on stderr, but returned: the server can use it, although clients reject it.
 * @param files the paths of both
 * @throws ProblemError `not-found` if a file cannot be read, `unavailable` if the files are not a certificate and its key
 */
export function readCertificate(files: Certificate): Certificate {
  const certificate = { cert: readText(files.cert), key: readText(files.key) };
  const fault = describePortError(certificate);
  if (fault === undefined) {
    reportExpired(files.cert, certificate.cert);
    return certificate;
  }
  throw new ProblemError(
    "unavailable",
    `${files.cert} and ${files.key} are not a certificate and its key in PEM form (${fault})`,
  );
}

/** Reads the certificate again. Returns undefined if the configuration has none. If it is invalid, reports that on stderr and returns undefined. */
export function reloadCertificate({ tls }: Config): Certificate | undefined {
  try {
    return tls && readCertificate(tls);
  } catch (error) {
    printMessage(`storefront: ${errorMessage(error)}; the previous one stays in use`);
    return undefined;
  }
}

function reportExpired(file: string, chain: string): void {
  const expiry = certificateExpiry(chain);
  if (expiry === undefined || expiry > Date.now()) return;
  printMessage(
    `storefront: the certificate in ${file} expired on ${new Date(expiry).toISOString()}; clients refuse it`,
  );
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ProblemError("not-found", `cannot read ${file}: ${errorMessage(error)}`, { cause: error });
  }
}

/** Returns why a certificate and key cannot be used; undefined if they can. */
function describePortError({ cert, key }: Certificate): string | undefined {
  if (cert.trim() === "" || key.trim() === "") return "a file is empty";
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

type Address = Pick<Config, "host" | "port">;

/** Starts a server on the port of `config`. @throws ProblemError with the reason if it cannot listen */
export function listenOnPort(config: Config, certificate: Certificate | undefined): Promise<Running> {
  return withListenErrors(config, () => start(config, { certificate }));
}

/**
 * Returns the address of the admin listener if it is free. If the default address is in use, says so on stderr and returns undefined.
 * @throws ProblemError `unavailable` if an address that the operator named is in use
 */
export async function findFreeAdminAddress({ admin }: Config): Promise<AdminAddress | undefined> {
  if (!admin) return undefined;
  try {
    await requireFreePort(admin);
    return admin;
  } catch (error) {
    if (!admin.isDefault) throw error;
    printMessage(
      `storefront: ${errorMessage(error)}; there is no admin listener and no console. Choose another address with --admin, or none with \`--admin none\``,
    );
    return undefined;
  }
}

/**
 * Requires that no process listens on the port. Listening on a shared port does not fail if another program shares it: then both programs would
 * receive each other's requests.
 * @throws ProblemError `unavailable` if the port is in use
 */
export async function requireFreePort(address: Address): Promise<void> {
  const { host, port } = address;
  if (port === 0) return;
  await withListenErrors(address, async () => {
    const probe = Bun.listen({ hostname: host, port, exclusive: true, socket: { data() {} } });
    probe.stop(true);
  });
}

/** Runs `work`, which listens at `address`. @throws ProblemError with the reason if it cannot listen; UsageError if the address is invalid */
export async function withListenErrors<T>({ host, port }: Address, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProblemError)
      return asUsageError(() => {
        throw error;
      });
    throw new ProblemError("unavailable", `cannot listen on ${host}:${port}: ${reasonOf(error, host)}`, {
      cause: error,
    });
  }
}

/** Returns why listening failed. Bun reports almost every failure as EADDRINUSE, also an unknown hostname. */
function reasonOf(error: unknown, host: string): string {
  if (systemErrorCode(error) !== "EADDRINUSE") return errorMessage(error);
  return isAddress(host) ? "the port is in use" : "the port is in use, or the host is unknown";
}

function isAddress(host: string): boolean {
  return host === "localhost" || /^[0-9.]+$/.test(host) || host.includes(":");
}
