// The client's address and network. Failed authentications are counted by network (contract section 9).

import { isIPv4, isIPv6 } from "node:net";
import type { WireRequest } from "../../wire/request.ts";

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
