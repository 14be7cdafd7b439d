// Webhook states and secrets for tests.

import type { WebhookSecret, WebhookState } from "../../../src/model/webhooks.ts";

/** The state of a webhook that has never delivered anything; by default, site 1's webhook 1. */
export function webhookState(values: Partial<WebhookState> = {}): WebhookState {
  return {
    site: 1,
    webhook: 1,
    home: "here",
    cursor: "0.0",
    epoch: "e",
    first: 0,
    last: 0,
    rewinds: 0,
    failures: 0,
    failingSince: null,
    nextAt: 0,
    holder: null,
    leaseUntil: 0,
    resumes: 0,
    since: null,
    goneAt: null,
    ...values,
  };
}

export function webhookSecret(values: Partial<WebhookSecret> = {}): WebhookSecret {
  return { secret: `whsec_${Buffer.alloc(32, 7).toString("base64")}`, createdAt: 1, until: null, ...values };
}
