import { X509Certificate } from "node:crypto";

/**
 * Returns when a server's certificate expires, in milliseconds since 1970; undefined if it can't be parsed.
 * @param chain PEM certificates, the server's first
 */
export function certificateExpiry(chain: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(chain).validTo);
  } catch {
    return undefined;
  }
}
