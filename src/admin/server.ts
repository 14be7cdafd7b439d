// Opens the admin listener (contract section 13), a second address for operators and their tools. It only shares wire/ and http/common/ with the public
// listener. handler.ts handles its requests. Each kind of endpoint has a file that creates its routes, and a line in `createAdminRoutes`. The console's
// API is a list of actions (action-routes.ts), with a file per subject in api/. With several workers, the admin listener has a process to itself
// (commands/processes/workers.ts).

import type { Logger } from "pino";
import { loadSoon } from "../http/common/load-soon.ts";
import { coalesceCalls } from "../lib/concurrency.ts";
import { type MetricsSample, metricsLibrary, metricsType, toMetricsText } from "../lib/metrics.ts";
import type { SingleSignOnSettings } from "../model/single-sign-on.ts";
import { workbookReader } from "../operator/import/open-table.ts";
import { type Listener, type ListenOptions, listen } from "../wire/listen.ts";
import { type ActionDependencies, toRoutes } from "./action-routes.ts";
import { allActions } from "./api/all.ts";
import { type ConsoleScript, consoleRoutes } from "./console.ts";
import { AdminHandler, type AdminRoute, type AdminRoutes } from "./handler.ts";
import { OpenImports } from "./open-imports.ts";
import { RepeatedEvents } from "./repeated-events.ts";
import { sessionRoutes } from "./session.ts";
import { SingleSignOn } from "./single-sign-on.ts";
import { TrafficHistory } from "./traffic.ts";

interface AdminOptions extends Pick<ListenOptions, "host" | "port" | "tls" | "reusePort"> {
  /** Hostnames that browsers can use besides `localhost` and IP addresses, in normal form. */
  readonly hostnames: readonly string[];
}

interface AdminDependencies extends Omit<ActionDependencies, "repeatedEvents"> {
  readonly log: Logger;
  /** Undefined if operators only sign in with links. */
  readonly singleSignOn: SingleSignOnSettings | undefined;
  samples(): Promise<readonly MetricsSample[]>;
  /** Loads the console's script, instead of the usual function. */
  readonly loadScript?: (() => Promise<ConsoleScript>) | undefined;
}

/** There are few clients. */
const limits = { idleTimeoutSeconds: 30, maxBodyBytes: 1024 * 1024, connections: 128, memory: 64 * 1024 * 1024 };

/** @throws Error if the port is in use or the certificate is invalid */
export function serveAdmin({ hostnames, ...options }: AdminOptions, dependencies: AdminDependencies): Listener {
  const traffic = new TrafficHistory(dependencies.samples, dependencies.now);
  const imports = new OpenImports(dependencies.now, (error) =>
    dependencies.log.error({ err: error }, "an import failed"),
  );
  const repeatedEvents = new RepeatedEvents(dependencies.engine, dependencies);
  const stopping = new AbortController();
  const handler = new AdminHandler(
    createAdminRoutes({ ...dependencies, repeatedEvents }, traffic, imports, stopping.signal),
    hostnames,
    dependencies,
  );
  const listener = listen({ ...limits, ...options }, handler);
  const loading = loadSoon(
    [metricsLibrary, workbookReader, () => traffic.addPoint().catch(() => {})],
    dependencies.log,
  );
  return {
    ...listener,
    async stop(seconds, idleSeconds) {
      clearTimeout(loading);
      stopping.abort();
      traffic.stop();
      await imports.stop();
      await listener.stop(seconds, idleSeconds);
      await repeatedEvents.endMinute();
    },
  };
}

function createAdminRoutes(
  dependencies: AdminDependencies & ActionDependencies,
  traffic: TrafficHistory,
  imports: OpenImports,
  stopping: AbortSignal,
): AdminRoutes {
  const endImports = (operator: number, isEverywhere: boolean) => imports.endImportsOf(operator, isEverywhere);
  const onRefused = (operator: number) => endImports(operator, true);
  const singleSignOn =
    dependencies.singleSignOn && new SingleSignOn(dependencies.singleSignOn, { ...dependencies, onRefused, stopping });
  return new Map([
    metricsRoute(dependencies.samples),
    ...consoleRoutes(dependencies.loadScript),
    ...(singleSignOn?.routes() ?? []),
    ...sessionRoutes({ ...dependencies, singleSignOn }, endImports),
    ...toRoutes(allActions(traffic, imports, stopping), dependencies),
  ]);
}

function metricsRoute(samples: () => Promise<readonly MetricsSample[]>): [path: string, route: AdminRoute] {
  // Concurrent scrapes share a result, because each costs every worker a few milliseconds.
  const text = coalesceCalls(async () => toMetricsText(await samples()));
  return ["/metrics", { GET: async () => ({ headers: { "Content-Type": metricsType }, body: await text() }) }];
}
