// The ports of a server: whether they are free, and errors while listening on them.

import type { AdminAddress, Config } from "../../config.ts";
import { errorMessage, systemErrorCode } from "../../lib/errors-for-log.ts";
import { toUrlHost } from "../../lib/networks.ts";
import { ProblemError } from "../../model/errors.ts";
import { type Running, start } from "../../start.ts";
import type { Certificate } from "../../wire/listen.ts";
import { printMessage } from "../shared/output.ts";
import { asUsageError } from "../shared/usage-error.ts";

/** Where to listen: the settings of the public listener, or the address of the admin listener. */
type Address = Pick<Config, "host" | "port"> | AdminAddress;

/** Starts a server on the port of `config`. @throws ProblemError with the reason if it cannot listen */
export function listenOnPort(config: Config, certificate: Certificate | undefined): Promise<Running> {
  return withListenErrors(config, () => start(config, { certificate }));
}

/**
 * Returns the address of the admin listener if it is free. If the default address is in use, says so on stderr and returns undefined.
 * @throws ProblemError `unavailable` if an address that the operator named is in use
 */
export async function findFreeAdminAddress(config: Config): Promise<AdminAddress | undefined> {
  const { admin } = config;
  if (!admin) return undefined;
  // Both listeners could share a port. Clients would then reach one or the other.
  const publicPort = await occupyPort(config);
  try {
    await requireFreePort(admin);
    return admin;
  } catch (error) {
    if (!admin.isDefault) throw error;
    printMessage(`storefront: ${errorMessage(error)}. The server starts without a console`);
    return undefined;
  } finally {
    publicPort?.stop(true);
  }
}

/**
 * Requires that no process listens on the port. Listening on a shared port does not fail if another program shares it: then both programs would
 * receive each other's requests.
 * @throws ProblemError `unavailable` if the port is in use
 */
export async function requireFreePort(address: Address): Promise<void> {
  (await occupyPort(address))?.stop(true);
}

async function occupyPort(address: Address) {
  const { host: hostname, port } = address;
  if (port === 0) return undefined;
  return withListenErrors(address, async () => Bun.listen({ hostname, port, exclusive: true, socket: { data() {} } }));
}

/** Runs `work`, which listens at `address`. @throws ProblemError with the reason if it cannot listen; UsageError if the address is invalid */
export async function withListenErrors<T>(address: Address, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProblemError)
      return asUsageError(() => {
        throw error;
      });
    const reason = reasonOf(error);
    const detail = reason
      ? `${reason.text}; choose another with ${optionOf(reason.part, address)}`
      : errorMessage(error);
    throw new ProblemError("unavailable", `cannot listen on ${toUrlHost(address.host)}:${address.port}: ${detail}`, {
      cause: error,
    });
  }
}

/** Returns why listening failed, and which part of the address is the cause; undefined for other errors. */
function reasonOf(error: unknown): { text: string; part: "port" | "host" } | undefined {
  switch (systemErrorCode(error)) {
    case "EADDRINUSE":
      return { text: "the port is in use", part: "port" };
    case "EACCES":
      return { text: "this user may not use the port", part: "port" };
    case "EADDRNOTAVAIL":
      return { text: "this machine does not have the address", part: "host" };
    default:
      // The runtime gives this error no code.
      return errorMessage(error).startsWith("Failed to listen") ? { text: "unknown host", part: "host" } : undefined;
  }
}

/** @param part the part of `address` that is wrong */
function optionOf(part: "port" | "host", address: Address): string {
  return "isDefault" in address ? "--admin, or none with `--admin none`" : `--${part}`;
}
