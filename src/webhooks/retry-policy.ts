// What follows from an attempt: when the next one is, and whether the webhook is paused. Nothing here reads a clock or a database.

import type { WebhookChanges, WebhookState } from "../model/webhooks.ts";
import type { Received } from "./send.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Milliseconds after the first failed attempt, the second, and so on; after the last of them and all others, `longestPause`. */
const pauses = [5000, minute, 5 * minute, 30 * minute, 2 * hour];
const shortestPause = 5000;
const longestPause = 5 * hour;

/** How long a webhook may fail before it is paused. */
const maxFailing = 5 * day;
/**
 * Attempts that must have failed in that time: fewer were made if no server ran, or the site was suspended. The schedule has at least 23 in
 * five days.
 */
const minFailures = 20;

/** Characters of a reason. */
const maxReason = 255;

interface Moment {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
}

/** What to store after a failed attempt. */
interface FailureDecision {
  readonly changes: WebhookChanges;
  /** Why the webhook is to be paused; undefined if it is not. */
  readonly pauseReason: string | undefined;
}

/**
 * Whether the next attempt is later. A moment that no pause reaches was stored by a clock that was wrong, and does not count.
 * @param now milliseconds since 1970
 */
export function isWaiting({ nextAt }: WebhookState, now: number): boolean {
  return nextAt > now && nextAt <= now + 2 * longestPause;
}

/** What to store after an attempt that the receiver accepted. @param next the cursor after what was delivered */
export function afterSuccess(next: string): WebhookChanges {
  const none = { first: 0, last: 0, isGone: 0, goneAt: null, failures: 0, failingSince: null, nextAt: 0 } as const;
  return { cursor: next, since: next, ...none };
}

/** What to store after an attempt that failed, contract section 12. */
export function afterFailure(state: WebhookState, received: Received, moment: Moment): FailureDecision {
  const failures = state.failures + 1;
  const failingSince = state.failingSince ?? moment.now;
  const nextAt = Math.round(moment.now + pauseAfter(failures, received.retryAfter, moment));
  return {
    changes: { failures, failingSince, nextAt },
    pauseReason: reasonToPause(failures, failingSince, received, moment),
  };
}

const gone = "the receiver responded with 410 (gone)";
const failed = "failed for five days";

function reasonToPause(failures: number, failingSince: number, { status, fault }: Received, { now }: Moment) {
  if (status === 410) return gone;
  if (now - failingSince < maxFailing || failures < minFailures) return undefined;
  return `${failed}; last: ${fault}`.slice(0, maxReason);
}

/** Whether a webhook that is paused for this reason has given up, rather than that an operator or an import paused it. */
export function isReasonToPause(reason: string): boolean {
  return reason === gone || reason.startsWith(failed);
}

/** Milliseconds until the next attempt: what the receiver asks for, otherwise the schedule, a quarter more or less. */
function pauseAfter(failures: number, retryAfter: string | undefined, { now, random }: Moment): number {
  const wanted = toMilliseconds(retryAfter, now);
  if (wanted === undefined) return (pauses[failures - 1] ?? longestPause) * (0.75 + random / 2);
  // Never earlier than the receiver asks.
  return Math.min(Math.max(wanted, shortestPause), longestPause) * (1 + random / 10);
}

/** The value of `Retry-After` (RFC 9110, section 10.2.3), seconds or a date, from now. Undefined when it is neither. */
function toMilliseconds(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (/^[0-9]{1,15}$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const at = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$/.test(retryAfter)
    ? Date.parse(retryAfter)
    : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
