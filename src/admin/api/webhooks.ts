// Lists, adds, tests, pauses, resumes, rotates, rewinds and removes the webhooks of a site.

import { parseTime } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { toId } from "../../model/record.ts";
import { publicResources } from "../../model/resource.ts";
import { type KeptAttempt, maxWebhookExchanges } from "../../model/webhooks.ts";
import { hasRight } from "../../operator/operators/operators.ts";
import type { DeliveryStart } from "../../operator/webhooks/delivery-start.ts";
import { withoutSecrets, withoutSecretsOf } from "../../operator/webhooks/url-secrets.ts";
import { createWebhook } from "../../operator/webhooks/webhook-creation.ts";
import {
  getDeliveryExchange,
  type ListedWebhook,
  listDeliveryAttempts,
  listWebhooks,
  toAttemptInfo,
  toWebhookInfo,
} from "../../operator/webhooks/webhook-list.ts";
import {
  changeWebhookUrl,
  pauseWebhook,
  removeWebhook,
  resumeWebhook,
  retryWebhook,
  rewindWebhook,
  rotateWebhook,
  testWebhook,
} from "../../operator/webhooks/webhooks.ts";
import { allResources } from "../../resources/all.ts";
import { toConsolePolicy, toDeliveryPolicy } from "../../webhooks/address-policy.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import { parseText, parseTexts, type ReceivedBody } from "../json-body.ts";
import { LongWork } from "../long-work.ts";
import { byId } from "./parameters.ts";
import type {
  AttemptInfo,
  ChangedWebhookResponse,
  DeliveriesResponse,
  ExchangeResponse,
  ListedWebhookInfo,
  NewWebhookBody,
  NewWebhookResponse,
  RewindBody,
  RotatedWebhookResponse,
  WebhookBody,
  WebhookInfo,
  WebhooksResponse,
} from "./types.ts";

const list = "/operator/sites/{site}/webhooks";
const one = `${list}/{id}`;

export const webhookActions: readonly Action[] = [
  ["GET", list, "read-settings", listAll],
  ["POST", list, "settings", add],
  ["DELETE", one, "settings", remove],
  ["PATCH", one, "settings", change],
  ["GET", `${one}/deliveries`, "read-settings", listDeliveries],
  ["GET", `${one}/deliveries/{number}`, "read-settings", showExchange],
  [
    "POST",
    `${one}/retry`,
    "settings",
    async (call) => toWebhookInfo(await retryWebhook(call.engine, await idIn(call), call.now())),
  ],
  ["POST", `${one}/test`, "settings", sendTest],
  [
    "POST",
    `${one}/pause`,
    "settings",
    async (call) => toWebhookInfo(await pauseWebhook(call.engine, await idIn(call), call.now())),
  ],
  ["POST", `${one}/resume`, "settings", resume],
  ["POST", `${one}/rotate`, "settings", rotate],
  ["POST", `${one}/rewind`, "settings", rewind],
];

async function listAll(call: ActionContext): Promise<WebhooksResponse> {
  const site = await call.site();
  const webhooks = await listWebhooks(call.engine, site);
  const attempts = await call.engine.readLatestAttempts(site.ID, latestAttempts);
  return {
    webhooks: webhooks.map((webhook) => ({
      ...toShownWebhook(webhook, call),
      ...lastAttempt(webhook, attempts.get(webhook.ID) ?? []),
    })),
  };
}

/** Hides secrets in the webhook's URL from operators who can't change webhooks. */
export function toShownWebhook(webhook: ListedWebhook, { session }: Pick<ActionContext, "session">): WebhookInfo {
  const { url, ...info } = toWebhookInfo(webhook);
  return { ...info, url: hasRight(session.operator, "settings") ? url : withoutSecrets(url) };
}

/** How many attempts to search for the latest failed one, since tests can come after it. */
const latestAttempts = 5;

/** @param attempts the latest attempts of the webhook */
function lastAttempt(
  { status, state }: ListedWebhook,
  attempts: readonly KeptAttempt[],
): Pick<ListedWebhookInfo, "last" | "reason"> {
  const last = attempts[0] ? toAttemptInfo(attempts[0]) : null;
  const hasFailed = status === "failing" || (status === "paused" && state?.failures);
  const reason = attempts.find(({ fault }) => fault !== null)?.fault ?? null;
  return { last, reason: hasFailed ? reason : null };
}

async function change(call: ActionContext): Promise<ChangedWebhookResponse> {
  const id = await idIn(call);
  const url = parseText(await call.input<WebhookBody>(), "url");
  const policy = toConsolePolicy(call.webhookAllow);
  const { webhook, isResolved } = await changeWebhookUrl(call.engine, id, url, policy, call.now());
  return { ...toWebhookInfo(webhook), isResolved };
}

async function add(call: ActionContext): Promise<NewWebhookResponse> {
  const site = await call.site();
  const input = await call.input<NewWebhookBody>();
  const settings = { url: parseText(input, "url"), resources: resourcesIn(input), since: pointIn(input) };
  // Only the command line may add URLs on this machine (contract section 12).
  const policy = toConsolePolicy(call.webhookAllow);
  const { webhook, secret, isResolved } = await createWebhook(call.engine, site, settings, policy, call.now());
  return { ...toWebhookInfo(webhook), secret, isResolved };
}

async function remove(call: ActionContext): Promise<WebhookInfo> {
  return toWebhookInfo(await removeWebhook(call.engine, await idIn(call), call.now()));
}

async function listDeliveries(call: ActionContext): Promise<DeliveriesResponse> {
  const attempts = await listDeliveryAttempts(call.engine, await webhookIn(call));
  return { deliveries: attempts.map(toAttemptInfo), exchanges: maxWebhookExchanges };
}

async function showExchange(call: ActionContext): Promise<ExchangeResponse> {
  const number = toId(call.parameters.number ?? "");
  if (number === undefined) throw new ProblemError("not-found", "there is no attempt with this number");
  const exchange = await getDeliveryExchange(call.engine, await webhookIn(call), number);
  return hasRight(call.session.operator, "settings") ? exchange : withoutSecretsOf(exchange);
}

/** At most 16 tests run at once, because each can wait 15 s for its receiver. */
const tests = new LongWork(16);

async function sendTest(call: ActionContext): Promise<AttemptInfo> {
  const id = await idIn(call);
  const { attempt } = await tests.run(call, () => testWebhook(call.engine, id, call.webhookAllow));
  return toAttemptInfo(attempt);
}

async function resume(call: ActionContext): Promise<WebhookInfo> {
  // Use the policy for deliveries: a webhook added on the command line may have a URL on this machine.
  const policy = toDeliveryPolicy(call.webhookAllow);
  return toWebhookInfo(await resumeWebhook(call.engine, await idIn(call), policy, call.now()));
}

async function rotate(call: ActionContext): Promise<RotatedWebhookResponse> {
  const { webhook, secret, until } = await rotateWebhook(call.engine, await idIn(call), call.now());
  return { ...toWebhookInfo(webhook), secret, until: new Date(until).toISOString() };
}

async function rewind(call: ActionContext): Promise<WebhookInfo> {
  const id = await idIn(call);
  return toWebhookInfo(await rewindWebhook(call.engine, id, pointIn(await call.input<RewindBody>())));
}

async function webhookIn(call: ActionContext): Promise<ListedWebhook> {
  return byId(call, await listWebhooks(call.engine, await call.site()), "this webhook no longer exists");
}

async function idIn(call: ActionContext): Promise<number> {
  return (await webhookIn(call)).ID;
}

function resourcesIn(input: ReceivedBody<NewWebhookBody>) {
  return (parseTexts(input, "resources") ?? []).map((path) => {
    const found = publicResources(allResources).find((resource) => resource.path === path);
    if (found) return found;
    throw new ProblemError("bad-request", "`resources` must be a list of paths such as `brands`");
  });
}

/** Parses where a webhook starts, by default at the next change. @throws ProblemError `bad-request` */
function pointIn({ since = "now" }: ReceivedBody<RewindBody>): DeliveryStart {
  const { cursor, time } = Object(since);
  if (since === "now") return since;
  if (typeof cursor === "string") return { cursor };
  const at = typeof time === "string" ? parseTime(time) : Number.NaN;
  if (Number.isSafeInteger(at)) return { at };
  throw new ProblemError("bad-request", "`since` must have a `cursor`, or a `time` such as 2026-01-31T12:00:00Z");
}
