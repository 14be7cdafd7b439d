// Signatures of deliveries: Standard Webhooks 1.0.

import { createHmac } from "node:crypto";

/** What a secret begins with; base64 follows. */
const secretPrefix = "whsec_";

/**
 * The header fields of a delivery: its ID, the time of the attempt, and a signature for each secret.
 * @param at milliseconds since 1970
 * @param secrets `whsec_` and base64
 */
export function signatureHeaders(id: string, at: number, body: string, secrets: readonly string[]) {
  const timestamp = String(Math.floor(at / 1000));
  const content = `${id}.${timestamp}.${body}`;
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": secrets.map((secret) => `v1,${sign(content, secret)}`).join(" "),
  };
}

function sign(content: string, secret: string): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  return createHmac("sha256", key).update(content).digest("base64");
}
