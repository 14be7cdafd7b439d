// What accompanies a request on its way to a response: its route, its context and, once it's authorized, a view of its site.

import type { Format } from "../formats/format.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Limit } from "../lib/token-buckets.ts";
import { ProblemError } from "../model/errors.ts";
import type { Head } from "../model/head.ts";
import type { Right } from "../model/key-rights.ts";
import { toId } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { SiteView } from "../store/reads/site-views.ts";
import type { ApiKey, Site } from "../system/system-records.ts";
import type { WireRequest } from "../wire/request.ts";
import type { WireResponse } from "../wire/response.ts";
import type { RequestTarget } from "./common/request-target.ts";
import type { ListParameters } from "./records/list-parameters.ts";
import type { RequestId } from "./request-ids.ts";

interface RouteBase {
  /** The route's name in metrics and logs: its path, with `{id}` in place of an ID. Clients can't choose it. */
  readonly label: string;
  /** In the order of `Allow`. */
  readonly methods: readonly string[];
  /** The label for GET and HEAD in the duration histogram; undefined for a route that needs no key. */
  readonly readOperation?: string;
  /** The label for all other methods. Default: `write`. */
  readonly writeOperation?: string;
  /** Whether the key may also be sent as a bearer token in `Authorization`. */
  readonly acceptsBearer?: boolean;
  /** What to tell a client that uses a method not in `methods`; undefined for the general message. */
  methodNotAllowedDetail?(method: string): string | undefined;
  /** More headers that scripts from other origins may send. */
  readonly allowedHeaders?: readonly string[];
}

/** A route that needs neither a site nor a key: health, documentation. */
export interface PublicRoute extends RouteBase {
  readonly kind: "public";
  respond(context: RequestContext): MaybePromise<WireResponse>;
}

/** A route that only gets requests with a valid key, along with an up-to-date view of their site. */
export interface SiteRoute extends RouteBase {
  readonly kind: "site";
  /** Long polls and lists are slow, so they have their own labels. */
  readonly readOperation: string;
  /** Synchronous if memory is enough for the response. Otherwise it authorizes the request again before responding. */
  respond(context: RequestContext, authorized: AuthorizedView): MaybePromise<WireResponse>;
}

/** The list of a resource in a format, or a single record of it. */
export interface ResourceRoute extends SiteRoute {
  readonly isList: boolean;
  readonly resource: Resource;
  readonly rights: { readonly read: readonly Right[]; readonly write: readonly Right[] };
  readonly format: Format;
  /** Parses the query of a read; undefined if no parameter has an effect. @throws ProblemError `bad-request` */
  parseQuery(query: string): ListParameters | undefined;
}

export type Route = PublicRoute | SiteRoute;

export interface RouteMatch {
  readonly target: RequestTarget;
  /** Undefined if the path doesn't exist or the request couldn't be read. */
  readonly route: Route | undefined;
  /** Undefined if the path has no ID or an invalid one. */
  readonly recordIdInPath: number | undefined;
}

/** Why a key was rejected. Only logs and metrics tell `unknown` from `expired or revoked`; the response doesn't (contract section 1). */
export type KeyRejection =
  | "missing"
  | "malformed"
  | "unknown"
  | "expired or revoked"
  | "of another site"
  | "from another network"
  | "without the right"
  | "over its rate";

export interface RateLimit {
  readonly limit: Limit;
  /** Whole tokens; 0 or less if the key is over its rate. */
  readonly remaining: number;
}

interface BatchSummary {
  /** The number of batch operations or, for an undo, of records its run changed. */
  readonly operations: number;
  /** Null if nothing was stored. */
  readonly run: string | null;
  /** Undefined for dry runs, replays and undos. */
  readonly counts?: BatchCounts | undefined;
}

/** Operation counts by result, for the metrics. If an error rejects a whole batch, all its operations count as rejected. */
export interface BatchCounts {
  readonly changed: number;
  readonly unchanged: number;
  readonly rejected: number;
}

export interface RequestContext extends RouteMatch {
  readonly request: WireRequest;
  /** As in `X-Request-Id` and the log. */
  readonly id: RequestId;
  /** How to reach the operator, for problems that a client can't solve alone; undefined if it isn't set. */
  readonly contact: string | undefined;
  /** The request's own method or, for a POST, the one in `X-HTTP-Method-Override`. */
  readonly method: string;
  /** The key's rate limit, for the headers of every response to the request. Only authorizer.ts sets it. */
  rateLimit: RateLimit | undefined;
  /** Milliseconds spent in a long poll, which don't make a request slow. */
  longPollMs: number;
  /** The host's site. Only `authorization` sets this and the next five members, but mcp/read-request.ts copies them from the inner request. */
  site: Site | undefined;
  /** Set even if the key was rejected; undefined if it's unknown. */
  key: ApiKey | undefined;
  /** The name of the sandbox the key selects, as in `X-Sandbox`; undefined for a live site. */
  sandbox: string | undefined;
  /** Undefined if the key wasn't rejected. */
  keyRejection: KeyRejection | undefined;
  /** What the request needs, as far as its route knows. Checked whenever it's authorized again. */
  neededRights: readonly Right[];
  /** As in `X-Key-Expires`; undefined unless the key expires soon. */
  keyExpires: string | undefined;
  /** Whether every response to the request has `X-Dry-Run`. Set by its route. */
  isDryRun: boolean;
  /** Undefined unless the request is a batch or an undo. Set by its route. */
  batch: BatchSummary | undefined;
  /** Undefined unless the response is a problem. */
  problem: ProblemError | undefined;
}

export interface AuthorizedView<View extends SiteView = SiteView> {
  readonly key: ApiKey;
  readonly siteView: View;
  /** The head of the system site at which the key and site were checked. */
  readonly systemHead: Head;
}

/** Makes a route table entry for GET and HEAD. */
export function publicRoute(path: string, respond: PublicRoute["respond"]): [path: string, route: PublicRoute] {
  return [path, { kind: "public", label: path, methods: ["GET", "HEAD"], respond }];
}

/** Makes a route table entry. */
export function siteRoute<T extends Omit<SiteRoute, "kind" | "label">>(
  path: string,
  route: T,
): [path: string, route: T & Pick<SiteRoute, "kind" | "label">] {
  return [path, { ...route, kind: "site", label: path }];
}

/** Returns what's between the last slash and the last dot, where a record's path has its ID. It may not be a valid one. */
export function idIn(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1, path.lastIndexOf("."));
}

export function recordNotFoundError({ resource }: ResourceRoute, id: string | number): ProblemError {
  if (toId(String(id)) === undefined) {
    return new ProblemError(
      "not-found",
      `invalid ID \`${String(id).slice(0, 40)}\`: IDs are whole numbers, starting at 1`,
    );
  }
  return new ProblemError("not-found", `there is no ${resource.singular} with the ID ${id}`);
}
