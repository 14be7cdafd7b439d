// The admin listener (contract section 13): a second address, for operators and their tools. It shares nothing with the public listener but the
// way in which HTTP is read (wire/). server.ts opens it, handler.ts takes a request to its route, and each kind of endpoint is a file that makes
// its routes and a line in `createAdminRoutes`. With several workers, it is a separate process beside them (commands/workers.ts).

import type { Logger } from "pino";
import { type MetricsSample, metricsLibrary } from "../lib/metric-samples.ts";
import { type Listener, type ListenOptions, listen } from "../wire/listen.ts";
import { createHostCheck } from "./allowed-hosts.ts";
import { AdminHandler, type AdminRoute } from "./handler.ts";
import { metricsRoute } from "./metrics.ts";

interface AdminOptions extends Pick<ListenOptions, "host" | "port" | "tls" | "reusePort"> {
  /** Hostnames by which browsers may reach it, besides `localhost` and IP addresses. */
  readonly hostnames: readonly string[];
}

interface AdminDependencies {
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The metrics of all processes that serve the public port. */
  samples(): Promise<readonly MetricsSample[]>;
}

/** Limits of a listener that has few clients. */
const limits = { idleTimeout: 30, maxBodyBytes: 1024 * 1024, connections: 32, memory: 64 * 1024 * 1024 };

/** Opens the admin listener. @throws Error when the port is taken or the certificate cannot be read */
export function serveAdmin({ hostnames, ...options }: AdminOptions, dependencies: AdminDependencies): Listener {
  const handler = new AdminHandler(createAdminRoutes(dependencies), createHostCheck(hostnames), dependencies);
  const listener = listen({ ...limits, ...options }, handler);
  // Now, and not with the first request: if all file descriptors are in use then, the runtime never tries again.
  void metricsLibrary().catch((error) => dependencies.log.error({ err: error }, "the metrics could not be loaded"));
  return listener;
}

function createAdminRoutes({ samples }: AdminDependencies): ReadonlyMap<string, AdminRoute> {
  return new Map([metricsRoute(samples)]);
}
