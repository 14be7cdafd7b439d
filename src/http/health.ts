// `/healthz` and `/readyz`.

import { toTextResponse } from "./responses.ts";
import { type PublicRoute, publicRoute } from "./route.ts";
import type { RouteDependencies } from "./routes.ts";

/** 200 while the process lives, and while the server is ready. */
export function healthRoutes({ readiness }: Pick<RouteDependencies, "readiness">): [string, PublicRoute][] {
  return [
    publicRoute("/healthz", (exchange) => toTextResponse(exchange, "ok\n")),
    publicRoute("/readyz", (exchange) => readiness.require().then(() => toTextResponse(exchange, "ready\n"))),
  ];
}
