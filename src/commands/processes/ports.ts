// The ports of a server: whether they are free, and errors while listening on them.

import type { AdminAddress, Config } from "../../config.ts";
import { errorMessage, systemErrorCode } from "../../lib/errors-for-log.ts";
import { ProblemError } from "../../model/errors.ts";
import { type Running, start } from "../../start.ts";
import type { Certificate } from "../../wire/listen.ts";
import { printMessage } from "../shared/output.ts";
import { asUsageError } from "../shared/usage-error.ts";

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
