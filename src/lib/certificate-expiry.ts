import { X509Certificate } from "node:crypto";

/**
 * When the certificate of a server expires, in milliseconds since 1970; undefined if it cannot be read.
 * @param chain PEM; the first certificate is the server's
 */
export function certificateExpiry(chain: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(chain).validTo);
  } catch {
    return undefined;
  }
}
