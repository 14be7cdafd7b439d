// Checks that ports are free, and explains why listening on one failed.

import type { AdminAddress, Config } from "../../config.ts";
import { errorMessage, systemErrorCode } from "../../lib/errors-for-log.ts";
import { toUrlHost } from "../../lib/networks.ts";
import { ProblemError } from "../../model/errors.ts";
import { type Running, start } from "../../start.ts";
import type { Certificate } from "../../wire/listen.ts";
import { printMessage } from "../shared/output.ts";
import { asUsageError } from "../shared/usage-error.ts";

type Address = Pick<Config, "host" | "port"> | AdminAddress;

/** @throws ProblemError that says why it can't listen */
export function listenOnPort(config: Config, certificate: Certificate | undefined): Promise<Running> {
  return withListenErrors(config, () => start(config, { certificate }));
}

/**
 * Returns undefined if there should be no admin listener, or if its default address is in use, which goes to stderr.
 * @throws ProblemError `unavailable` if an address given with `--admin` is in use
 */
export async function findFreeAdminAddress(config: Config): Promise<AdminAddress | undefined> {
  const { admin } = config;
  if (!admin) return undefined;
  // Holds on to the public port while checking. Otherwise, both listeners could end up sharing one, and clients would reach either.
  const publicPort = await occupyPort(config);
  try {
    await requireFreePort(admin);
    return admin;
  } catch (error) {
    if (!admin.isDefault) throw error;
    printMessage(`storefront: ${errorMessage(error)}. Starting without the console`);
    return undefined;
  } finally {
    publicPort?.stop(true);
  }
}

/**
 * Needed before listening on a shared port, which doesn't fail if another program also shares it. Each would then get some of the other's requests.
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

/** @param work listens at `address`. @throws ProblemError that says why it can't; UsageError if the address is invalid */
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
    throw new ProblemError("unavailable", `can't listen on ${toUrlHost(address.host)}:${address.port}: ${detail}`, {
      cause: error,
    });
  }
}

/** Why listening failed, and which part of the address is to blame. */
function reasonOf(error: unknown): { text: string; part: "port" | "host" } | undefined {
  switch (systemErrorCode(error)) {
    case "EADDRINUSE":
      return { text: "the port is already in use", part: "port" };
    case "EACCES":
      return { text: "you don't have permission to use this port", part: "port" };
    case "EADDRNOTAVAIL":
      return { text: "this machine doesn't have that address", part: "host" };
    default:
      // Bun gives this error no code.
      return errorMessage(error).startsWith("Failed to listen") ? { text: "unknown host", part: "host" } : undefined;
  }
}

function optionOf(part: "port" | "host", address: Address): string {
  return "isDefault" in address ? "--admin, or none with `--admin none`" : `--${part}`;
}
