import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** Puts an IPv6 address in brackets, as URLs need it. */
export function toUrlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** The first address of an IPv4 or IPv6 range, and how many leading bits all its addresses share. */
export type IpNetwork = readonly [IpAddress, number];

/** Parses IPv4 as four decimal numbers, or IPv6 without a zone. Returns undefined for anything else. */
export function toAddress(text: string): IpAddress | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  // `URL` makes the address canonical first; the library alone would read ::192.0.2.1 as ::ffff:192.0.2.1.
  const [, canonical = ""] = /^\[(.*)\]$/.exec(URL.parse(`http://[${text}]/`)?.hostname ?? "") ?? [];
  return canonical === "" ? undefined : ipaddr.IPv6.parse(canonical);
}

/** Parses CIDR notation (RFC 4632 section 3.1), such as `10.0.0.0/8`. Returns undefined for anything else, or if host bits are set. */
export function toNetwork(text: string): IpNetwork | undefined {
  const [, first = "", digits = ""] = /^([^/]+)\/(0|[1-9][0-9]{0,2})$/.exec(text) ?? [];
  const address = toAddress(first);
  const bits = Number(digits);
  if (!address || bits > address.toByteArray().length * 8) return undefined;
  const { IPv4, IPv6 } = ipaddr;
  const begin = (address.kind() === "ipv4" ? IPv4 : IPv6).networkAddressFromCIDR(`${address}/${bits}`);
  return begin.toString() === address.toString() ? [address, bits] : undefined;
}

/**
 * Puts a network into its canonical form. A single address becomes a network of its own, and IPv4-mapped addresses (RFC 4291 section 2.5.5.2) become IPv4.
 * Returns undefined if `text` is neither; otherwise the network, and whether it had no host bits that had to be cleared.
 */
export function toCanonicalNetwork(text: string): { readonly network: string; readonly isExact: boolean } | undefined {
  const [, first = "", digits] = /^([^/]+)(?:\/(0|[1-9][0-9]{0,2}))?$/.exec(text) ?? [];
  const address = toAddress(first);
  const maxBits = (address?.toByteArray().length ?? 0) * 8;
  const sentBits = digits === undefined ? maxBits : Number(digits);
  if (!address || sentBits > maxBits) return undefined;
  const isMapped = sentBits >= 96 && unmapped(address) !== address;
  const [own, bits] = isMapped ? [unmapped(address), sentBits - 96] : [address, sentBits];
  const { IPv4, IPv6 } = ipaddr;
  const begin = (own.kind() === "ipv4" ? IPv4 : IPv6).networkAddressFromCIDR(`${own}/${bits}`);
  return { network: `${begin}/${bits}`, isExact: begin.toString() === own.toString() };
}

/** Turns an IPv4-mapped address into the IPv4 address. */
export function unmapped(address: IpAddress): IpAddress {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

export function isWithin(address: IpAddress, networks: readonly IpNetwork[]): boolean {
  return networks.some(([first, bits]) => first.kind() === address.kind() && address.match(first, bits));
}

/** Whether only this machine can reach the host: `localhost`, an address of 127.0.0.0/8, or ::1 with or without brackets. */
export function isLoopback(host: string): boolean {
  return ["localhost", "::1", "[::1]"].includes(host) || (isIPv4(host) && host.startsWith("127."));
}

/** Returns a listener's URL as programs on this machine can use it: 0.0.0.0 and [::], which mean all addresses, become loopback. */
export function toConnectableUrl(url: string): string {
  return url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
}
