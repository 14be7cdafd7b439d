import { randomText } from "../lib/base62.ts";
import type { IpNetwork } from "../lib/networks.ts";
import { Refusal } from "../model/errors.ts";
import type { WebhookAttempt, WebhookKey, WebhookStore } from "../model/webhooks.ts";
import { toDelivery, validSecrets } from "./attempt.ts";
import { testEvent } from "./event.ts";
import { lookupAddresses } from "./resolver.ts";
import { send } from "./send.ts";

interface TestedWebhook extends WebhookKey {
  readonly siteName: string;
  readonly url: string;
}

type TestStore = Pick<WebhookStore, "webhookStates" | "webhookSecrets" | "addWebhookAttempt">;

/**
 * Sends `storefront.test` once, whether or not the webhook is paused, and stores the attempt. The cursor stays where it is.
 * @param allow networks that are allowed although they are not public
 * @throws Refusal `not-found` when the webhook has no state
 */
export async function deliverTest(
  store: TestStore,
  webhook: TestedWebhook,
  allow: readonly IpNetwork[],
): Promise<WebhookAttempt> {
  const [state] = await store.webhookStates([webhook]);
  if (!state) throw new Refusal("not-found", `the webhook ${webhook.webhook} is incomplete`);
  const at = Date.now();
  const secrets = validSecrets(await store.webhookSecrets(webhook), at);
  const event = testEvent(state, webhook.siteName, randomText(8), at);
  const policy = { allow, isLoopbackAllowed: true, lookup: lookupAddresses };
  const begun = performance.now();
  const { status, fault } = await send(
    toDelivery(webhook.url, event, at, secrets),
    policy,
    new AbortController().signal,
  );
  const attempt = { at, status, milliseconds: Math.round(performance.now() - begun), fault };
  await store.addWebhookAttempt(webhook, attempt);
  return attempt;
}
