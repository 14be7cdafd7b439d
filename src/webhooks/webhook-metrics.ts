// Metrics of webhooks. Each process knows all webhooks, so the gauges of several processes are aggregated by maximum.

import { counter, gauge, type MetricFamily } from "../lib/metrics.ts";
import { revisionInCursor } from "../store/database/cursor.ts";
import type { SystemSiteIndex } from "../system/system-site-index.ts";
import type { AttemptOutcome, RunnerEngine } from "./delivery.ts";
import type { KnownWebhook } from "./known-webhooks.ts";
import type { WebhookRunner } from "./runner.ts";

/** Maximum webhooks with a series of their own: those with the most undelivered changes. */
const maxSeries = 100;

/** Number of delivery attempts of this process, by outcome. */
export type AttemptCounts = Record<AttemptOutcome, number>;

interface MetricSources {
  readonly engine: Pick<RunnerEngine, "readJournalPage">;
  readonly index: SystemSiteIndex;
  readonly runner: WebhookRunner;
  readonly attempts: AttemptCounts;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Returns the metrics of this process, as of the last scan of the states. */
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
      "Attempts to deliver to a webhook: delivered (2xx), refused (another status), failed (no response) or interrupted (by the server).",
      Object.entries(attempts).map(([outcome, count]) => [{ outcome }, count]),
    ),
    gauge("storefront_webhooks", "Webhooks.", webhooks, "max"),
    gauge("storefront_webhooks_paused", "Webhooks that are paused.", pausedWebhooks, "max"),
    gauge(
      "storefront_webhooks_given_up",
      "Webhooks that were paused because their receiver failed for too long, or responded with 410.",
      runner.pausedByServer.size,
      "max",
    ),
    gauge("storefront_webhooks_behind", "Webhooks that have changes to deliver.", lags.length, "max"),
    gauge(
      "storefront_webhook_lag_changes",
      "Changes of the site that were not delivered, for the 100 webhooks that are furthest behind.",
      labelled(furthest.map(({ changes }) => changes)),
      "max",
    ),
    gauge(
      "storefront_webhook_lag_seconds",
      "Age of the first change that was not delivered, for the 100 webhooks that are furthest behind.",
      labelled(seconds),
      "max",
    ),
  ];
}

interface Lag {
  readonly labels: { readonly webhook: string };
  readonly site: number;
  /** The last revision that was delivered. */
  readonly revision: number;
  readonly changes: number;
}

function toLag({ state: { webhook, site, cursor }, head }: KnownWebhook): Lag {
  const revision = revisionInCursor(cursor);
  return { labels: { webhook: String(webhook) }, site, revision, changes: Math.max(0, head.revision - revision) };
}

/** Returns the age in seconds of the first change that was not delivered; 0 if it cannot be read. */
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
