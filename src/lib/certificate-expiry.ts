import { X509Certificate } from "node:crypto";

/**
 * Returns when the certificate of a server expires, in milliseconds since 1970; undefined if the certificate cannot be parsed.
 * @param chain certificates in PEM, the server's first
 */
export function certificateExpiry(chain: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(chain).validTo);
  } catch {
    return undefined;
  }
}
