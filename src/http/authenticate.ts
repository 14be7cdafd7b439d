// Reads from a request the host, the API key and the client's network, and checks the key. authorizer.ts decides what follows from them.

import { isIPv4, isIPv6 } from "node:net";
import { BoundedCache } from "../lib/bounded-cache.ts";
import { hashApiKey, isKey } from "../model/api-key.ts";
import { ProblemError } from "../model/errors.ts";
import { hostnameOf } from "../model/hostname.ts";
import type { ApiKey, Site } from "../system/system-records.ts";
import type { SystemSiteIndex } from "../system/system-site-index.ts";
import type { WireRequest } from "../wire/request.ts";
import type { RequestHeaders } from "../wire/request-header.ts";
import type { KeyRejection, RequestContext } from "./request-context.ts";

/** Normalized hostnames, by host as requested. A hostname has at most 253 characters (RFC 1035 section 2.3.4), and a port at most 5. */
const hostnames = new BoundedCache(1024, 300, hostnameOf);

/**
 * Returns the requested host as the client sent it, one character per byte; empty if the request has no host (HTTP/1.0).
 * @param trustForwardedHost whether the last entry of `X-Forwarded-Host` decides, because a proxy sets it
 */
export function requestedHost({ request, target }: RequestContext, trustForwardedHost: boolean): string {
  const forwarded = trustForwardedHost ? request.headers.get("x-forwarded-host")?.split(",").at(-1)?.trim() : undefined;
  // The host of an absolute target overrides `Host` (RFC 9112 section 3.2.2).
  return forwarded || (target.host ?? request.headers.get("host") ?? "");
}

/** Returns the hostname of `host` in its normal form. @param host as `requestedHost` returns it */
export function toHostname(host: string): string {
  return hostnames.get(host);
}

/** Returns the error for a host that no site has (RFC 9110 section 15.5.20). @param host as `requestedHost` returns it */
export function unknownHostError(host: string): ProblemError {
  if (host === "") return new ProblemError("wrong-site", "the request names no host, and there is no default site");
  // Some clients send letters outside ASCII, as UTF-8.
  const name = hostnameOf(Buffer.from(host, "latin1").toString());
  return new ProblemError("wrong-site", `no site has the host \`${name.slice(0, 255).toWellFormed()}\``);
}

/**
 * Returns the request's key if it is valid for `site` now. Sets the key and the reason of a rejection in the request context, for the log.
 * @param now milliseconds since 1970
 * @throws ProblemError `unauthorized` for a key that is missing, malformed, unknown, revoked or expired, without telling the client which;
 *   `forbidden` for the key of another site
 */
export function authenticate(context: RequestContext, site: Site, index: SystemSiteIndex, now: number): ApiKey {
  const sent = context.request.headers.get("x-api-auth");
  const key = sent === null ? undefined : index.findKeyByDigest(cachedKeyDigest(context.request.headers, sent));
  context.key = key;
  if (!key || now >= key.endsAt) {
    context.keyRejection = key ? "expired or revoked" : findKeyRejection(sent);
    throw unauthorizedError(site);
  }
  if (key.siteId === site.id) return key;
  context.keyRejection = "of another site";
  throw new ProblemError("forbidden", "the API key belongs to another site");
}

/**
 * The digest of the key in each header section. Most clients repeat their header section; the wire parses it once and passes the same object again.
 * Computing a digest takes as long as the rest of the authorization. Only the digest is cached: the key is looked up for each request.
 */
const digests = new WeakMap<RequestHeaders, string>();

function cachedKeyDigest(headers: RequestHeaders, key: string): string {
  const known = digests.get(headers);
  if (known !== undefined) return known;
  const digest = hashApiKey(key);
  digests.set(headers, digest);
  return digest;
}

/** Requires that `key` may write. @throws ProblemError `forbidden` if it may only read */
export function requireWriteScope(context: RequestContext, key: ApiKey): void {
  if (key.scope === "write") return;
  context.keyRejection = "read-only";
  throw new ProblemError("forbidden", "the API key may only read: it lacks the scope `write`");
}

function findKeyRejection(sent: string | null): KeyRejection {
  if (sent === null) return "missing";
  return isKey(sent) ? "unknown" : "malformed";
}

function unauthorizedError(site: Site): ProblemError {
  return new ProblemError(
    "unauthorized",
    "send a valid API key of this site in the header X-API-AUTH: the bare key (`sfk_...`), without `Bearer` or quotes",
    { headers: { "WWW-Authenticate": `ApiKey realm="${site.name}", header="X-API-AUTH"` } },
  );
}

// The client's network. Failed authentications are counted by network (contract section 9).

/**
 * Returns the client's network: its IPv4 address, or the first 64 bits of its IPv6 address, the smallest network that a customer gets (RFC 6177
 * section 2). An IPv4-mapped address counts as the IPv4 address. If the address is unknown, returns `unknown`.
 * @param trustProxy whether the last entry of `X-Forwarded-For` is the client's address, because a proxy adds it. The entries before it could be
 *   forged. If the last entry is not an address, returns the network of the proxy.
 */
export function clientNetwork(request: WireRequest, trustProxy: boolean): string {
  const forwarded = forwardedFor(request, trustProxy);
  return (forwarded && networkOf(forwarded)) || networkOf(request.address) || "unknown";
}

/** Returns the client's address, found as in `clientNetwork`; undefined if it is unknown. */
export function clientAddress(request: WireRequest, trustProxy: boolean): string | undefined {
  const forwarded = forwardedFor(request, trustProxy);
  return (forwarded && addressIn(forwarded)) || addressIn(request.address);
}

function forwardedFor({ headers }: WireRequest, trustProxy: boolean): string | undefined {
  return trustProxy ? headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() : undefined;
}

/** Returns the network of an address with or without a port, IPv6 with or without brackets; undefined if `text` is not an address. */
export function networkOf(text: string): string | undefined {
  const address = addressIn(text);
  return address === undefined || isIPv4(address) ? address : networkOfV6(address);
}

/** Returns the address in `text`, without port, brackets and zone; undefined if `text` is not an address. */
function addressIn(text: string): string | undefined {
  const [, bracketed, v4] = /^\[([^\]]*)\](?::[0-9]+)?$|^([0-9.]+)(?::[0-9]+)?$/.exec(text) ?? [];
  const address = (bracketed ?? v4 ?? text).replace(/%.*$/, "");
  return isIPv4(address) || isIPv6(address) ? address : undefined;
}

function networkOfV6(address: string): string {
  // In the form of the URL standard, an IPv6 address has no dotted part, and at most one `::`.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical) ?? [];
  if (high !== undefined && low !== undefined) return [...bytesOf(high), ...bytesOf(low)].join(".");
  const [start = "", end] = canonical.split("::");
  const first = start === "" ? [] : start.split(":");
  const last = end ? end.split(":") : [];
  const zeros = new Array<string>(8 - first.length - last.length).fill("0");
  return `${[...first, ...zeros, ...last].slice(0, 4).join(":")}::/64`;
}

function bytesOf(group: string): [number, number] {
  const bits = Number.parseInt(group, 16);
  return [bits >> 8, bits & 0xff];
}
