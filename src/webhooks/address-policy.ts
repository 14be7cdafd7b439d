// Decides where webhooks may lead: which URLs are allowed, and which addresses behind them (contract section 12). This is the only place that decides
// it: saving, testing and delivering a webhook all call `resolveAllowedUrl`.
//
// A delivery connects only to the addresses that this function returned for it. So a name cannot lead to another address after the check.

import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { errorMessage } from "../lib/errors-for-log.ts";
import { type IpAddress, type IpNetwork, isLoopback, isWithin, toAddress, toNetwork } from "../lib/networks.ts";
import { ProblemError } from "../model/errors.ts";
import { parseHostname } from "../model/hostname.ts";
import { type LookupAddresses, lookupAddresses } from "./name-resolver.ts";

export interface AddressPolicy {
  /** Networks that are allowed although they are not public: the value of `--webhook-allow`. */
  readonly allow: readonly IpNetwork[];
  /** Whether the URL may name this machine. */
  readonly isLoopbackAllowed: boolean;
  readonly lookup: LookupAddresses;
}

/**
 * Returns the policy of deliveries and of the command line, which may also save URLs of this machine.
 * @param allow networks that are allowed although they are not public
 */
export function toDeliveryPolicy(allow: readonly IpNetwork[]): AddressPolicy {
  return { allow, isLoopbackAllowed: true, lookup: lookupAddresses };
}

/** Returns the policy for URLs that the console saves. They may not name this machine. @param allow as of `toDeliveryPolicy` */
export function toConsolePolicy(allow: readonly IpNetwork[]): AddressPolicy {
  return { allow, isLoopbackAllowed: false, lookup: lookupAddresses };
}

/** The URL of a webhook, and the addresses that its host has at the moment. */
export interface ResolvedUrl {
  /** The URL in its normal form. Its host does not end with a dot. */
  readonly url: URL;
  /** The host: a name, or an address without brackets. */
  readonly host: string;
  /** All addresses of the host, in the order in which they should be used. All of them are allowed. */
  readonly addresses: readonly string[];
}

const maxUrlLength = 2048;

/** The global unicast addresses (RFC 4291, section 2.4, and the IANA registry of IPv6 address space). No other IPv6 address is public. */
const globalUnicast = networks("2000::/3");

/** Entries of the IANA special-purpose registries that are globally reachable, inside ranges that are not. */
const reachable = networks("192.0.0.9/32", "192.0.0.10/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128");

/**
 * Ranges, by the names of ipaddr.js, that these registries list as globally reachable; and `unicast`, its name for addresses that no registry lists.
 */
const reachableRanges: ReadonlySet<string> = new Set([
  "unicast",
  "as112",
  "as112v6",
  "amt",
  "orchid2",
  "droneRemoteIdProtocolEntityTags",
]);

/**
 * Checks the URL of a webhook, and resolves its hostname once.
 * @throws ProblemError `bad-request` if the URL or one of its addresses is not allowed, `unavailable` if the name cannot be resolved
 */
export async function resolveAllowedUrl(text: string, policy: AddressPolicy): Promise<ResolvedUrl> {
  const url = parseUrl(text);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isLoopbackHost = isLoopback(host);
  if (isLoopbackHost && !policy.isLoopbackAllowed) throw invalidUrlError(`${host} is this machine`);
  if (url.protocol !== "https:" && !isLoopbackHost)
    throw invalidUrlError("a URL that does not lead to this machine must begin with https://");
  const addresses = toAddress(host) ? [host] : await resolve(host, policy);
  const own = ownAddresses();
  for (const address of addresses) {
    const reason = isLoopbackHost ? loopbackError(address) : findAddressError(address, policy, own);
    if (reason) throw invalidUrlError(address === host ? reason : `${host} has the address ${reason}`);
  }
  return { url, host, addresses };
}

/** @throws ProblemError `bad-request` */
function parseUrl(text: string): URL {
  if (text.length > maxUrlLength) throw invalidUrlError(`the URL is longer than ${maxUrlLength} characters`);
  if (/[\s\p{Cc}\\]/u.test(text)) throw invalidUrlError("the URL contains a space, a control character or a backslash");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:\/\//i.test(text)) throw invalidUrlError("it must be a URL such as https://erp.example/hooks");
  if (url.username || url.password) throw invalidUrlError("the URL must not contain a user name or a password");
  if (url.hash || text.includes("#")) throw invalidUrlError("the URL must not contain a fragment (`#`)");
  if (url.port === "0") throw invalidUrlError("port 0 cannot be connected to");
  try {
    url.hostname = parseHostname(url.hostname);
  } catch (error) {
    throw invalidUrlError(errorMessage(error));
  }
  // Resolvers may ask the DNS for these names, but they always mean this machine (RFC 6761 section 6.3).
  if (url.hostname.endsWith(".localhost"))
    throw invalidUrlError(`${url.hostname} is this machine, which only \`localhost\` may name`);
  return url;
}

async function resolve(host: string, { lookup }: AddressPolicy): Promise<readonly string[]> {
  try {
    return await lookup(host);
  } catch (error) {
    throw new ProblemError("unavailable", `the name ${host} cannot be resolved`, { cause: error });
  }
}

/** Returns why nothing may be delivered to this address of `localhost`, or undefined if it is allowed. */
function loopbackError(text: string): string | undefined {
  const address = toAddress(text);
  const isThisMachine = address?.range() === "loopback" && innerAddress(address) === address;
  return isThisMachine ? undefined : `${text}, which is not this machine`;
}

/**
 * Returns why nothing may be delivered to the address, or undefined if it is allowed.
 * @param own the addresses of this machine, which `--webhook-allow` cannot allow
 */
function findAddressError(text: string, { allow }: AddressPolicy, own: ReadonlySet<string>): string | undefined {
  const address = toAddress(text);
  if (!address) return `${text}, which cannot be judged`;
  const inner = innerAddress(address);
  const range = inner.range();
  // Connections to an unspecified address (0.0.0.0 or ::) reach this machine, too.
  const isOwn = range === "loopback" || range === "unspecified" || own.has(inner.toString());
  if (isOwn) return `${text}, which is this machine`;
  if (isPublic(inner) || isWithin(inner, allow) || isWithin(address, allow)) return undefined;
  return `${text}, which is not public (${range}); --webhook-allow allows other networks`;
}

/** Returns the present addresses of this machine's network interfaces, in the form of `toString`. */
function ownAddresses(): ReadonlySet<string> {
  const interfaces = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  return new Set(interfaces.flatMap(({ address }) => toAddress(address)?.toString() ?? []));
}

/** Whether the address is globally reachable by the IANA special-purpose address registries (RFC 6890). */
function isPublic(address: IpAddress): boolean {
  if (isWithin(address, reachable)) return true;
  if (address.kind() === "ipv6" && !isWithin(address, globalUnicast)) return false;
  return reachableRanges.has(address.range());
}

/**
 * Returns the IPv4 address that an IPv6 address leads to: IPv4-mapped (RFC 4291), NAT64 (RFC 6052) or 6to4 (RFC 3056). Returns any other address
 * unchanged.
 */
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
