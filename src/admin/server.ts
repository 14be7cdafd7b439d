// The admin listener (contract section 13): a second address, for operators and their tools. It shares nothing with the public listener but the
// way in which HTTP is read (wire/). server.ts opens it, handler.ts takes a request to its route, and each kind of endpoint is a file that makes
// its routes and a line in `createAdminRoutes`. The API of the console is a list of actions (action-routes.ts), in a file per subject in api/. With
// several workers, the listener is a separate process beside them (commands/processes/workers.ts).

import { isIPv4 } from "node:net";
import type { Logger } from "pino";
import { coalesced } from "../lib/concurrency.ts";
import { type MetricsSample, metricsLibrary, metricsType, toMetricsText } from "../lib/metrics.ts";
import { hostnameOf } from "../model/hostname.ts";
import { type Listener, type ListenOptions, listen } from "../wire/listen.ts";
import { type ActionDependencies, toRoutes } from "./action-routes.ts";
import { allActions } from "./api/all.ts";
import { type ConsoleScript, consoleRoutes } from "./console.ts";
import { AdminHandler, type AdminRoute, type AdminRoutes } from "./handler.ts";
import { Imports } from "./imports.ts";
import { sessionRoutes } from "./session.ts";
import { TrafficHistory } from "./traffic.ts";

interface AdminOptions extends Pick<ListenOptions, "host" | "port" | "tls" | "reusePort"> {
  /** Hostnames by which browsers may reach it, besides `localhost` and IP addresses. */
  readonly hostnames: readonly string[];
}

interface AdminDependencies extends ActionDependencies {
  readonly log: Logger;
  /** The metrics of all processes that serve the public port. */
  samples(): Promise<readonly MetricsSample[]>;
  /** The script of the console, if it is not to be loaded by this process. */
  readonly loadScript?: (() => Promise<ConsoleScript>) | undefined;
}

/** Limits of a listener that has few clients. */
const limits = { idleTimeout: 30, maxBodyBytes: 1024 * 1024, connections: 128, memory: 64 * 1024 * 1024 };

/** Opens the admin listener. @throws Error when the port is taken or the certificate cannot be read */
export function serveAdmin({ hostnames, ...options }: AdminOptions, dependencies: AdminDependencies): Listener {
  const traffic = new TrafficHistory(dependencies.samples, dependencies.now);
  const imports = new Imports(dependencies.now, (error) => dependencies.log.error({ err: error }, "an import failed"));
  const handler = new AdminHandler(
    createAdminRoutes(dependencies, traffic, imports),
    createHostCheck(hostnames),
    dependencies,
  );
  const listener = listen({ ...limits, ...options }, handler);
  // Now, and not with the first request: if all file descriptors are in use then, the runtime never tries again.
  void metricsLibrary().catch((error) => dependencies.log.error({ err: error }, "the metrics could not be loaded"));
  return {
    ...listener,
    async stop(seconds, idleSeconds) {
      traffic.stop();
      await imports.stop();
      await listener.stop(seconds, idleSeconds);
    },
  };
}

function createAdminRoutes(dependencies: AdminDependencies, traffic: TrafficHistory, imports: Imports): AdminRoutes {
  return new Map([
    metricsRoute(dependencies.samples),
    ...consoleRoutes(dependencies.loadScript),
    ...sessionRoutes(dependencies, (operator, isEverywhere) => imports.leave(operator, isEverywhere)),
    ...toRoutes(allActions(traffic, imports), dependencies),
  ]);
}

/**
 * A function that returns whether the admin listener responds to a `Host`: an IP address, `localhost`, or one of `names`. A page on the web can
 * make a browser send requests to this listener under the page's own hostname (DNS rebinding), but not under any of these.
 * @param names in their normal form (`readHostname`)
 */
function createHostCheck(names: readonly string[]): (host: string | null) => boolean {
  const allowed = new Set(["localhost", ...names]);
  return (host) => {
    if (host === null || !plain.test(host)) return false;
    const name = hostnameOf(host);
    return allowed.has(name) || isIPv4(name) || (name.startsWith("[") && URL.canParse(`http://${name}/`));
  };
}

/** A host with or without a port, and nothing that two programs could read differently. */
const plain = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;

// `/metrics`, for Prometheus.

function metricsRoute(samples: () => Promise<readonly MetricsSample[]>): [path: string, route: AdminRoute] {
  // Each scrape costs every worker some milliseconds, so scrapes at the same time share one.
  const text = coalesced(async () => toMetricsText(await samples()));
  return ["/metrics", { GET: async () => ({ headers: { "Content-Type": metricsType }, body: await text() }) }];
}
