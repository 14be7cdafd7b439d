// Delivery of webhooks in a process that serves.

import type { Logger } from "pino";
import { randomText } from "../lib/base62.ts";
import type { MetricFamily } from "../lib/metric-samples.ts";
import type { IpNetwork } from "../lib/networks.ts";
import type { Resource } from "../model/resource.ts";
import { systemSite } from "../model/system-site.ts";
import type { SiteWatch } from "../store/site-watch.ts";
import type { Snapshots } from "../store/snapshots.ts";
import type { RunnerEngine } from "./attempt.ts";
import { systemClock } from "./clock.ts";
import { type AttemptCounts, webhookFamilies } from "./metrics.ts";
import { WebhookRecords } from "./records.ts";
import { lookupAddresses } from "./resolver.ts";
import { WebhookRunner } from "./runner.ts";
import { send } from "./send.ts";

interface WebhookDelivery {
  families(): Promise<MetricFamily[]>;
  /** Aborts the requests under way, and lets other processes go on at once. */
  stop(): Promise<void>;
}

interface WebhookOptions {
  readonly engine: RunnerEngine;
  readonly snapshots: Pick<Snapshots, "follow" | "fresh">;
  readonly siteWatch: Pick<SiteWatch, "watch">;
  readonly resources: readonly Resource[];
  /** Networks that are allowed although they are not public. */
  readonly allow: readonly IpNetwork[];
  readonly log: Pick<Logger, "warn">;
}

/** Starts to deliver. Any number of processes may do so on one database. */
export function startWebhooks(options: WebhookOptions): WebhookDelivery {
  const { engine, snapshots, siteWatch, resources, allow, log } = options;
  const records = new WebhookRecords(resources);
  snapshots.follow(records);
  const attempts: AttemptCounts = { delivered: 0, refused: 0, failed: 0, interrupted: 0 };
  // Only the command line saves URLs of this machine.
  const policy = { allow, isLoopbackAllowed: true, lookup: lookupAddresses };
  const runner = new WebhookRunner({
    engine,
    log,
    records,
    watchSite: (site, head, onChange) => siteWatch.watch(site, head, onChange),
    refresh: async () => snapshots.fresh(systemSite),
    resources: new Map(resources.map((resource) => [resource.name, resource])),
    send: (delivery, signal) => send(delivery, policy, signal),
    holder: randomText(12),
    clock: systemClock,
    random: Math.random,
    onAttempt: (outcome) => void attempts[outcome]++,
    onPause: ({ webhook, siteName }, reason) => log.warn({ webhook, site: siteName, reason }, "a webhook was paused"),
  });
  return {
    families: () => webhookFamilies({ engine, records, runner, attempts, now: systemClock.now }),
    stop: () => runner.stop(),
  };
}
