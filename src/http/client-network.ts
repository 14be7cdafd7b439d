// The network that a request comes from, by which failed authentications are counted (contract section 9).

import { isIPv4, isIPv6 } from "node:net";
import type { WireRequest } from "../wire/request.ts";

/**
 * The client's network: its IPv4 address, or the first 64 bits of its IPv6 address, the least that a customer gets (RFC 6177
 * section 2). An IPv4-mapped address is the IPv4 address.
 * @param trustProxy whether the last entry of `X-Forwarded-For` is the client's address, because a proxy adds it. Clients choose the
 *   entries before it. If it is not an address, the network is the proxy's.
 */
export function clientNetwork(request: WireRequest, trustProxy: boolean): string {
  const forwarded = forwardedFor(request, trustProxy);
  return (forwarded && networkOf(forwarded)) || networkOf(request.address) || "unknown";
}

/** The client's address, as `clientNetwork` finds it; undefined when it is not known. */
export function clientAddress(request: WireRequest, trustProxy: boolean): string | undefined {
  const forwarded = forwardedFor(request, trustProxy);
  return (forwarded && addressIn(forwarded)) || addressIn(request.address);
}

function forwardedFor({ headers }: WireRequest, trustProxy: boolean): string | undefined {
  return trustProxy ? headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() : undefined;
}

/** The network of an address with or without a port, IPv6 with or without brackets; undefined when it is not an address. */
export function networkOf(text: string): string | undefined {
  const address = addressIn(text);
  return address === undefined || isIPv4(address) ? address : networkOfV6(address);
}

/** The address alone; undefined when there is none. */
function addressIn(text: string): string | undefined {
  const [, bracketed, v4] = /^\[([^\]]*)\](?::[0-9]+)?$|^([0-9.]+)(?::[0-9]+)?$/.exec(text) ?? [];
  const address = (bracketed ?? v4 ?? text).replace(/%.*$/, "");
  return isIPv4(address) || isIPv6(address) ? address : undefined;
}

function networkOfV6(address: string): string {
  // The URL standard's form has no dotted part, and at most one `::`.
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
