// Webhooks that a server delivers.

import { randomBytes } from "node:crypto";
import type { Engine } from "../../../src/model/engine.ts";
import { parseNewRecord } from "../../../src/model/record.ts";
import { systemSite } from "../../../src/model/system-site.ts";
import type { WebhookState } from "../../../src/model/webhooks.ts";
import { webhook as webhookResource } from "../../../src/resources/webhook.ts";
import { webhookSecret, webhookState } from "./states.ts";

export interface TestWebhook {
  readonly site: number;
  readonly webhook: number;
  readonly secret: string;
}

/** Creates a webhook for any URL that starts with the site's first change. */
export async function createTestWebhook(
  engine: Engine,
  site: number,
  url: string,
  { resources = "", ...state }: Partial<WebhookState> & { readonly resources?: string } = {},
): Promise<TestWebhook> {
  const values = { Site: String(site), URL: url, Resources: resources, Created: new Date().toISOString() };
  const text = JSON.stringify(parseNewRecord(webhookResource, values));
  const [outcome] = await engine.commit([
    {
      site: systemSite,
      resource: webhookResource.name,
      operation: "create",
      valuesJson: text,
      actor: "operator",
      at: Date.now(),
    },
  ]);
  if (outcome?.kind !== "done") throw new Error("the webhook was not created");
  const key = { site, webhook: outcome.id };
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const home = await engine.readDatabaseId();
  const [{ epoch = "" } = {}] = await engine.readHeads([site]);
  await engine.saveWebhook(webhookState({ home, epoch, ...state, ...key }), [webhookSecret({ secret })]);
  return { ...key, secret };
}
