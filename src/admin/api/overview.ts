// What operators see first: whether all is well.

import { listKeys } from "../../operator/keys.ts";
import { summarizeSite } from "../../operator/site-summary.ts";
import { listWebhooks } from "../../operator/webhook-list.ts";
import type { Action, Call } from "../actions.ts";
import type { TrafficHistory } from "../traffic.ts";

/** Keys that end within this time are shown. */
const soon = 30 * 24 * 60 * 60_000;

export function overviewActions(traffic: TrafficHistory): readonly Action[] {
  return [
    [
      "GET",
      "/operator/traffic",
      async () => ({ points: traffic.points.map((point) => ({ ...point, at: toTime(point.at) })) }),
      "all",
    ],
    ["GET", "/operator/sites/{site}/overview", overview],
  ];
}

/** Records, keys that end soon, webhooks that need care, and the last backup. */
async function overview(call: Call) {
  const { engine, now } = call;
  const site = await call.site();
  const [summary, keys, webhooks, lastBackup] = [
    await summarizeSite(engine, site.Name, now()),
    await listKeys(engine, site),
    await listWebhooks(engine, site),
    await engine.lastBackup(),
  ];
  const ending = keys.filter(({ endsAt }) => endsAt > now() && endsAt < now() + soon);
  return {
    records: summary.records,
    validKeys: summary.validKeys,
    changed: summary.changed?.toISOString() ?? null,
    endingKeys: ending.map(({ ID, Label, Prefix, endsAt }) => ({
      id: ID,
      label: Label,
      prefix: Prefix,
      ends: toTime(endsAt),
    })),
    webhooks: webhooks.map(({ ID, URL: url, status, detail, lag }) => ({
      id: ID,
      url,
      status,
      detail,
      behind: lag ?? null,
    })),
    lastBackup: lastBackup === undefined ? null : toTime(lastBackup),
  };
}

function toTime(at: number): string {
  return new Date(at).toISOString();
}
