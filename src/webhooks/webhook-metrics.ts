// Webhook metrics. Every process knows all webhooks, so gauges are aggregated across processes by maximum.

import { counter, gauge, type MetricFamily } from "../lib/metrics.ts";
import { revisionInCursor } from "../store/database/cursor.ts";
import type { SystemSiteIndex } from "../system/system-site-index.ts";
import { countBacklog } from "./backlog.ts";
import type { AttemptOutcome, RunnerEngine } from "./delivery.ts";
import type { KnownWebhook } from "./known-webhooks.ts";
import type { WebhookRunner } from "./runner.ts";

/** Only the webhooks whose sites have changed most since their last delivery get their own series. */
const maxSeries = 100;

export type AttemptCounts = Record<AttemptOutcome, number>;

interface MetricSources {
  readonly engine: Pick<RunnerEngine, "readJournalPage" | "countChanges">;
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
  const late = [...runner.knownWebhooks.values(), ...runner.pausedByServer.values()]
    .filter((known) => revisionsBehind(known) > 0)
    .sort((a, b) => revisionsBehind(b) - revisionsBehind(a));
  const counted: Lag[] = [];
  for (const known of late.slice(0, maxSeries)) counted.push(await toLag(engine, known));
  const furthest = counted.filter(({ changes }) => changes > 0);
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
    gauge(
      "storefront_webhooks_behind",
      "Webhooks with undelivered changes.",
      late.length - counted.length + furthest.length,
      "max",
    ),
    gauge(
      "storefront_webhook_lag_changes",
      "Undelivered changes, for the 100 webhooks that are furthest behind. For some resources only, counting stops at about 10,000.",
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
  /** The oldest undelivered revision. If no attempt was made since the last delivery, it may be a change the webhook doesn't follow. */
  readonly revision: number;
  readonly changes: number;
}

function revisionsBehind({ state: { cursor }, head }: KnownWebhook): number {
  return Math.max(0, head.revision - revisionInCursor(cursor));
}

/** Journal entries to count for each webhook and sample, which has to be ready within 2 s. The next sample continues. */
const maxEntries = 2000;

/** Falls back to the site's changes if the webhook's own can't be counted. */
async function toLag(engine: MetricSources["engine"], known: KnownWebhook): Promise<Lag> {
  const { state, head, resources } = known;
  const { webhook, site, cursor, first } = state;
  const backlog = await countBacklog(engine, state, head, resources, maxEntries).catch(() => undefined);
  // If none of those counted so far are for this webhook, there may still be one.
  const changes = backlog ? backlog.changes || Number(backlog.isMinimum) : revisionsBehind(known);
  return { labels: { webhook: String(webhook) }, site, revision: first || revisionInCursor(cursor) + 1, changes };
}

/** Age of the oldest undelivered change; 0 if it can't be read. */
async function secondsBehind(
  engine: Pick<RunnerEngine, "readJournalPage">,
  { site, revision }: Lag,
  now: number,
): Promise<number> {
  try {
    const [entry] = (await engine.readJournalPage(site, revision - 1, 1)).entries;
    return entry ? Math.max(0, now - entry.at) / 1000 : 0;
  } catch {
    return 0;
  }
}
