// Webhook metrics. Every process knows all webhooks, so gauges are aggregated across processes by maximum.

import { counter, gauge, type MetricFamily } from "../lib/metrics.ts";
import { revisionInCursor } from "../store/database/cursor.ts";
import type { SystemSiteIndex } from "../system/system-site-index.ts";
import type { AttemptOutcome, RunnerEngine } from "./delivery.ts";
import type { KnownWebhook } from "./known-webhooks.ts";
import type { WebhookRunner } from "./runner.ts";

/** Only the webhooks with the most undelivered changes get their own series. */
const maxSeries = 100;

export type AttemptCounts = Record<AttemptOutcome, number>;

interface MetricSources {
  readonly engine: Pick<RunnerEngine, "readJournalPage">;
  readonly index: SystemSiteIndex;
  readonly runner: WebhookRunner;
  readonly attempts: AttemptCounts;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** As of the last scan. */
export async function webhookFamilies({
  engine,
  index,
  runner,
  attempts,
  now,
}: MetricSources): Promise<MetricFamily[]> {
  const { webhooks, pausedWebhooks } = index.counts;
  const lags = [...runner.knownWebhooks.values(), ...runner.pausedByServer.values()]
    .map(toLag)
    .filter(({ changes }) => changes > 0);
  const furthest = lags.sort((a, b) => b.changes - a.changes).slice(0, maxSeries);
  const seconds = await Promise.all(furthest.map((lag) => secondsBehind(engine, lag, now())));
  const labelled = (values: readonly number[]) =>
    furthest.map(({ labels }, i) => [labels, values[i] as number] as const);
  return [
    counter(
      "storefront_webhook_attempts_total",
      "Webhook delivery attempts by outcome: delivered (2xx), refused (any other status), failed (no response) or interrupted (by the server).",
      Object.entries(attempts).map(([outcome, count]) => [{ outcome }, count]),
    ),
    gauge("storefront_webhooks", "Webhooks.", webhooks, "max"),
    gauge("storefront_webhooks_paused", "Paused webhooks.", pausedWebhooks, "max"),
    gauge(
      "storefront_webhooks_given_up",
      "Webhooks the server has paused because their receiver failed for too long or returned 410.",
      runner.pausedByServer.size,
      "max",
    ),
    gauge("storefront_webhooks_behind", "Webhooks with undelivered changes.", lags.length, "max"),
    gauge(
      "storefront_webhook_lag_changes",
      "Undelivered changes, for the 100 webhooks that are furthest behind.",
      labelled(furthest.map(({ changes }) => changes)),
      "max",
    ),
    gauge(
      "storefront_webhook_lag_seconds",
      "Age of the oldest undelivered change, for the 100 webhooks that are furthest behind.",
      labelled(seconds),
      "max",
    ),
  ];
}

interface Lag {
  readonly labels: { readonly webhook: string };
  readonly site: number;
  /** Last delivered revision. */
  readonly revision: number;
  readonly changes: number;
}

function toLag({ state: { webhook, site, cursor }, head }: KnownWebhook): Lag {
  const revision = revisionInCursor(cursor);
  return { labels: { webhook: String(webhook) }, site, revision, changes: Math.max(0, head.revision - revision) };
}

/** Age of the oldest undelivered change; 0 if it can't be read. */
async function secondsBehind(
  engine: Pick<RunnerEngine, "readJournalPage">,
  { site, revision }: Lag,
  now: number,
): Promise<number> {
  try {
    const [entry] = (await engine.readJournalPage(site, revision, 1)).entries;
    return entry ? Math.max(0, now - entry.at) / 1000 : 0;
  } catch {
    return 0;
  }
}
