// A site's overview, the first page operators see, and the server's traffic.

import { parseSingle } from "../../http/common/parameters.ts";
import { ProblemError } from "../../model/errors.ts";
import { hasRight } from "../../operator/operators/operators.ts";
import { listKeys, toKeyInfo } from "../../operator/sites/keys.ts";
import { summarizeSite } from "../../operator/sites/sites.ts";
import { listWebhooks } from "../../operator/webhooks/webhook-list.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import type { TrafficHistory } from "../traffic.ts";
import type { OverviewResponse, TrafficResponse } from "./types.ts";
import { toShownWebhook } from "./webhooks.ts";

export function overviewActions(traffic: TrafficHistory): readonly Action[] {
  return [
    ["GET", "/operator/traffic", "read", async (call) => showTraffic(traffic, call), "operators of all sites"],
    ["GET", "/operator/sites/{site}/overview", "read", overview],
  ];
}

/** Returns the last hour's traffic, one point per 20 seconds, or with `?span=day` the last day's, one point per 5 minutes. */
function showTraffic({ points, dayPoints }: TrafficHistory, { query }: ActionContext): TrafficResponse {
  const span = parseSingle(query, "span") ?? "hour";
  if (span !== "hour" && span !== "day") throw new ProblemError("bad-request", "`span` must be hour or day");
  const shown = span === "hour" ? points : dayPoints;
  return { points: shown.map((point) => ({ ...point, at: toTime(point.at) })) };
}

/**
 * Returns a site's overview: its records, keys that expire soon, webhooks, and the time of the last backup. For roles that can't see keys and
 * webhooks, it only counts the active keys.
 */
async function overview(call: ActionContext): Promise<OverviewResponse> {
  const { engine, now, session } = call;
  const site = await call.site();
  const seesSettings = hasRight(session.operator, "read-settings");
  const [summary, keys, webhooks, lastBackup] = [
    await summarizeSite(engine, site.Name, now()),
    seesSettings ? await listKeys(engine, site) : [],
    seesSettings ? await listWebhooks(engine, site) : [],
    await engine.readLastBackupTime(),
  ];
  return {
    records: summary.records,
    validKeys: summary.validKeys,
    changed: summary.changed?.toISOString() ?? null,
    endingKeys: keys.map((key) => toKeyInfo(key, now())).filter(({ endsSoon }) => endsSoon),
    webhooks: webhooks.map((webhook) => toShownWebhook(webhook, call)),
    lastBackup: lastBackup === undefined ? null : toTime(lastBackup),
  };
}

function toTime(at: number): string {
  return new Date(at).toISOString();
}
