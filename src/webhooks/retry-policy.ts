// Decides when the next attempt is due, and whether to pause the webhook. Doesn't use a clock or the database itself.
//
// A page is sent until the receiver responds with 2xx: again after 5 s, 1 min, 5 min, 30 min, 2 h and then every 5 h, or when `Retry-After` says
// (contract section 12). If the 2xx response is lost or the new cursor can't be saved, the receiver gets the page twice.

import { nothingInProgress, type WebhookState, type WebhookStateUpdate } from "../model/webhooks.ts";
import type { DeliveryResponse } from "./send.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** After the first failed attempt, the second, and so on. After that, it's `maxBackoffMs`. */
const backoffMs = [5000, minute, 5 * minute, 30 * minute, 2 * hour];
const minBackoffMs = 5000;
const maxBackoffMs = 5 * hour;

/** How long a webhook can fail before it's paused. */
const maxFailingMs = 5 * day;
/**
 * How often a webhook must fail before it's paused, so that time without a server or with a suspended site doesn't count. On schedule, there are at least
 * 23 attempts in five days.
 */
const minFailures = 20;

/** In characters. */
const maxReasonLength = 255;

interface RetryInputs {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** A random number from 0 to 1. */
  readonly random: number;
}

interface FailureDecision {
  readonly update: WebhookStateUpdate;
  /** Why to pause the webhook; undefined not to. */
  readonly pauseReason: string | undefined;
}

/**
 * Whether it's too early for the next attempt. Ignores a time more than twice the longest back-off away, which must come from a wrong clock.
 * @param now milliseconds since 1970
 */
export function isBackingOff({ nextAt }: WebhookState, now: number): boolean {
  return nextAt > now && nextAt <= now + 2 * maxBackoffMs;
}

/** @param next the cursor after the delivered event */
export function updateAfterSuccess(next: string): WebhookStateUpdate {
  return { cursor: next, since: next, ...nothingInProgress };
}

/** Contract section 12. */
export function decideAfterFailure(
  state: WebhookState,
  received: DeliveryResponse,
  inputs: RetryInputs,
): FailureDecision {
  const failures = state.failures + 1;
  const failingSince = state.failingSince ?? inputs.now;
  const nextAt = Math.round(inputs.now + backOffAfter(failures, received.retryAfter, inputs));
  return {
    update: { failures, failingSince, nextAt },
    pauseReason: reasonToPause(failures, failingSince, received, inputs),
  };
}

const gone = "the receiver responded with 410 (gone)";
const failed = "failed for five days";

function reasonToPause(
  failures: number,
  failingSince: number,
  { status, fault }: DeliveryResponse,
  { now }: RetryInputs,
) {
  if (status === 410) return gone;
  if (now - failingSince < maxFailingMs || failures < minFailures) return undefined;
  return `${failed}; last: ${fault}`.slice(0, maxReasonLength);
}

/** Whether a server paused the webhook because its receiver failed, rather than an operator or an import. Databases have these texts, so never change them. */
export function isServerPauseReason(reason: string): boolean {
  return reason === gone || reason.startsWith(failed);
}

/** What the receiver asks for, or else the schedule, give or take a quarter. */
function backOffAfter(failures: number, retryAfter: string | undefined, { now, random }: RetryInputs): number {
  const wanted = toMilliseconds(retryAfter, now);
  if (wanted === undefined) return (backoffMs[failures - 1] ?? maxBackoffMs) * (0.75 + random / 2);
  // Never earlier than the receiver asks for, only a little later.
  return Math.min(Math.max(wanted, minBackoffMs), maxBackoffMs) * (1 + random / 10);
}

/** Parses `Retry-After` (RFC 9110, section 10.2.3), which is seconds or a date; undefined if it's neither. */
function toMilliseconds(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (/^[0-9]{1,15}$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const at = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$/.test(retryAfter)
    ? Date.parse(retryAfter)
    : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
