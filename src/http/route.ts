// A route: an endpoint's methods and the function that responds.

import type { Format } from "../formats/format.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Resource } from "../model/resource.ts";
import type { FreshSite } from "../store/reads/site-views.ts";
import type { WireResponse } from "../wire/response.ts";
import type { Key } from "./directory.ts";
import type { Exchange } from "./handler.ts";

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

/** A request target: its path, the query after the `?`, and the authority of an absolute target, as it was sent. */
export interface RequestTarget {
  readonly path: string;
  readonly query: string;
  readonly host?: string;
}

/** A path with a query that the URL standard does not change. */
const plain = /^\/(?!\/)[!-"$-;=?-[\]^-_a-z|~]*$/;
/** What a segment `.` or `..` begins with. */
const dot = /\/(?:\.|%2e)/i;
/**
 * A path with a segment `.` or `..`. The URL standard resolves it; a proxy may or may not. A path that the two read differently could
 * bypass the rules of the proxy.
 */
const dots = /^[^?#]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/** The authority of an absolute URL. It is not decoded, as `Host` is not, so that a proxy and the server see the same host. */
const authority = /^https?:\/\/([^/?]+)/i;

/** A path or an absolute URL without characters that the URL standard reinterprets: `\` as `/`, and `#` as the end. */
const readable = /^(?:\/|https?:\/\/[^/?#@\\]+(?=[/?]|$))[^\\?#]*(?:\?[^#]*)?$/i;

/**
 * Splits a request target (RFC 9112 section 3.2). One that is neither a path nor an absolute URL, or has a dot segment, becomes a path
 * that does not exist.
 * @param sent one character per byte
 */
export function toTarget(sent: string): RequestTarget {
  if (plain.test(sent) && !dot.test(sent)) return split(sent);
  if (dots.test(sent)) return { path: Buffer.from(sent, "latin1").toString(), query: "" };
  const text = Buffer.from(sent, "latin1").toString();
  const url = readable.test(text) ? URL.parse(text.startsWith("/") ? `http://unknown${text}` : text) : null;
  if (!url) return { path: text, query: "" };
  const target = split(url.pathname + url.search);
  const [, host] = authority.exec(sent) ?? [];
  return host === undefined ? target : { ...target, host };
}

function split(text: string): RequestTarget {
  const mark = text.indexOf("?");
  return mark === -1 ? { path: text, query: "" } : { path: text.slice(0, mark), query: text.slice(mark + 1) };
}
