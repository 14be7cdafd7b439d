// The normal form of hostnames, in which we compare sites and requests: lower case, without a port or trailing dot. Internationalized names are in
// ASCII (`xn--...`), IPv6 addresses canonical and in brackets.

import { isIPv4, isIPv6 } from "node:net";
import { domainToASCII } from "node:url";
import { fault, invalidRecordError } from "./errors.ts";

/** Maximum length of a name without its trailing dot, and of a label (RFC 1035 section 2.3.4). */
const maxNameLength = 253;
const maxLabelLength = 63;

/**
 * Returns the normal form of an authority without user information (RFC 3986 section 3.2), such as a `Host` header. Never throws: an invalid host is
 * returned in lower case and matches no site.
 */
export function hostnameOf(authority: string): string {
  const [address] = /^\[.*\]/.exec(authority) ?? [];
  if (address) return URL.parse(`http://${address}/`)?.hostname ?? address.toLowerCase();
  const [host] = authority.split(":", 1);
  return withoutTrailingDot(host || authority).toLowerCase();
}

/**
 * Returns the normal form of a hostname or IP address entered by an operator. IPv6 addresses don't need brackets.
 * @throws ProblemError `invalid-record` with the reason and, if we can guess it, the hostname that was meant
 */
export function parseHostname(text: string): string {
  const fault = describeFormError(text);
  if (fault) throw invalidHostname(text, fault);
  if (isAddressV6(text)) return parseAddressV6(text);
  const name = withoutTrailingDot(toAscii(text));
  if (isIPv4(name)) return name;
  const wrong = describeNameError(name);
  if (wrong) throw invalidHostname(text, wrong);
  return name;
}

/** Returns why `text` can't be a single hostname (a URL, a pattern, several names); undefined if it may be one. */
function describeFormError(text: string): string | undefined {
  if (text === "") return "it is empty";
  if (/\s/u.test(text)) return "it contains a space; give one hostname at a time";
  if (text.includes("*")) return "wildcards aren't supported; list each hostname, or make the site the default site";
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return `it is a URL; give only the hostname${hint(URL.parse(text)?.host)}`;
  if (/[/?#]/.test(text)) return `it has a path; give only the hostname${hint(text.split(/[/?#]/, 1)[0])}`;
  const port = /^(\[.*\]|[^:]*):[0-9]*$/.exec(text);
  if (port) return `it has a port; give only the hostname${hint(port[1])}`;
  return undefined;
}

function hint(meant: string | undefined): string {
  return meant ? `, \`${hostnameOf(meant)}\`` : "";
}

function isAddressV6(text: string): boolean {
  return text.startsWith("[") || text.split(":").length > 2;
}

function parseAddressV6(text: string): string {
  const address = text.replace(/^\[(.*)\]$/, "$1");
  if (address.includes("%"))
    throw invalidHostname(text, "it's an address with a zone, which only works on one machine");
  if (!isIPv6(address)) throw invalidHostname(text, "it isn't an IPv6 address");
  return hostnameOf(`[${address}]`);
}

/** Returns the name as clients send it (UTS 46, as in browsers). ASCII names without `xn--` are just lower-cased. */
function toAscii(text: string): string {
  const lower = text.toLowerCase();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
  if (/^[\u0000-\u007f]*$/.test(lower) && !/(?:^|\.)xn--/.test(lower)) return lower;
  const ascii = domainToASCII(lower);
  if (ascii === "") throw invalidHostname(text, "it isn't a valid internationalized name (RFC 5891)");
  return ascii;
}

/** Returns what's wrong with an ASCII name, by RFC 1123 section 2.1 plus underscores, which are in use; undefined if it's valid. */
function describeNameError(name: string): string | undefined {
  const unfit = /[^a-z0-9._-]/.exec(name);
  if (unfit)
    return `it contains ${JSON.stringify(unfit[0])}; letters, digits, hyphens, underscores and dots are allowed`;
  if (name.length > maxNameLength) return `it has ${name.length} characters; at most ${maxNameLength} are allowed`;
  const labels = name.split(".");
  if (labels.includes("")) return "it has a dot too many";
  const long = labels.find((label) => label.length > maxLabelLength);
  if (long) return `its part \`${long}\` has ${long.length} characters; at most ${maxLabelLength} are allowed`;
  const hyphened = labels.find((label) => label.startsWith("-") || label.endsWith("-"));
  if (hyphened) return `its part \`${hyphened}\` starts or ends with a hyphen`;
  // Clients would take such a name for an IPv4 address (URL Standard, "ends in a number").
  if (/^(?:[0-9]+|0x[0-9a-f]*)$/.test(labels.at(-1) as string)) return "it ends in a number but isn't an IPv4 address";
  return undefined;
}

function withoutTrailingDot(name: string): string {
  return name.endsWith(".") ? name.slice(0, -1) : name;
}

function invalidHostname(text: string, why: string) {
  return invalidRecordError([
    { field: "Hostnames", ...fault("invalid-hostname", ` ${JSON.stringify(text.slice(0, 300))}: ${why}`) },
  ]);
}
