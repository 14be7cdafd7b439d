import type { WireRequest } from "../wire/request.ts";
import type { Key, Site } from "./directory.ts";
import type { RequestId } from "./request-ids.ts";
import type { Route } from "./route.ts";
import type { RequestTarget } from "./target.ts";

/** Why a key was refused. The first four have the same response (contract section 1), and the log has the reason. */
export type KeyRefusal =
  | "missing"
  | "malformed"
  | "unknown"
  | "expired or revoked"
  | "of another site"
  | "read-only"
  | "over its rate";

/** A request on its way to its response. */
export interface Exchange {
  readonly request: WireRequest;
  readonly target: RequestTarget;
  /** In `X-Request-Id` and in the log. */
  readonly id: RequestId;
  /** Undefined when the path has none, or the request could not be read. */
  readonly route: Route | undefined;
  /** The record's ID in the path; undefined when there is none, or one that is not valid. */
  readonly pathId: number | undefined;
  /** The method that decides: the request's own, or that of `X-HTTP-Method-Override` on a POST. */
  readonly method: string;
  /** Header fields about the key's rate limit, in every response to the request. Only admission sets them. */
  rateLimit: Readonly<Record<string, string>> | undefined;
  /** Milliseconds for which the request has waited as it wanted to. They do not make it slow. */
  waited: number;
  /** For the log: the site of the request's host, the key that it has, and why that was refused. Only admission sets them. */
  site: Site | undefined;
  key: Key | undefined;
  keyRefusal: KeyRefusal | undefined;
}
