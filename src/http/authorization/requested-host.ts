import { BoundedCache } from "../../lib/bounded-cache.ts";
import { ProblemError } from "../../model/errors.ts";
import { hostnameOf } from "../../model/hostname.ts";
import type { RequestContext } from "../request-context.ts";

/** Normalized hostnames by requested host. A hostname has at most 253 characters (RFC 1035 section 2.3.4), and a port 5. */
const hostnames = new BoundedCache(1024, 300, hostnameOf);

/**
 * Returns the host as the client sent it, one character per byte; empty if there is none (HTTP/1.0).
 * @param trustForwardedHost whether a proxy adds the host to `X-Forwarded-Host`, so that its last entry decides
 */
export function requestedHost({ request, target }: RequestContext, trustForwardedHost: boolean): string {
  const forwarded = trustForwardedHost ? request.headers.get("x-forwarded-host")?.split(",").at(-1)?.trim() : undefined;
  // The host of an absolute target overrides `Host` (RFC 9112 section 3.2.2).
  return forwarded || (target.host ?? request.headers.get("host") ?? "");
}

/** Normalizes what `requestedHost` returned. */
export function toHostname(host: string): string {
  return hostnames.get(host);
}

/** See RFC 9110 section 15.5.20. @param host as `requestedHost` returns it */
export function unknownHostError(host: string): ProblemError {
  if (host === "") return new ProblemError("wrong-site", "the request has no host, and there's no default site");
  // Some clients send non-ASCII letters, as UTF-8.
  const name = hostnameOf(Buffer.from(host, "latin1").toString());
  return new ProblemError("wrong-site", `no site has the host \`${name.slice(0, 255).toWellFormed()}\``);
}
