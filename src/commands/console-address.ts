// Where the console is, for the links that commands print.

import { toAdminText } from "../config.ts";
import { isLoopback, toReachable } from "../lib/loopback.ts";
import { toConfig, UsageError } from "./common.ts";
import { commandLine } from "./shell.ts";

/** A link to the console. The secret is in the fragment, which browsers do not send: a proxy or a log cannot have it. */
export function signInLink(url: string, secret: string): string {
  return `${toReachable(url)}/#sign-in=${secret}`;
}

/** The address of the console, as `--url` or the settings of the server give it. @throws UsageError */
export function consoleUrl(given: string | undefined): string {
  if (given !== undefined) {
    const url = URL.parse(given);
    if (url && /^https?:$/.test(url.protocol) && url.pathname === "/" && !url.search && !url.hash && !url.username)
      return url.origin;
    throw new UsageError(`invalid --url \`${given}\`: it is an address such as https://console.example`);
  }
  const { admin, tls } = toConfig();
  if (!admin) throw new UsageError("STOREFRONT_ADMIN is none, so there is no console; name its address with --url");
  return `${tls && !isLoopback(admin.host) ? "https" : "http"}://${toAdminText(admin)}`;
}

/** The line that prints a link to the console at `url`. @param database the value of `--database`; undefined without that option */
export function linkLine(name: string, url: string, database: string | undefined): string {
  return commandLine(["operator", "link", name, ...(isDefault(url) ? [] : ["--url", toReachable(url)])], database);
}

/** Whether a command finds this address by itself. */
function isDefault(url: string): boolean {
  try {
    return consoleUrl(undefined) === url;
  } catch {
    return false;
  }
}

/** Milliseconds that a listener has to accept a connection. */
const acceptTime = 1000;

/** Whether something listens at an address. */
export async function isListening(url: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(toReachable(url));
  const host = hostname.replace(/^\[|\]$/g, "");
  const connected = Bun.connect({
    hostname: host,
    port: Number(port || (protocol === "https:" ? 443 : 80)),
    socket: { data() {}, open: (socket) => void socket.end() },
  }).then(
    () => true,
    () => false,
  );
  return Promise.race([connected, Bun.sleep(acceptTime).then(() => false)]);
}
