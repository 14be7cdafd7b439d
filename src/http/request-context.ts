// What a request is on its way to its response: its route, its context, and the view of its site after authorization.

import type { Format } from "../formats/format.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { ProblemError } from "../model/errors.ts";
import type { Head } from "../model/head.ts";
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
  /** The route's name in the metrics and the log: its path, with `{id}` for an ID. Never text that a client has chosen. */
  readonly label: string;
  /** All methods, in the order of `Allow`. */
  readonly methods: readonly string[];
  /** The label of GET and HEAD in the histogram of durations; undefined for a route that needs no key. */
  readonly readOperation?: string;
  /** The label of the other methods in this histogram; by default `write`. */
  readonly writeOperation?: string;
  /** Whether the key may also be a bearer token, in `Authorization`. */
  readonly acceptsBearer?: boolean;
  /** Returns the detail of the problem for a method that is not in `methods`; undefined for a general text. */
  methodNotAllowedDetail?(method: string): string | undefined;
  /** Further header fields that scripts of other origins may send. */
  readonly allowedHeaders?: readonly string[];
}

/** A route that needs neither a site nor a key: health, documentation. */
export interface PublicRoute extends RouteBase {
  readonly kind: "public";
  respond(context: RequestContext): MaybePromise<WireResponse>;
}

/** A route of a site. It gets requests with a valid key, and an up-to-date view of their site. */
export interface SiteRoute extends RouteBase {
  readonly kind: "site";
  /** Long polls and lists take long, so they have labels of their own. */
  readonly readOperation: string;
  /** Returns no promise if the response can be made from memory. Otherwise authorizes the request again before it responds. */
  respond(context: RequestContext, authorized: AuthorizedView): MaybePromise<WireResponse>;
}

/** The list of a resource in a format, or a single record of it. */
export interface ResourceRoute extends SiteRoute {
  readonly isList: boolean;
  readonly resource: Resource;
  readonly format: Format;
  /** Parses the query of a read; undefined if it has no parameter with an effect. @throws ProblemError `bad-request` */
  parseQuery(query: string): ListParameters | undefined;
}

export type Route = PublicRoute | SiteRoute;

export interface RouteMatch {
  readonly target: RequestTarget;
  /** Undefined if the path does not exist, or the request could not be read. */
  readonly route: Route | undefined;
  /** The ID of the record in the path; undefined if the path has no ID or an invalid one. */
  readonly recordIdInPath: number | undefined;
}

/** Why a key was rejected. The response doesn't tell `unknown` and `expired or revoked` apart (contract section 1); the log and the metrics do. */
export type KeyRejection =
  | "missing"
  | "malformed"
  | "unknown"
  | "expired or revoked"
  | "of another site"
  | "read-only"
  | "over its rate";

interface BatchSummary {
  /** The number of batch operations; of an undo, of records that its run has changed. */
  readonly operations: number;
  /** The run under which the changes were stored; null if nothing was stored. */
  readonly run: string | null;
  /** The numbers of its operations by result, for the metrics; undefined for a dry run, a replay and an undo. */
  readonly counts?: BatchCounts | undefined;
}

/** Numbers of batch operations by result. If a fault prevents a whole batch request, all its operations are rejected. */
export interface BatchCounts {
  readonly changed: number;
  readonly unchanged: number;
  readonly rejected: number;
}

export interface RequestContext extends RouteMatch {
  readonly request: WireRequest;
  /** The request ID, in `X-Request-Id` and in the log. */
  readonly id: RequestId;
  /** The effective method: the request's own, or on a POST the method in `X-HTTP-Method-Override`. */
  readonly method: string;
  /** Header fields about the key's rate limit, for every response to the request. Only authorizer.ts sets them. */
  rateLimit: Readonly<Record<string, string>> | undefined;
  /** Milliseconds spent in a long poll. The slow-request log subtracts them. */
  longPollMs: number;
  /** The site of the host. Only the folder `authorization` sets this and the next three members; mcp/read-request.ts copies them from the inner request. */
  site: Site | undefined;
  /** The key of the request, also if it was rejected; undefined if it is unknown. */
  key: ApiKey | undefined;
  /** The name of the sandbox that the key selects, in `X-Sandbox`; undefined for the live site. */
  sandbox: string | undefined;
  /** Why the key was rejected, for the log and the metrics; undefined if it was not. */
  keyRejection: KeyRejection | undefined;
  /** Whether the request is a dry run, so that every response to it has `X-Dry-Run`. Its route sets it. */
  isDryRun: boolean;
  /** The summary of a batch request or an undo; undefined for other requests. Its route sets it. */
  batch: BatchSummary | undefined;
  /** The error of the response; undefined for a response without an error. */
  problem: ProblemError | undefined;
}

export interface AuthorizedView<View extends SiteView = SiteView> {
  readonly key: ApiKey;
  readonly siteView: View;
  /** The head of the system site as of which key and site are valid. */
  readonly systemHead: Head;
}

/** Returns an entry of the route table: a public route at `path`, for GET and HEAD. */
export function publicRoute(path: string, respond: PublicRoute["respond"]): [path: string, route: PublicRoute] {
  return [path, { kind: "public", label: path, methods: ["GET", "HEAD"], respond }];
}

/** Returns an entry of the route table: a route of a site at `path`. */
export function siteRoute<T extends Omit<SiteRoute, "kind" | "label">>(
  path: string,
  route: T,
): [path: string, route: T & Pick<SiteRoute, "kind" | "label">] {
  return [path, { ...route, kind: "site", label: path }];
}

/** Returns the part of a record's path where the ID is expected: between the last slash and the last dot. It may be an invalid ID. */
export function idIn(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1, path.lastIndexOf("."));
}

export function recordNotFoundError({ resource }: ResourceRoute, id: string | number): ProblemError {
  if (toId(String(id)) === undefined) {
    return new ProblemError("not-found", `invalid ID \`${String(id).slice(0, 40)}\`: an ID is a whole number from 1`);
  }
  return new ProblemError("not-found", `there is no ${resource.singular} with the ID ${id}`);
}
