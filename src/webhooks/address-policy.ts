// Decides which URLs webhooks can have, and which addresses may be behind them (contract section 12). Nothing else decides that: saving, testing and
// delivering a webhook all call `resolveAllowedUrl`.
//
// A delivery only connects to the addresses that this function returned for it, so a hostname can't point elsewhere after the check.

import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { errorMessage } from "../lib/errors-for-log.ts";
import { type IpAddress, type IpNetwork, isLoopback, isWithin, toAddress, toNetwork } from "../lib/networks.ts";
import { ProblemError } from "../model/errors.ts";
import { parseHostname } from "../model/hostname.ts";
import { type LookupAddresses, lookupAddresses } from "./name-resolver.ts";

export interface AddressPolicy {
  /** Networks that are allowed besides public ones (`--webhook-allow`). */
  readonly allow: readonly IpNetwork[];
  /** Whether URLs can point to this machine. */
  readonly isLoopbackAllowed: boolean;
  readonly lookup: LookupAddresses;
}

/**
 * For deliveries, and for the command line, which can also save URLs that point to this machine.
 * @param allow networks that are allowed besides public ones
 */
export function toDeliveryPolicy(allow: readonly IpNetwork[]): AddressPolicy {
  return { allow, isLoopbackAllowed: true, lookup: lookupAddresses };
}

/** For URLs saved in the console, which can't point to this machine. @param allow see `toDeliveryPolicy` */
export function toConsolePolicy(allow: readonly IpNetwork[]): AddressPolicy {
  return { allow, isLoopbackAllowed: false, lookup: lookupAddresses };
}

export interface ResolvedUrl {
  /** In normal form. The host doesn't end with a dot. */
  readonly url: URL;
  /** A name, or an address without brackets. */
  readonly host: string;
  /** The host's current addresses, in the order to try them. All of them are allowed. */
  readonly addresses: readonly string[];
}

const maxUrlLength = 2048;

/** The global unicast addresses (RFC 4291, section 2.4, and the IANA registry of IPv6 address space). No other IPv6 address is public. */
const globalUnicast = networks("2000::/3");

/** Globally reachable entries of the IANA special-purpose registries, inside ranges that aren't. */
const reachable = networks("192.0.0.9/32", "192.0.0.10/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128");

/** Ranges that these registries list as globally reachable, by their names in ipaddr.js. It calls addresses in no registry `unicast`. */
const reachableRanges: ReadonlySet<string> = new Set([
  "unicast",
  "as112",
  "as112v6",
  "amt",
  "orchid2",
  "droneRemoteIdProtocolEntityTags",
]);

/**
 * Checks a webhook's URL, and resolves its hostname once.
 * @throws ProblemError `bad-request` if the URL or one of its addresses isn't allowed, `unavailable` if the hostname doesn't resolve
 */
export async function resolveAllowedUrl(text: string, policy: AddressPolicy): Promise<ResolvedUrl> {
  const { url, host } = parseAllowedUrl(text, policy);
  if (toAddress(host)) return { url, host, addresses: [host] };
  const addresses = await resolve(host, policy);
  requireAllowed(host, addresses, policy);
  return { url, host, addresses };
}

/** Checks what can be checked without resolving the hostname. @throws ProblemError `bad-request` */
export function parseAllowedUrl(text: string, policy: AddressPolicy): Pick<ResolvedUrl, "url" | "host"> {
  const url = parseUrl(text);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isLoopback(host) && !policy.isLoopbackAllowed)
    throw invalidUrlError(`use a public address; ${host} points to the server's own machine`);
  if (url.protocol !== "https:" && !isLoopback(host))
    throw invalidUrlError("use https://; http:// only works for the server's own machine");
  if (toAddress(host)) requireAllowed(host, [host], policy);
  return { url, host };
}

function requireAllowed(host: string, addresses: readonly string[], policy: AddressPolicy): void {
  const own = isLoopback(host) ? undefined : ownAddresses();
  for (const address of addresses) {
    const reason = own ? findAddressError(address, policy, own) : loopbackError(address);
    if (reason)
      throw invalidUrlError(
        address === host ? `${address} ${reason}` : `${host} has the address ${address}, which ${reason}`,
      );
  }
}

/** @throws ProblemError `bad-request` */
function parseUrl(text: string): URL {
  if (text.length > maxUrlLength) throw invalidUrlError(`use ${maxUrlLength} characters or fewer`);
  if (/[\s\p{Cc}\\]/u.test(text)) throw invalidUrlError("remove spaces, control characters and backslashes");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:\/\//i.test(text)) throw invalidUrlError("use a full URL such as https://erp.example/hooks");
  if (url.username || url.password) throw invalidUrlError("remove the user name and password");
  if (url.hash || text.includes("#")) throw invalidUrlError("remove the fragment, from `#` on");
  if (url.port === "0") throw invalidUrlError("use another port; nothing can listen on port 0");
  try {
    url.hostname = parseHostname(url.hostname);
  } catch (error) {
    throw invalidUrlError(errorMessage(error));
  }
  // These names always mean this machine (RFC 6761 section 6.3), although resolvers may ask the DNS for them.
  if (url.hostname.endsWith(".localhost"))
    throw invalidUrlError(
      `${url.hostname} points to the server's own machine, for which only \`localhost\` is allowed`,
    );
  return url;
}

async function resolve(host: string, { lookup }: AddressPolicy): Promise<readonly string[]> {
  try {
    return await lookup(host);
  } catch (error) {
    throw new ProblemError("unavailable", `the hostname ${host} doesn't resolve`, { cause: error });
  }
}

/** Completes "the address …" with why nothing may be delivered to it, if it's an address of `localhost`. */
function loopbackError(text: string): string | undefined {
  const address = toAddress(text);
  const isThisMachine = address?.range() === "loopback" && innerAddress(address) === address;
  return isThisMachine ? undefined : "isn't the server's own machine";
}

/**
 * Completes "the address …" with why nothing may be delivered to it.
 * @param own this machine's addresses, which even `--webhook-allow` can't allow
 */
function findAddressError(text: string, { allow }: AddressPolicy, own: ReadonlySet<string>): string | undefined {
  const address = toAddress(text);
  if (!address) return "isn't a known kind of address";
  const inner = innerAddress(address);
  const range = inner.range();
  // An unspecified address (0.0.0.0 or ::) also connects to this machine.
  const isOwn = range === "loopback" || range === "unspecified" || own.has(inner.toString());
  if (isOwn) return "is the server's own machine";
  if (isPublic(inner) || isWithin(inner, allow) || isWithin(address, allow)) return undefined;
  // Operators read this, and so do programs with an API key, which can't change it.
  return `isn't public (${range}); only the server's operator can allow its network, with --webhook-allow`;
}

/** Of this machine's network interfaces, in the form of `toString`. */
function ownAddresses(): ReadonlySet<string> {
  const interfaces = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  return new Set(interfaces.flatMap(({ address }) => toAddress(address)?.toString() ?? []));
}

/** Whether the address is globally reachable according to the IANA special-purpose address registries (RFC 6890). */
function isPublic(address: IpAddress): boolean {
  if (isWithin(address, reachable)) return true;
  if (address.kind() === "ipv6" && !isWithin(address, globalUnicast)) return false;
  return reachableRanges.has(address.range());
}

/** Unwraps IPv4 addresses inside IPv6 ones: IPv4-mapped (RFC 4291), NAT64 (RFC 6052) and 6to4 (RFC 3056). */
function innerAddress(address: IpAddress): IpAddress {
  const bytes = address.toByteArray();
  if (isWithin(address, translated)) return new ipaddr.IPv4(bytes.slice(12));
  if (isWithin(address, sixToFour)) return new ipaddr.IPv4(bytes.slice(2, 6));
  return address;
}

const translated = networks("::ffff:0:0/96", "64:ff9b::/96");
const sixToFour = networks("2002::/16");

function networks(...texts: string[]): IpNetwork[] {
  return texts.map((text) => toNetwork(text) as IpNetwork);
}

function invalidUrlError(detail: string): ProblemError {
  return new ProblemError("bad-request", `webhook URL: ${detail}`);
}
