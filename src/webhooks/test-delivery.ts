// The test delivery of `webhook test`.

import type { IpNetwork } from "../lib/networks.ts";
import { randomText } from "../lib/text.ts";
import { ProblemError } from "../model/errors.ts";
import type { DeliveryAttempt, WebhookRef, WebhookStore } from "../model/webhooks.ts";
import { toDeliveryPolicy } from "./address-policy.ts";
import { toDelivery, validSecrets } from "./delivery-attempt.ts";
import { toExchange } from "./exchange.ts";
import { send } from "./send.ts";
import { testEvent } from "./webhook-event.ts";

interface TestedWebhook extends WebhookRef {
  readonly siteName: string;
  readonly url: string;
}

type TestEngine = Pick<WebhookStore, "readWebhookStates" | "readWebhookSecrets" | "addWebhookAttempt">;

/**
 * Sends `storefront.test` once, whether or not the webhook is paused, and saves the attempt. The cursor does not move.
 * @param allow networks that are allowed although they are not public
 * @throws ProblemError `not-found` if the webhook has no state
 */
export async function deliverTest(
  engine: TestEngine,
  webhook: TestedWebhook,
  allow: readonly IpNetwork[],
): Promise<DeliveryAttempt> {
  const [state] = await engine.readWebhookStates([webhook]);
  if (!state) throw new ProblemError("not-found", `the webhook ${webhook.webhook} is incomplete`);
  const at = Date.now();
  const secrets = validSecrets(await engine.readWebhookSecrets(webhook), at);
  const event = testEvent(state, webhook.siteName, randomText(8), at);
  const startedAt = performance.now();
  const delivery = toDelivery(webhook.url, event, at, secrets);
  const { status, fault, message } = await send(delivery, toDeliveryPolicy(allow), new AbortController().signal);
  const attempt = { at, status, milliseconds: Math.round(performance.now() - startedAt), fault };
  await engine.addWebhookAttempt(webhook, attempt, toExchange(delivery, message));
  return attempt;
}
