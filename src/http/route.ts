// Routes: the methods of an endpoint, and the function that responds. And request targets, which lead to a route.

import type { Format } from "../formats/format.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Resource } from "../model/resource.ts";
import type { WireResponse } from "../wire/response.ts";
import type { AuthorizedView } from "./authorizer.ts";
import type { RequestContext } from "./handler.ts";

interface RouteBase {
  /** The name of the endpoint in the metrics and the log: its path, with `{id}` for an ID. Never a text that a client has chosen. */
  readonly label: string;
  /** All methods, in the order of `Allow`. */
  readonly methods: readonly string[];
  /** Returns the detail of the problem for a method that is not in `methods`; undefined for a general text. */
  methodNotAllowedDetail?(method: string): string | undefined;
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
}

/** An endpoint of any kind. */
export type Route = PublicRoute | SiteRoute;

/** The path before the name of a resource. */
export const basePath = "/restapi/";

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

/** A parsed request target. */
export interface RequestTarget {
  readonly path: string;
  /** The query after the `?`; empty if the target has none. */
  readonly query: string;
  /** The authority of an absolute URL, as sent; undefined if the target is a path. */
  readonly host?: string;
}

/** A path with or without a query, in characters that the URL standard does not change. */
const plain = /^\/(?!\/)[!-"$-;=?-[\]^-_a-z|~]*$/;
/** The beginning of a segment that may be `.` or `..`. */
const dot = /\/(?:\.|%2e)/i;
/**
 * A path with a segment `.` or `..`. The URL standard resolves such a segment, a proxy may not. A path that a proxy and this server read differently
 * could bypass the rules of the proxy.
 */
const dots = /^[^?#]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/** The authority of an absolute URL. Like `Host`, it is not decoded, so that a proxy and the server see the same host. */
const authority = /^https?:\/\/([^/?]+)/i;

/** A path or an absolute URL without characters that the URL standard reinterprets: `\` as `/`, and `#` as the end. */
const readable = /^(?:\/|https?:\/\/[^/?#@\\]+(?=[/?]|$))[^\\?#]*(?:\?[^#]*)?$/i;

/**
 * Parses a request target (RFC 9112 section 3.2). A target that is neither a path nor an absolute URL, or that has a dot segment, becomes a path that
 * does not exist.
 * @param sent the target as sent, one character per byte
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
