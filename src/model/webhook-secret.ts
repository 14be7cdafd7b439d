import { randomBytes } from "node:crypto";

const mark = "whsec_";
const length = 32;

/** A new secret, as Standard Webhooks 1.0 has them: `whsec_` and 32 random bytes in base64. */
export function makeWebhookSecret(): string {
  return mark + randomBytes(length).toString("base64");
}

/** Whether `text` is a secret in exactly this form. */
export function isWebhookSecret(text: string): boolean {
  const bytes = Buffer.from(text.slice(mark.length), "base64");
  return bytes.length === length && text === mark + bytes.toString("base64");
}
