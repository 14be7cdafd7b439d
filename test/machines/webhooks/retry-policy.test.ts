// When a webhook is retried, and when it's paused (contract section 12).

import { describe, expect, test } from "bun:test";
import { decideAfterFailure, isBackingOff, updateAfterSuccess } from "../../../src/webhooks/retry-policy.ts";
import type { DeliveryResponse } from "../../../src/webhooks/send.ts";
import { webhookState } from "../../support/webhooks/states.ts";

const now = Date.UTC(2030, 0, 1);
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const fault = "the receiver responded with 500";
const failed = (retryAfter?: string, status: number | null = 500): DeliveryResponse => ({ status, retryAfter, fault });

/** The pause after the failure with this number, in milliseconds. */
function backOffAfter(failure: number, received: DeliveryResponse, random = 0.5): number {
  const { update } = decideAfterFailure(webhookState({ failures: failure - 1 }), received, { now, random });
  return (update.nextAt as number) - now;
}

describe("after a failed attempt", () => {
  test.each([
    [1, 5000],
    [2, minute],
    [3, 5 * minute],
    [4, 30 * minute],
    [5, 2 * hour],
    [6, 5 * hour],
    [7, 5 * hour],
    [1000, 5 * hour],
  ])("number %i: the next one is %i ms later, give or take a quarter", (failure, pause) => {
    const pauses = [0, 0.5, 0.999].map((random) => backOffAfter(failure, failed(), random));
    expect(pauses).toEqual([pause * 0.75, pause, Math.round(pause * 1.2495)]);
  });

  test.each([
    ["120", 120_000],
    ["0", 5000],
    ["18000", 5 * hour],
    ["999999999999", 5 * hour],
    [new Date(now + 90_000).toUTCString(), 90_000],
    [new Date(now - 90_000).toUTCString(), 5000],
    [new Date(now + day).toUTCString(), 5 * hour],
  ])("Retry-After: %s, within 5 s to 5 h", (retryAfter, pause) => {
    expect(backOffAfter(4, failed(retryAfter), 0)).toBe(pause);
    expect(backOffAfter(4, failed(retryAfter), 0.999)).toBeLessThanOrEqual(pause * 1.1);
  });

  test.each([
    "",
    "-5",
    "1.5",
    "soon",
    "1e3",
    "2030-01-01T00:01:00Z",
    "Tue, 01 Jan 2030",
    "9".repeat(400),
  ])("Retry-After: %s, ignored", (retryAfter) => expect(backOffAfter(2, failed(retryAfter))).toBe(minute));

  test("counts failures, and since when", () => {
    const first = decideAfterFailure(webhookState(), failed(), { now, random: 0 }).update;
    expect(first).toMatchObject({ failures: 1, failingSince: now });
    const state = webhookState({ failures: 4, failingSince: now - hour });
    expect(decideAfterFailure(state, failed(), { now, random: 0 }).update).toMatchObject({
      failures: 5,
      failingSince: now - hour,
    });
  });

  test("nothing else changes, so the same page follows", () => {
    const { update } = decideAfterFailure(webhookState({ first: 1, last: 9 }), failed(), { now, random: 0 });
    expect(Object.keys(update).sort()).toEqual(["failingSince", "failures", "nextAt"]);
  });
});

test.each([
  ["in 1 ms", "not made yet", now + 1, true],
  ["in 6 hours", "not made yet", now + 6 * hour, true],
  ["now", "made at once", now, false],
  ["since 1 ms", "made at once", now - 1, false],
  ["at no time", "made at once", 0, false],
  // The clock was set back by a day, or was a day ahead when this was stored.
  ["in a day, which is longer than any back-off,", "made at once", now + day, false],
] as const)("an attempt that is due %s is %s", (_, __, nextAt, isLater) => {
  expect(isBackingOff(webhookState({ nextAt }), now)).toBe(isLater);
});

describe("pausing a webhook", () => {
  const reasonAfter = (failures: number, failing: number, received: DeliveryResponse) =>
    decideAfterFailure(webhookState({ failures, failingSince: now - failing }), received, { now, random: 0 })
      .pauseReason;

  test("410: right away", () => {
    expect(reasonAfter(0, 0, failed(undefined, 410))).toBe("the receiver responded with 410 (gone)");
  });

  test.each([
    ["after", 30, 5 * day, true],
    ["after", 19, 5 * day, true],
    ["but not after", 30, 5 * day - 1, false],
    // No server ran, or the site was suspended.
    ["but not after", 18, 30 * day, false],
    ["but not after", 1, 6 * day, false],
  ] as const)("%s %i failures and one more, in %i ms", (_, failures, failing, isPaused) => {
    const reason = reasonAfter(failures, failing, failed());
    expect(reason).toBe(isPaused ? `failed for five days; last: ${fault}` : undefined);
  });

  test("reason: fits its record", () => {
    const long = { status: null, retryAfter: undefined, fault: "x".repeat(1000) };
    expect(reasonAfter(30, 6 * day, long)).toHaveLength(255);
  });

  test("schedule: after more than 20 attempts, with any jitter", () => {
    for (const random of [0, 0.5, 0.999]) {
      let at = now;
      let state = webhookState();
      for (;;) {
        const { update, pauseReason } = decideAfterFailure(state, failed(), { now: at, random });
        state = { ...state, ...update };
        if (pauseReason !== undefined) break;
        at = state.nextAt;
      }
      expect(at - now).toBeGreaterThanOrEqual(5 * day);
      expect(at - now).toBeLessThan(5.3 * day);
      expect(state.failures).toBeGreaterThan(20);
    }
  });
});

test("success: moves the cursor and ends the failures", () => {
  expect(updateAfterSuccess("abc.9")).toEqual({
    cursor: "abc.9",
    since: "abc.9",
    first: 0,
    last: 0,
    goneAt: null,
    failures: 0,
    failingSince: null,
    nextAt: 0,
  });
});
