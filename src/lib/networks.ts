import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** A range of IPv4 or IPv6 addresses: the first address, and how many leading bits all have in common. */
export type IpNetwork = readonly [IpAddress, number];

/** The address that `text` is: IPv4 with four decimal numbers, or IPv6 without a zone. Undefined for any other text. */
export function toAddress(text: string): IpAddress | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  // The library takes ::192.0.2.1 for ::ffff:192.0.2.1.
  const [, canonical = ""] = /^\[(.*)\]$/.exec(URL.parse(`http://[${text}]/`)?.hostname ?? "") ?? [];
  return canonical === "" ? undefined : ipaddr.IPv6.parse(canonical);
}

/** The network in CIDR notation (RFC 4632, section 3.1), such as `10.0.0.0/8`. Undefined for any other text, also one with bits beyond the prefix. */
export function toNetwork(text: string): IpNetwork | undefined {
  const [, first = "", digits = ""] = /^([^/]+)\/(0|[1-9][0-9]{0,2})$/.exec(text) ?? [];
  const address = toAddress(first);
  const bits = Number(digits);
  if (!address || bits > address.toByteArray().length * 8) return undefined;
  const { IPv4, IPv6 } = ipaddr;
  const begin = (address.kind() === "ipv4" ? IPv4 : IPv6).networkAddressFromCIDR(`${address}/${bits}`);
  return begin.toString() === address.toString() ? [address, bits] : undefined;
}

/** Whether one of `networks` contains `address`. */
export function isWithin(address: IpAddress, networks: readonly IpNetwork[]): boolean {
  return networks.some(([first, bits]) => first.kind() === address.kind() && address.match(first, bits));
}

// Addresses of this machine.

/** Whether only this machine can reach the host: `localhost`, an address of 127.0.0.0/8, or ::1 with or without brackets. */
export function isLoopback(host: string): boolean {
  return ["localhost", "::1", "[::1]"].includes(host) || (isIPv4(host) && host.startsWith("127."));
}

/** The URL of a listener as a program on this machine can use it: an address that stands for all addresses is none to connect to. */
export function toReachable(url: string): string {
  return url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
}
