// How the command line shows webhooks.

import type { WebhookAttempt } from "../model/webhooks.ts";
import type { ListedWebhook } from "../operator/webhook-list.ts";
import { toMinute, toTable } from "./common.ts";

/** A webhook as `--json` shows it. */
export function toShownWebhook({ state, siteName, status, detail, lag, ...record }: ListedWebhook) {
  const { cursor = "", failures = 0, failingSince = null, nextAt = 0, rewinds = 0 } = state ?? {};
  return {
    ...record,
    SiteName: siteName,
    Status: status,
    Detail: detail,
    Cursor: cursor,
    Behind: lag ?? null,
    Rewinds: rewinds,
    Failures: failures,
    FailingSince: failingSince === null ? "" : new Date(failingSince).toISOString(),
    NextAttempt: nextAt === 0 ? "" : new Date(nextAt).toISOString(),
  };
}

export function toWebhookRow(webhook: ListedWebhook): string[] {
  const { ID, siteName, URL: url, Resources, Created, lag, status, detail } = webhook;
  const shown = detail === "" ? status : `${status}: ${detail}`;
  return [`${ID}`, siteName, url, Resources || "all", toMinute(Created), `${lag ?? "unknown"}`, shown];
}

/** An attempt as `--json` shows it. */
export function toShownAttempt({ at, ...attempt }: WebhookAttempt) {
  return { at: new Date(at).toISOString(), ...attempt };
}

export function toAttemptTable(attempts: readonly WebhookAttempt[]): string[] {
  const rows = attempts
    .map(toShownAttempt)
    .map(({ at, status, milliseconds, fault }) => [at, `${status ?? "none"}`, `${milliseconds}`, fault ?? ""]);
  return toTable(["AT (UTC)", "STATUS", "MILLISECONDS", "FAULT"], rows);
}
