// Delivers a webhook's next event: acquires the lease, prepares the event, and makes at most one attempt.
//
// Everything that an event depends on is saved before the first attempt, so that every attempt sends the same event, in whichever process.

import type { IpNetwork } from "../lib/networks.ts";
import { randomText } from "../lib/text.ts";
import { yieldToEventLoop } from "../lib/yielding.ts";
import { versionOf } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError, RetryableError } from "../model/errors.ts";
import type { Head } from "../model/head.ts";
import { maxChangesPerEvent } from "../model/limits.ts";
import { systemSite } from "../model/system-site.ts";
import type {
  DeliveryAttempt,
  DeliveryExchange,
  WebhookRef,
  WebhookSecret,
  WebhookState,
  WebhookStore,
} from "../model/webhooks.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import { readCursorAt } from "../store/changes/feed.ts";
import { revisionInCursor } from "../store/database/cursor.ts";
import { toInstant } from "../system/system-changes.ts";
import type { WebhookRecord } from "../system/system-records.ts";
import type { ServedWebhook, SystemSiteIndex } from "../system/system-site-index.ts";
import { toDeliveryPolicy } from "./address-policy.ts";
import type { Clock } from "./clock.ts";
import { toExchange } from "./exchange.ts";
import type { LastSent } from "./last-sent.ts";
import {
  acquireLease,
  type LeaseRef,
  type NextDelivery,
  releaseChangedLease,
  releaseLease,
  type WebhookLease,
} from "./lease.ts";
import { decideAfterFailure, isBackingOff, updateAfterSuccess } from "./retry-policy.ts";
import { type Delivery, type DeliveryResponse, send } from "./send.ts";
import type { EventPage, SharedPages } from "./shared-pages.ts";
import {
  changesEvent,
  continuedCursorOf,
  goneEvent,
  signatureHeaders,
  testEvent,
  type WebhookEvent,
} from "./webhook-event.ts";

export type RunnerEngine = Pick<
  Engine,
  "readHeads" | "readJournalPage" | "countChanges" | "readDatabaseId" | "commit"
> &
  WebhookStore;

/** `delivered`: 2xx. `refused`: any other status. `failed`: no response. `interrupted`: aborted by this process. */
export type AttemptOutcome = "delivered" | "refused" | "failed" | "interrupted";

export interface DeliveryDependencies {
  readonly engine: RunnerEngine;
  readonly send: (delivery: Delivery, signal: AbortSignal) => Promise<DeliveryResponse>;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly lastSent: LastSent;
  readonly onAttempt: (outcome: AttemptOutcome, webhook: ServedWebhook, milliseconds: number) => void;
  readonly onPause: (webhook: ServedWebhook, reason: string) => void;
  readonly index: SystemSiteIndex;
  /** Brings the index up to date with the system site. */
  readonly catchUpIndex: () => Promise<unknown>;
  /** How often a webhook had been resumed or given another URL as of the last scan; undefined for an unknown webhook. */
  readonly knownResumes: (webhook: number) => number | undefined;
  readonly pages: SharedPages;
  /** Identifies this process. */
  readonly holder: string;
}

interface NextEvent {
  readonly event: WebhookEvent;
  readonly hasMore: boolean;
}

/**
 * Keeps the lease in `leaseRef` if there's more to deliver, and releases it otherwise.
 * @param stop aborts the attempt
 */
export async function deliverNext(
  id: number,
  leaseRef: LeaseRef,
  dependencies: DeliveryDependencies,
  stop: AbortSignal,
): Promise<NextDelivery> {
  const { index, catchUpIndex, knownResumes, engine, clock } = dependencies;
  await catchUpIndex();
  const webhook = index.findActive(id);
  if (!webhook) return releaseLease(leaseRef, "later");
  const lease = await acquireOrRenewLease(webhook, leaseRef, dependencies);
  if (!lease) return "later";
  const { state } = lease;
  // Someone has resumed the webhook or changed its URL, perhaps after the index was read above.
  if (state.resumes !== knownResumes(id)) await catchUpIndex();
  if (index.findActive(id)?.url !== webhook.url) return releaseChangedLease(leaseRef);
  if (state.home !== (await engine.readDatabaseId()) || isBackingOff(state, clock.now()))
    return releaseLease(leaseRef, "later");
  // Leases of many webhooks are acquired together, and reading an event takes one or two milliseconds.
  await yieldToEventLoop();
  const next = await prepareNextEvent(lease, webhook, dependencies);
  if (next === "lost") return releaseChangedLease(leaseRef);
  if (next === "none") return releaseLease(leaseRef, "done");
  if (next === "skipped") return releaseLease(leaseRef, "later");
  if (lease.state.goneAt !== null) {
    // The changes may only be gone because a sandbox refresh has replaced the site since the index was read above, and is deleting its rows.
    await catchUpIndex();
    if (index.findActive(id)?.site !== webhook.site) return releaseChangedLease(leaseRef);
  }
  return attemptDelivery(next, webhook, leaseRef, dependencies, stop);
}

/** Undefined if another process has the lease. */
async function acquireOrRenewLease(
  webhook: ServedWebhook,
  leaseRef: LeaseRef,
  { engine, holder, clock }: DeliveryDependencies,
): Promise<WebhookLease | undefined> {
  // A sandbox refresh has moved the webhook to another site, where it has another state.
  if (leaseRef.lease && leaseRef.lease.state.site !== webhook.site) await releaseChangedLease(leaseRef);
  const { lease } = leaseRef;
  const isRenewed = lease !== undefined && lease.usableMs > 0 && (await lease.renew());
  leaseRef.lease = isRenewed ? lease : await acquireLease(webhook, { engine, holder, clock });
  return leaseRef.lease;
}

// The event: a page of changes, or `storefront.gone` if changes after the cursor are gone.

/** How often we move the cursor to the head for one event, because the changes after it are gone. */
const maxRestarts = 3;

/**
 * Also saves what later attempts need, and moves the cursor past changes to resources the webhook doesn't follow.
 * @returns `none`: nothing to deliver; `skipped`: the cursor only moved past changes to other resources; `lost`: someone else has changed the state, or
 * the lease has ended
 */
async function prepareNextEvent(
  lease: WebhookLease,
  webhook: ServedWebhook,
  dependencies: DeliveryDependencies,
): Promise<NextEvent | "none" | "skipped" | "lost"> {
  for (let restarts = 0; restarts < maxRestarts; ) {
    const { state } = lease;
    const isLost = await dependencies.lastSent.isLost(state, dependencies.engine);
    const page = isLost ? "gone" : await readPage(lease, webhook, dependencies);
    if (page === "gone") {
      restarts++;
      if (!(await moveCursorToHead(lease, dependencies, isLost))) return "lost";
    } else if (state.goneAt !== null) {
      const hasMore = page.head.revision > revisionInCursor(state.cursor);
      return { event: goneEvent(state, webhook.siteName, state.goneAt), hasMore };
    } else if (page.first > 0) {
      if (!(await savePageBounds(lease, page))) return "lost";
      return { event: changesEvent(lease.state, webhook.siteName, page), hasMore: page.hasMore };
    } else {
      if (page.next === state.cursor) return "none";
      const moved = { cursor: page.next, epoch: page.head.epoch, since: continuedCursorOf(state), first: 0, last: 0 };
      if (!(await lease.update(moved))) return "lost";
      if (!page.hasMore) return "skipped";
    }
  }
  throw new RetryableError(
    "the site was restored or its journal pruned several times while an event was being prepared",
  );
}

/** Reads the page that's being delivered, or the next one. `gone`: changes after the cursor are missing, or belong to another epoch. */
async function readPage(
  { state }: WebhookLease,
  { resources }: ServedWebhook,
  { pages }: DeliveryDependencies,
): Promise<EventPage | "gone"> {
  const { site, cursor: since, epoch, last } = state;
  try {
    // A page that's being delivered is read again up to its last revision. The limit is its number of revisions, because another version of the program
    // may see more changes in it.
    const page =
      last > 0
        ? await pages.readOwn(site, { since, limit: last - revisionInCursor(since), resources, until: last })
        : await pages.read(state, { limit: maxChangesPerEvent, resources });
    return page.head.epoch === epoch ? page : "gone";
  } catch (error) {
    if (error instanceof ProblemError && error.code === "gone") return "gone";
    throw error;
  }
}

/** Needed before the first attempt. @returns whether the state could be changed */
async function savePageBounds(lease: WebhookLease, { first, next, head }: EventPage): Promise<boolean> {
  const last = revisionInCursor(next);
  const { state } = lease;
  if (state.first === first && state.last === last && state.epoch === head.epoch) return true;
  return lease.update({ first, last, epoch: head.epoch });
}

/**
 * Makes `storefront.gone` the next event, so that the receiver reads the lists again.
 * @param isLost whether the database has lost changes that were sent
 * @returns whether the state could be changed
 */
async function moveCursorToHead(
  lease: WebhookLease,
  { engine, clock, lastSent }: DeliveryDependencies,
  isLost: boolean,
): Promise<boolean> {
  const { state } = lease;
  const [head] = (await engine.readHeads([state.site])) as [Head];
  const cursor = await readCursorAt(engine, state.site, head);
  const gone = { goneAt: clock.now(), first: 0, last: 0 } as const;
  const rewinds = isLost ? lastSent.nextRewind(state) : state.rewinds;
  return lease.update({ cursor, epoch: head.epoch, since: continuedCursorOf(state), rewinds, ...gone });
}

// The attempt.

/** Shown in the journal for the runner's own changes. */
const actor = "webhook";

/**
 * Sends the event once, and releases the lease unless there's more to deliver.
 * @param stop aborts the request
 * @returns when the next delivery may start
 */
async function attemptDelivery(
  { event, hasMore }: NextEvent,
  webhook: ServedWebhook,
  leaseRef: LeaseRef,
  dependencies: DeliveryDependencies,
  stop: AbortSignal,
): Promise<NextDelivery> {
  const { engine, clock, onAttempt } = dependencies;
  const secrets = await engine.readWebhookSecrets(webhook);
  // Reads for many webhooks complete together, and preparing each request takes about a millisecond.
  await yieldToEventLoop();
  const at = clock.now();
  const valid = validSecrets(secrets, at);
  // Without a secret, the webhook is being removed.
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

interface SentRequest {
  readonly received: DeliveryResponse;
  readonly outcome: AttemptOutcome;
  readonly milliseconds: number;
}

/**
 * Aborts the request at `stop` or the end of the lease. Sends nothing and returns undefined if it's already time for that.
 * @param event what's in the request
 */
async function sendWithinLease(
  delivery: Delivery,
  event: WebhookEvent,
  lease: WebhookLease,
  { clock, send, lastSent }: DeliveryDependencies,
  stop: AbortSignal,
): Promise<SentRequest | undefined> {
  const { signal, cancel } = abortAtLeaseEnd(lease, clock, stop);
  const startedAt = clock.monotonicMs();
  lastSent.trackSent(lease.state, event.next);
  // Don't await anything between this check and the request, or it could be sent after the lease has ended.
  const received = signal.aborted ? undefined : await send(delivery, signal);
  cancel();
  if (!received) return undefined;
  return { received, outcome: outcomeOf(received, signal), milliseconds: Math.round(clock.monotonicMs() - startedAt) };
}

/** @param at milliseconds since 1970 */
function validSecrets(secrets: readonly WebhookSecret[], at: number): string[] {
  return secrets.filter(({ until }) => until === null || until > at).map(({ secret }) => secret);
}

/** The signal aborts at `stop`, or one second before the lease ends. Call `cancel` once it's no longer needed. */
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

/** @param at when it's sent, in milliseconds since 1970 */
function toDelivery(url: string, { id, body }: WebhookEvent, at: number, secrets: readonly string[]): Delivery {
  const headers = { "content-type": "application/json", "user-agent": "Storefront" };
  return { url, headers: { ...headers, ...signatureHeaders(id, at, body, secrets) }, body };
}

function outcomeOf({ status, fault }: DeliveryResponse, { aborted }: AbortSignal): AttemptOutcome {
  if (fault === null) return "delivered";
  if (status !== null) return "refused";
  return aborted ? "interrupted" : "failed";
}

/**
 * Saves the new cursor after a success, or the back-off after a failure, which may pause the webhook.
 * @returns when the next delivery may start
 */
async function saveResponse(
  received: DeliveryResponse,
  { event, hasMore }: NextEvent,
  webhook: ServedWebhook,
  leaseRef: LeaseRef,
  dependencies: DeliveryDependencies,
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

/** Unless someone has resumed the webhook since `before`. @returns whether this process has paused it */
async function pause(
  webhook: ServedWebhook,
  reason: string,
  before: WebhookState,
  { engine, clock }: DeliveryDependencies,
): Promise<boolean> {
  const at = clock.now();
  const paused = await changePause(engine, webhook, { Paused: toInstant(at), Reason: reason, PausedBy: actor }, at);
  const [state] = await engine.readWebhookStates([webhook]);
  if (paused?.kind !== "done" || state?.resumes === before.resumes) return paused?.kind === "done";
  // `webhook resume` changes the state before the record, so our pause came too late. We undo it, unless the record has changed since.
  const version = versionOf(paused.epoch, paused.revision);
  await changePause(engine, webhook, { Paused: "", Reason: "", PausedBy: "" }, at, version);
  return false;
}

/** Changes the webhook's record, as an operator would. @param version the version the record must have, if given */
async function changePause(
  engine: RunnerEngine,
  { webhook: id }: ServedWebhook,
  values: Pick<WebhookRecord, "Paused" | "Reason" | "PausedBy">,
  at: number,
  version?: string,
) {
  const change = { site: systemSite, resource: webhookResource.name, operation: "update", id } as const;
  const ifVersion = version === undefined ? undefined : [version];
  const [outcome] = await engine.commit([{ ...change, valuesJson: JSON.stringify(values), actor, at, ifVersion }]);
  return outcome;
}

/** For `webhook deliveries`. If this fails, there's an entry missing there, but nothing else depends on it. */
async function saveAttempt(
  engine: RunnerEngine,
  webhook: ServedWebhook,
  made: DeliveryAttempt,
  exchange: DeliveryExchange,
): Promise<void> {
  await engine.addWebhookAttempt(webhook, made, exchange).catch(() => {});
}

interface TestedWebhook extends WebhookRef {
  readonly siteName: string;
  readonly url: string;
}

type TestEngine = Pick<WebhookStore, "readWebhookStates" | "readWebhookSecrets" | "addWebhookAttempt">;

/**
 * Sends `storefront.test` once, even if the webhook is paused, and saves the attempt. Doesn't move the cursor.
 * @param allow networks that are allowed besides public ones
 * @throws ProblemError `not-found` if the webhook has no state
 */
export async function deliverTest(
  engine: TestEngine,
  webhook: TestedWebhook,
  allow: readonly IpNetwork[],
): Promise<DeliveryAttempt> {
  const [state] = await engine.readWebhookStates([webhook]);
  if (!state)
    throw new ProblemError("not-found", `webhook ${webhook.webhook} is incomplete; remove it and add it again`);
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
