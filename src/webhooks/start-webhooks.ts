// Starts webhook delivery in a server process.

import type { Logger } from "pino";
import type { MetricFamily } from "../lib/metrics.ts";
import type { IpNetwork } from "../lib/networks.ts";
import { randomText } from "../lib/text.ts";
import type { Resource } from "../model/resource.ts";
import { systemSite } from "../model/system-site.ts";
import type { SiteChangeNotifier } from "../store/changes/site-change-notifier.ts";
import type { SiteViews } from "../store/reads/site-views.ts";
import type { SystemSiteIndex } from "../system/system-site-index.ts";
import { toDeliveryPolicy } from "./address-policy.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { RunnerEngine } from "./delivery.ts";
import { WebhookRunner } from "./runner.ts";
import { send } from "./send.ts";
import { type AttemptCounts, webhookFamilies } from "./webhook-metrics.ts";

interface WebhookDelivery {
  families(): Promise<MetricFamily[]>;
  /** Aborts requests in flight and releases leases, so that other processes can take over immediately. */
  stop(): Promise<void>;
}

interface WebhookOptions {
  readonly engine: RunnerEngine;
  readonly siteViews: Pick<SiteViews, "getUpToDate">;
  readonly systemSiteIndex: SystemSiteIndex;
  readonly changeNotifier: Pick<SiteChangeNotifier, "subscribe">;
  readonly resources: readonly Resource[];
  /** Networks that are allowed besides public ones. */
  readonly allow: readonly IpNetwork[];
  readonly log: Pick<Logger, "warn">;
  /** By default, the machine's. */
  readonly clock?: Clock | undefined;
}

/** Any number of processes can do this on one database. */
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
    onPause: ({ webhook, siteName }, reason) => log.warn({ webhook, site: siteName, reason }, "webhook paused"),
  });
  return {
    families: () => webhookFamilies({ engine, index, runner, attempts, now: clock.now }),
    stop: () => runner.stop(),
  };
}
