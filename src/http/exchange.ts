import type { WireRequest } from "../wire/request.ts";
import type { Route } from "./route.ts";
import type { RequestTarget } from "./target.ts";

/** A request on its way to its response. */
export interface Exchange {
  readonly request: WireRequest;
  readonly target: RequestTarget;
  /** The request ID, in `X-Request-Id` and in the log. */
  readonly id: string;
  /** Undefined when the path has none, or the request could not be read. */
  readonly route: Route | undefined;
  /** The method that decides: the request's own, or that of `X-HTTP-Method-Override` on a POST. */
  readonly method: string;
  /** Header fields about the key's rate limit, in every response to the request. Only admission sets them. */
  rateLimit: Readonly<Record<string, string>> | undefined;
}
