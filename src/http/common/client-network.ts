import { isIPv4, isIPv6 } from "node:net";
import type { WireRequest } from "../../wire/request.ts";

/**
 * Returns the client's network, by which failed authentications and single sign-ons are limited (contract sections 9 and 13): its IPv4 address, or the first
 * 64 bits of its IPv6 address, the smallest network a customer gets (RFC 6177 section 2). An IPv4-mapped address counts as IPv4. Returns `unknown` without an
 * address.
 * @param trustProxy whether a proxy adds the client's address to `X-Forwarded-For` as the last entry; earlier ones could be forged. If it isn't an address,
 *   returns the proxy's network
 */
export function clientNetwork(request: WireRequest, trustProxy: boolean): string {
  const forwarded = forwardedFor(request, trustProxy);
  return (forwarded && networkOf(forwarded)) || networkOf(request.address) || "unknown";
}

/**
 * Finds the client's address as `clientNetwork` does, but returns undefined if the proxy's entry isn't an address, because a key's networks may include the
 * proxy itself.
 */
export function clientAddress(request: WireRequest, trustProxy: boolean): string | undefined {
  const forwarded = forwardedFor(request, trustProxy);
  return addressIn(forwarded ?? request.address);
}

/** What the proxy says, which may be anything. Undefined without a trusted proxy, or if it says nothing. */
export function forwardedFor({ headers }: WireRequest, trustProxy: boolean): string | undefined {
  return trustProxy ? headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() : undefined;
}

/** @param text an address, with or without port and brackets @returns undefined if it isn't one */
export function networkOf(text: string): string | undefined {
  const address = addressIn(text);
  return address === undefined || isIPv4(address) ? address : networkOfV6(address);
}

/** Strips port, brackets and zone; undefined if `text` isn't an address. */
function addressIn(text: string): string | undefined {
  const [, bracketed, v4] = /^\[([^\]]*)\](?::[0-9]+)?$|^([0-9.]+)(?::[0-9]+)?$/.exec(text) ?? [];
  const address = (bracketed ?? v4 ?? text).replace(/%.*$/, "");
  return isIPv4(address) || isIPv6(address) ? address : undefined;
}

function networkOfV6(address: string): string {
  // The URL standard writes IPv6 without a dotted part, and with one `::` at most.
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
