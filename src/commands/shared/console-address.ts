// The address of the console, for the links that commands print.

import { toAdminText } from "../../config.ts";
import { isLoopback, toConnectableUrl } from "../../lib/networks.ts";
import { toConfig } from "./database.ts";
import { UsageError } from "./usage-error.ts";

/** Returns a sign-in link to the console. The secret is in the fragment. Browsers do not send the fragment, so no proxy or log sees the secret. */
export function signInLink(url: string, secret: string): string {
  return `${toConnectableUrl(url)}/#sign-in=${secret}`;
}

/** Returns the address of the console: `--url`, otherwise the admin address in the settings of the server. @throws UsageError */
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

/** Maximum milliseconds until a listener accepts a connection. */
const acceptTimeoutMs = 1000;

/** Connects to `url`. Returns whether something listens there. */
export async function isListening(url: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(toConnectableUrl(url));
  const host = hostname.replace(/^\[|\]$/g, "");
  const connected = Bun.connect({
    hostname: host,
    port: Number(port || (protocol === "https:" ? 443 : 80)),
    socket: { data() {}, open: (socket) => void socket.end() },
  }).then(
    () => true,
    () => false,
  );
  return Promise.race([connected, Bun.sleep(acceptTimeoutMs).then(() => false)]);
}
