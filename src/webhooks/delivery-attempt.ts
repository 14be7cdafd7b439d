// Makes one attempt to deliver an event, and saves its result.

import { yieldToEventLoop } from "../lib/yielding.ts";
import { versionOf } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { systemSite } from "../model/system-site.ts";
import type {
  DeliveryAttempt,
  DeliveryExchange,
  WebhookSecret,
  WebhookState,
  WebhookStore,
} from "../model/webhooks.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import { toInstant } from "../system/system-changes.ts";
import type { ServedWebhook } from "../system/system-site-index.ts";
import type { Clock } from "./clock.ts";
import { toExchange } from "./exchange.ts";
import type { LastSent } from "./last-sent.ts";
import { type LeaseRef, type NextDelivery, releaseChangedLease, releaseLease, type WebhookLease } from "./lease.ts";
import { decideAfterFailure, updateAfterSuccess } from "./retry-policy.ts";
import type { Delivery, DeliveryResponse } from "./send.ts";
import { signatureHeaders, type WebhookEvent } from "./webhook-event.ts";

/** The actor of the changes that the runner makes. */
const actor = "webhook";

export type RunnerEngine = Pick<Engine, "readHeads" | "readJournalPage" | "readDatabaseId" | "commit"> & WebhookStore;

/** `delivered`: 2xx. `refused`: another status. `failed`: no response. `interrupted`: aborted by this process. */
export type AttemptOutcome = "delivered" | "refused" | "failed" | "interrupted";

export interface AttemptDependencies {
  readonly engine: RunnerEngine;
  readonly send: (delivery: Delivery, signal: AbortSignal) => Promise<DeliveryResponse>;
  readonly clock: Clock;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  readonly lastSent: LastSent;
  readonly onAttempt: (outcome: AttemptOutcome, webhook: ServedWebhook, milliseconds: number) => void;
  readonly onPause: (webhook: ServedWebhook, reason: string) => void;
}

/** The event to deliver, and whether there is more to deliver after it. */
export interface NextEvent {
  readonly event: WebhookEvent;
  readonly hasMore: boolean;
}

/**
 * Sends the event once, and releases the lease unless there is more to deliver. Returns when the next delivery may start.
 * @param stop aborts the request
 */
export async function attemptDelivery(
  { event, hasMore }: NextEvent,
  webhook: ServedWebhook,
  leaseRef: LeaseRef,
  dependencies: AttemptDependencies,
  stop: AbortSignal,
): Promise<NextDelivery> {
  const { engine, clock, onAttempt } = dependencies;
  const secrets = await engine.readWebhookSecrets(webhook);
  // Yield: the reads of many webhooks complete together, and preparing each request takes about a millisecond.
  await yieldToEventLoop();
  const at = clock.now();
  const valid = validSecrets(secrets, at);
  // A webhook without a secret is being removed.
  if (valid.length === 0) return releaseLease(leaseRef, "later");
  const delivery = toDelivery(webhook.url, event, at, valid);
  const sent = await sendWithinLease(delivery, event, leaseRef.lease as WebhookLease, dependencies, stop);
  if (sent) onAttempt(sent.outcome, webhook, sent.milliseconds);
  if (!sent || sent.outcome === "interrupted")
    return stop.aborted ? releaseLease(leaseRef, "done") : releaseChangedLease(leaseRef);
  const { received, milliseconds } = sent;
  const { status, fault } = received;
  const exchange = toExchange(delivery, received.message);
  const savingAttempt = saveAttempt(engine, webhook, { at, status, milliseconds, fault }, exchange);
  const result = await saveResponse(received, { event, hasMore }, webhook, leaseRef, dependencies);
  await savingAttempt;
  return result;
}

/** A request that was sent, and its result. */
interface SentRequest {
  readonly received: DeliveryResponse;
  readonly outcome: AttemptOutcome;
  readonly milliseconds: number;
}

/**
 * Sends a request, which is aborted at `stop` and at the end of the lease. Returns undefined, and sends nothing, if one of these has come already.
 * @param event the event in the request
 */
async function sendWithinLease(
  delivery: Delivery,
  event: WebhookEvent,
  lease: WebhookLease,
  { clock, send, lastSent }: AttemptDependencies,
  stop: AbortSignal,
): Promise<SentRequest | undefined> {
  const { signal, cancel } = abortAtLeaseEnd(lease, clock, stop);
  const startedAt = clock.monotonicMs();
  lastSent.trackSent(lease.state, event.next);
  // Await nothing between this check and the request. Otherwise the request could be sent after the end of the lease.
  const received = signal.aborted ? undefined : await send(delivery, signal);
  cancel();
  if (!received) return undefined;
  return { received, outcome: outcomeOf(received, signal), milliseconds: Math.round(clock.monotonicMs() - startedAt) };
}

/** Returns the secrets that sign a delivery at that time. @param at milliseconds since 1970 */
export function validSecrets(secrets: readonly WebhookSecret[], at: number): string[] {
  return secrets.filter(({ until }) => until === null || until > at).map(({ secret }) => secret);
}

/** Returns a signal that aborts at `stop`, or one second before the lease ends, and a function that removes its listener and timer. */
function abortAtLeaseEnd(lease: WebhookLease, clock: Clock, stop: AbortSignal) {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (stop.aborted || lease.usableMs <= 0) abort();
  stop.addEventListener("abort", abort);
  const cancelTimer = clock.callAfter(lease.usableMs, abort);
  const cancel = () => {
    cancelTimer();
    stop.removeEventListener("abort", abort);
  };
  return { signal: controller.signal, cancel };
}

/** @param at when it is sent, in milliseconds since 1970 */
export function toDelivery(url: string, { id, body }: WebhookEvent, at: number, secrets: readonly string[]): Delivery {
  const headers = { "content-type": "application/json", "user-agent": "Storefront" };
  return { url, headers: { ...headers, ...signatureHeaders(id, at, body, secrets) }, body };
}

function outcomeOf({ status, fault }: DeliveryResponse, { aborted }: AbortSignal): AttemptOutcome {
  if (fault === null) return "delivered";
  if (status !== null) return "refused";
  return aborted ? "interrupted" : "failed";
}

/**
 * Saves the result of an attempt: after a success the new cursor, after a failure the back-off and perhaps a pause. Returns when the next delivery
 * may start.
 */
async function saveResponse(
  received: DeliveryResponse,
  { event, hasMore }: NextEvent,
  webhook: ServedWebhook,
  leaseRef: LeaseRef,
  dependencies: AttemptDependencies,
): Promise<NextDelivery> {
  const lease = leaseRef.lease as WebhookLease;
  if (received.fault === null) {
    const update = updateAfterSuccess(event.next);
    if (!hasMore) return releaseLease(leaseRef, "done", update);
    return (await lease.update(update)) ? "more" : releaseChangedLease(leaseRef);
  }
  const { clock, random, onPause } = dependencies;
  const { update, pauseReason } = decideAfterFailure(lease.state, received, { now: clock.now(), random: random() });
  const result = await releaseLease(leaseRef, "later", update);
  const isPaused = result === "later" && pauseReason !== undefined;
  if (isPaused && (await pause(webhook, pauseReason, lease.state, dependencies))) onPause(webhook, pauseReason);
  return result;
}

/** Pauses a webhook, unless an operator has resumed it since `before`. Returns whether this process has paused it. */
async function pause(
  webhook: ServedWebhook,
  reason: string,
  before: WebhookState,
  { engine, clock }: AttemptDependencies,
): Promise<boolean> {
  const at = clock.now();
  const paused = await changePause(engine, webhook, { Paused: toInstant(at), Reason: reason }, at);
  const [state] = await engine.readWebhookStates([webhook]);
  if (paused?.kind !== "done" || state?.resumes === before.resumes) return paused?.kind === "done";
  // `webhook resume` changes the state before the record, so this pause came too late. Undo it, unless the record was changed after it.
  const version = versionOf(paused.epoch, paused.revision);
  await changePause(engine, webhook, { Paused: "", Reason: "" }, at, version);
  return false;
}

/** Pauses or resumes a webhook by a change of its record, as an operator does. @param version the version that the record must have, if given */
async function changePause(
  engine: RunnerEngine,
  { webhook: id }: ServedWebhook,
  values: { readonly Paused: string; readonly Reason: string },
  at: number,
  version?: string,
) {
  const change = { site: systemSite, resource: webhookResource.name, operation: "update", id } as const;
  const ifVersion = version === undefined ? undefined : [version];
  const [outcome] = await engine.commit([{ ...change, valuesJson: JSON.stringify(values), actor, at, ifVersion }]);
  return outcome;
}

/** Saves an attempt for `webhook deliveries`. If that fails, only this entry is missing: nothing depends on it. */
async function saveAttempt(
  engine: RunnerEngine,
  webhook: ServedWebhook,
  made: DeliveryAttempt,
  exchange: DeliveryExchange,
): Promise<void> {
  await engine.addWebhookAttempt(webhook, made, exchange).catch(() => {});
}
