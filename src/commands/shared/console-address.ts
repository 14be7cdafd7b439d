// Finds the console's address, for the links that commands print.

import { toAdminText } from "../../config.ts";
import { isLoopback, toConnectableUrl } from "../../lib/networks.ts";
import { toConfig } from "./database.ts";
import { UsageError } from "./usage-error.ts";

/** The secret goes into the fragment, which browsers don't send, so no proxy or log sees it. */
export function signInLink(url: string, secret: string): string {
  return `${toConnectableUrl(url)}/#sign-in=${secret}`;
}

/** Returns `--url`, or else the console's address from the server's settings. @throws UsageError */
export function consoleUrl(given: string | undefined): string {
  if (given !== undefined) {
    const url = URL.parse(given);
    if (url && /^https?:$/.test(url.protocol) && url.pathname === "/" && !url.search && !url.hash && !url.username)
      return url.origin;
    throw new UsageError(
      `invalid --url \`${given}\`: use the console's address without a path, such as https://console.example`,
    );
  }
  const { admin, adminUrl, tls } = toConfig();
  if (adminUrl !== undefined) return adminUrl;
  if (!admin) throw new UsageError("STOREFRONT_ADMIN is none, so there's no console here; pass its URL with --url");
  return `${tls && !isLoopback(admin.host) ? "https" : "http"}://${toAdminText(admin)}`;
}

/** How long a listener has to accept a connection. */
const acceptTimeoutMs = 1000;

/** Tries to connect to `url`. */
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
