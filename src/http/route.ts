// Routes: an endpoint with the function that responds.

import type { Format } from "../formats/format.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Resource } from "../model/resource.ts";
import type { WireResponse } from "../wire/response.ts";
import type { RequestTarget } from "./common/request-target.ts";
import type { ListParameters } from "./records/list-parameters.ts";
import type { AuthorizedView, Endpoint, RequestContext } from "./request-context.ts";

interface RouteBase extends Endpoint {
  /** Returns the detail of the problem for a method that is not in `methods`; undefined for a general text. */
  methodNotAllowedDetail?(method: string): string | undefined;
  /** Further header fields that scripts of other origins may send. */
  readonly allowedHeaders?: readonly string[];
}

/** An endpoint that needs neither a site nor a key: health, documentation. */
export interface PublicRoute extends RouteBase {
  readonly kind: "public";
  respond(context: RequestContext): MaybePromise<WireResponse>;
}

/** An endpoint of a site. It gets requests with a valid key, and an up-to-date view of their site. */
export interface SiteRoute extends RouteBase {
  readonly kind: "site";
  /** The label of GET and HEAD in the histogram of durations. Long polls and lists take long, so they have labels of their own. */
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

/** An endpoint of any kind. */
export type Route = PublicRoute | SiteRoute;

/** A request target, and its route. */
export interface RouteMatch {
  readonly target: RequestTarget;
  /** The route of the path; undefined if the path does not exist. */
  readonly route: Route | undefined;
  /** The ID of the record in the path; undefined if the path has no ID or an invalid one. */
  readonly recordIdInPath: number | undefined;
}

/** Returns an entry of the route table: a public endpoint at `path`, for GET and HEAD. */
export function publicRoute(path: string, respond: PublicRoute["respond"]): [path: string, route: PublicRoute] {
  return [path, { kind: "public", label: path, methods: ["GET", "HEAD"], respond }];
}

/** Returns an entry of the route table: an endpoint of a site at `path`. */
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
