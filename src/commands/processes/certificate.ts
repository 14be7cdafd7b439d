import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { AdminAddress, Config } from "../../config.ts";
import { certificateExpiry } from "../../lib/certificate-expiry.ts";
import { messageOf, systemCodeOf } from "../../lib/errors-for-log.ts";
import { Refusal } from "../../model/errors.ts";
import { type Running, start } from "../../start.ts";
import type { Certificate } from "../../wire/listen.ts";
import { asUsageError, printMessage } from "../common.ts";

/**
 * Reads a certificate and its key. One that has expired is reported on stderr: it can be served, but clients refuse it.
 * @param files paths
 * @throws Refusal `not-found` when a file cannot be read, `unavailable` when they are not a certificate and its key
 */
export function readCertificate(files: Certificate): Certificate {
  const certificate = { cert: readText(files.cert), key: readText(files.key) };
  const fault = faultOf(certificate);
  if (fault === undefined) {
    reportExpired(files.cert, certificate.cert);
    return certificate;
  }
  throw new Refusal(
    "unavailable",
    `${files.cert} and ${files.key} are not a certificate and its key in PEM form (${fault})`,
  );
}

/** Reads the certificate again. Returns undefined if there is none, or if it is invalid, which is reported. */
export function reloadCertificate({ tls }: Config): Certificate | undefined {
  try {
    return tls && readCertificate(tls);
  } catch (error) {
    printMessage(`storefront: ${messageOf(error)}; the previous one stays in use`);
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
    throw new Refusal("not-found", `cannot read ${file}: ${messageOf(error)}`, { cause: error });
  }
}

function faultOf({ cert, key }: Certificate): string | undefined {
  if (cert.trim() === "" || key.trim() === "") return "a file is empty";
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

type Address = Pick<Config, "host" | "port">;

/** Starts a server. @throws Refusal with the reason when it cannot listen */
export function listenOnPort(config: Config, certificate: Certificate | undefined): Promise<Running> {
  return withListenErrors(config, () => start(config, { certificate }));
}

/** The address of the admin listener if it is free. @throws Refusal `unavailable` if it is not, unless it is the default one */
export async function claimAdmin({ admin }: Config): Promise<AdminAddress | undefined> {
  if (!admin) return undefined;
  try {
    await claimPort(admin);
    return admin;
  } catch (error) {
    if (!admin.isDefault) throw error;
    printMessage(
      `storefront: ${messageOf(error)}; there is no admin listener and no console. Choose another address with --admin, or none with \`--admin none\``,
    );
    return undefined;
  }
}

/**
 * Checks that no process listens on the port. Processes that share a port would share it with those of another program
 * too, and receive each other's requests.
 * @throws Refusal `unavailable` when one does
 */
export async function claimPort(address: Address): Promise<void> {
  const { host, port } = address;
  if (port === 0) return;
  await withListenErrors(address, async () => {
    const probe = Bun.listen({ hostname: host, port, exclusive: true, socket: { data() {} } });
    probe.stop(true);
  });
}

/** Runs `work`, which listens at `address`. @throws Refusal with the reason when it cannot */
export async function withListenErrors<T>({ host, port }: Address, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal)
      return asUsageError(() => {
        throw error;
      });
    throw new Refusal("unavailable", `cannot listen on ${host}:${port}: ${reasonOf(error, host)}`, { cause: error });
  }
}

/** The runtime reports almost every failure to listen as a port in use, also that of a hostname that does not resolve. */
function reasonOf(error: unknown, host: string): string {
  if (systemCodeOf(error) !== "EADDRINUSE") return messageOf(error);
  return isAddress(host) ? "the port is in use" : "the port is in use, or the host is unknown";
}

function isAddress(host: string): boolean {
  return host === "localhost" || /^[0-9.]+$/.test(host) || host.includes(":");
}
