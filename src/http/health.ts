// `/healthz` and `/readyz`.

import type { HttpDependencies } from "./dependencies.ts";
import { createReadiness } from "./readiness.ts";
import { toTextResponse } from "./responses.ts";
import { type PublicRoute, publicRoute } from "./route.ts";

/** 200 while the process lives, and while the storage can be read and written. */
export function healthRoutes({ engine, now }: Pick<HttpDependencies, "engine" | "now">): [string, PublicRoute][] {
  const requireReady = createReadiness(engine, now);
  return [
    publicRoute("/healthz", (exchange) => toTextResponse(exchange, "ok\n")),
    publicRoute("/readyz", (exchange) => requireReady().then(() => toTextResponse(exchange, "ready\n"))),
  ];
}
