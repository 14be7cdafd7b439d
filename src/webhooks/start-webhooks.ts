// Starts the delivery of webhooks in a server process, and reports its metrics.

import type { Logger } from "pino";
import { counter, gauge, type MetricFamily } from "../lib/metrics.ts";
import type { IpNetwork } from "../lib/networks.ts";
import { randomText } from "../lib/text.ts";
import type { Resource } from "../model/resource.ts";
import { systemSite } from "../model/system-site.ts";
import type { SiteChangeNotifier } from "../store/changes/site-change-notifier.ts";
import { cursorRevision } from "../store/database/cursor.ts";
import type { SiteViews } from "../store/reads/site-views.ts";
import type { SystemSiteIndex } from "../system/system-site-index.ts";
import { toDeliveryPolicy } from "./address-policy.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { AttemptOutcome, RunnerEngine } from "./delivery-attempt.ts";
import { type KnownWebhook, WebhookRunner } from "./runner.ts";
import { send } from "./send.ts";

interface WebhookDelivery {
  families(): Promise<MetricFamily[]>;
  /** Aborts the requests in flight and releases the leases, so that other processes continue at once. */
  stop(): Promise<void>;
}

interface WebhookOptions {
  readonly engine: RunnerEngine;
  readonly siteViews: Pick<SiteViews, "getUpToDate">;
  readonly systemSiteIndex: SystemSiteIndex;
  readonly changeNotifier: Pick<SiteChangeNotifier, "subscribe">;
  readonly resources: readonly Resource[];
  /** Networks that are allowed although they are not public. */
  readonly allow: readonly IpNetwork[];
  readonly log: Pick<Logger, "warn">;
  /** By default, the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** Starts to deliver. Any number of processes may do so on one database. */
export function startWebhooks(options: WebhookOptions): WebhookDelivery {
  const { engine, siteViews, systemSiteIndex: index, changeNotifier, resources, allow, log } = options;
  const { clock = systemClock } = options;
  const attempts: AttemptCounts = { delivered: 0, refused: 0, failed: 0, interrupted: 0 };
  const policy = toDeliveryPolicy(allow);
  const runner = new WebhookRunner({
    engine,
    log,
    index,
    subscribeToSite: (site, head, onChange) => changeNotifier.subscribe(site, head, onChange),
    catchUpIndex: async () => siteViews.getUpToDate(systemSite),
    resources: new Map(resources.map((resource) => [resource.name, resource])),
    send: (delivery, signal) => send(delivery, policy, signal),
    holder: randomText(12),
    clock,
    random: Math.random,
    onAttempt: (outcome) => void attempts[outcome]++,
    onPause: ({ webhook, siteName }, reason) => log.warn({ webhook, site: siteName, reason }, "a webhook was paused"),
  });
  return {
    families: () => webhookFamilies({ engine, index, runner, attempts, now: clock.now }),
    stop: () => runner.stop(),
  };
}

// Metrics of webhooks. Each process knows all webhooks, so the gauges of several processes are aggregated by maximum.

/** Maximum webhooks with a series of their own: those with the most undelivered changes. */
const maxSeries = 100;

type AttemptCounts = Record<AttemptOutcome, number>;

interface MetricSources {
  readonly engine: Pick<RunnerEngine, "readJournalPage">;
  readonly index: SystemSiteIndex;
  readonly runner: WebhookRunner;
  readonly attempts: AttemptCounts;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Returns the metrics of this process, as of the last scan of the states. */
async function webhookFamilies({ engine, index, runner, attempts, now }: MetricSources): Promise<MetricFamily[]> {
  const { webhooks, pausedWebhooks } = index.counts;
  const lags = [...runner.knownWebhooks.values(), ...runner.givenUp.values()]
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
      runner.givenUp.size,
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
  const revision = cursorRevision(cursor);
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
