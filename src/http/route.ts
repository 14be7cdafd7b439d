// A route: an endpoint's methods and the function that responds.

import type { Format } from "../formats/format.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Resource } from "../model/resource.ts";
import type { FreshSite } from "../store/snapshots.ts";
import type { WireResponse } from "../wire/response.ts";
import type { Key } from "./directory.ts";
import type { Exchange } from "./exchange.ts";

interface RouteBase {
  /** The endpoint in the metrics and the log: its path, with `{id}` for an ID. Never a text that a client chooses. */
  readonly label: string;
  /** In the order of `Allow`. */
  readonly methods: readonly string[];
  /** The detail of the problem for a method that is not among `methods`; undefined for a general text. */
  whyNot?(method: string): string | undefined;
}

/** An endpoint without a site and a key: health, documentation. */
export interface PublicRoute extends RouteBase {
  readonly kind: "public";
  respond(exchange: Exchange): MaybePromise<WireResponse>;
}

/** An endpoint of a site. It receives requests with a valid key, and the site, as new as the store. */
export interface SiteRoute extends RouteBase {
  readonly kind: "site";
  /** What GET does here, in the histogram of durations. Those that wait, or take long, have a name of their own. */
  readonly reading: string;
  respond(exchange: Exchange, key: Key, fresh: FreshSite): MaybePromise<WireResponse>;
}

/** All records of a resource in a format, or one of them. */
export interface ResourceRoute extends SiteRoute {
  readonly isList: boolean;
  readonly resource: Resource;
  readonly format: Format;
}

export type Route = PublicRoute | SiteRoute;

/** The path before the name of a resource. */
export const basePath = "/restapi/";

/** A public endpoint at `path`, for GET and HEAD. */
export function publicRoute(path: string, respond: PublicRoute["respond"]): [path: string, route: PublicRoute] {
  return [path, { kind: "public", label: path, methods: ["GET", "HEAD"], respond }];
}

/** An endpoint of a site at `path`. */
export function siteRoute<T extends Omit<SiteRoute, "kind" | "label">>(
  path: string,
  route: T,
): [path: string, route: T & Pick<SiteRoute, "kind" | "label">] {
  return [path, { ...route, kind: "site", label: path }];
}

/** The part of a record's path in the place of the ID. It may be invalid. */
export function idIn(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1, path.lastIndexOf("."));
}
