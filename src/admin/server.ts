// The admin listener (contract section 13): a second address, for operators and their tools. It shares only wire/ and http/common/ with the public
// listener. This file opens it, and handler.ts calls the route of a request. Each kind of endpoint is a file that creates its routes, and a line in
// `createAdminRoutes`. The API of the console is a list of actions (action-routes.ts), with a file for each subject in api/. With several workers,
// the listener is a separate process (commands/processes/workers.ts).

import type { Logger } from "pino";
import { coalesceCalls } from "../lib/concurrency.ts";
import { type MetricsSample, metricsLibrary, metricsType, toMetricsText } from "../lib/metrics.ts";
import { type Listener, type ListenOptions, listen } from "../wire/listen.ts";
import { type ActionDependencies, toRoutes } from "./action-routes.ts";
import { allActions } from "./api/all.ts";
import { type ConsoleScript, consoleRoutes } from "./console.ts";
import { AdminHandler, type AdminRoute, type AdminRoutes } from "./handler.ts";
import { OpenImports } from "./open-imports.ts";
import { sessionRoutes } from "./session.ts";
import { TrafficHistory } from "./traffic.ts";

interface AdminOptions extends Pick<ListenOptions, "host" | "port" | "tls" | "reusePort"> {
  /** Hostnames that browsers may use in addition to `localhost` and IP addresses, in their normal form. */
  readonly hostnames: readonly string[];
}

interface AdminDependencies extends ActionDependencies {
  readonly log: Logger;
  samples(): Promise<readonly MetricsSample[]>;
  /** Loads the script of the console, if another function than the usual one should do that. */
  readonly loadScript?: (() => Promise<ConsoleScript>) | undefined;
}

/** Limits for a listener with few clients: seconds, bytes, connections, bytes. */
const limits = { idleTimeoutSeconds: 30, maxBodyBytes: 1024 * 1024, connections: 128, memory: 64 * 1024 * 1024 };

/** Opens the admin listener. @throws Error if the port is in use or the certificate is invalid */
export function serveAdmin({ hostnames, ...options }: AdminOptions, dependencies: AdminDependencies): Listener {
  const traffic = new TrafficHistory(dependencies.samples, dependencies.now);
  const imports = new OpenImports(dependencies.now, (error) =>
    dependencies.log.error({ err: error }, "an import failed"),
  );
  const stopping = new AbortController();
  const handler = new AdminHandler(
    createAdminRoutes(dependencies, traffic, imports, stopping.signal),
    hostnames,
    dependencies,
  );
  const listener = listen({ ...limits, ...options }, handler);
  // Load the library now instead of at the first request. Otherwise, if all file descriptors are in use then, Bun would never try again.
  void metricsLibrary().catch((error) => dependencies.log.error({ err: error }, "the metrics could not be loaded"));
  return {
    ...listener,
    async stop(seconds, idleSeconds) {
      stopping.abort();
      traffic.stop();
      await imports.stop();
      await listener.stop(seconds, idleSeconds);
    },
  };
}

function createAdminRoutes(
  dependencies: AdminDependencies,
  traffic: TrafficHistory,
  imports: OpenImports,
  stopping: AbortSignal,
): AdminRoutes {
  return new Map([
    metricsRoute(dependencies.samples),
    ...consoleRoutes(dependencies.loadScript),
    ...sessionRoutes(dependencies, (operator, isEverywhere) => imports.endImportsOf(operator, isEverywhere)),
    ...toRoutes(allActions(traffic, imports, stopping), dependencies),
  ]);
}

// `/metrics`, for Prometheus.

function metricsRoute(samples: () => Promise<readonly MetricsSample[]>): [path: string, route: AdminRoute] {
  // Scrapes at the same time share one result, because each scrape takes some milliseconds of every worker.
  const text = coalesceCalls(async () => toMetricsText(await samples()));
  return ["/metrics", { GET: async () => ({ headers: { "Content-Type": metricsType }, body: await text() }) }];
}
