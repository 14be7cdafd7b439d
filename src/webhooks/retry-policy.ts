// Decides what follows from an attempt: when the next one is made, and whether the webhook is paused. It reads no clock and no database.
//
// A page is sent again until the receiver responds with 2xx: after 5 s, 1 min, 5 min, 30 min, 2 h and then every 5 h, or when `Retry-After` says
// (contract section 12). If the 2xx response gets lost, or the new cursor cannot be saved, the page is sent again although the receiver has it.

import { nothingInProgress, type WebhookState, type WebhookStateUpdate } from "../model/webhooks.ts";
import type { DeliveryResponse } from "./send.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Back-off in milliseconds after the first failed attempt, the second, and so on. After more failures, it is `maxBackoffMs`. */
const backoffMs = [5000, minute, 5 * minute, 30 * minute, 2 * hour];
const minBackoffMs = 5000;
const maxBackoffMs = 5 * hour;

/** Milliseconds for which a webhook may fail before it is paused. */
const maxFailingMs = 5 * day;
/**
 * Minimum failed attempts before a webhook is paused, so that time without a server, or with a suspended site, does not count. The schedule has at
 * least 23 attempts in five days.
 */
const minFailures = 20;

/** Maximum characters of a reason. */
const maxReasonLength = 255;

interface RetryInputs {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** A random number from 0 to 1. */
  readonly random: number;
}

/** The update of the state to save after a failed attempt. */
interface FailureDecision {
  readonly update: WebhookStateUpdate;
  /** Why the webhook must be paused; undefined if it need not be. */
  readonly pauseReason: string | undefined;
}

/**
 * Whether the webhook backs off: the time of its next attempt has not come. Ignores a time further away than twice the longest back-off: it was
 * stored by a wrong clock.
 * @param now milliseconds since 1970
 */
export function isBackingOff({ nextAt }: WebhookState, now: number): boolean {
  return nextAt > now && nextAt <= now + 2 * maxBackoffMs;
}

/** Returns the update of the state after an attempt that the receiver accepted. @param next the cursor after the delivered event */
export function updateAfterSuccess(next: string): WebhookStateUpdate {
  return { cursor: next, since: next, ...nothingInProgress };
}

/** Returns the update of the state after a failed attempt, and whether to pause the webhook (contract section 12). */
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

/** Whether a webhook was paused because its receiver failed: this program wrote the reason. Other reasons are of operators and imports. */
export function isOwnPauseReason(reason: string): boolean {
  return reason === gone || reason.startsWith(failed);
}

/** Returns the milliseconds until the next attempt: as the receiver asks, otherwise by the schedule, a quarter more or less. */
function backOffAfter(failures: number, retryAfter: string | undefined, { now, random }: RetryInputs): number {
  const wanted = toMilliseconds(retryAfter, now);
  if (wanted === undefined) return (backoffMs[failures - 1] ?? maxBackoffMs) * (0.75 + random / 2);
  // A little later than the receiver asks, but never earlier.
  return Math.min(Math.max(wanted, minBackoffMs), maxBackoffMs) * (1 + random / 10);
}

/** Returns the milliseconds from now that `Retry-After` (RFC 9110, section 10.2.3) asks for, in seconds or as a date; undefined if it is neither. */
function toMilliseconds(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (/^[0-9]{1,15}$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const at = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$/.test(retryAfter)
    ? Date.parse(retryAfter)
    : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
