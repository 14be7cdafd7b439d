// The parts of a server process that this folder uses.

import type { Logger } from "pino";
import type { Build } from "../build.ts";
import type { LineWriter } from "../lib/logging.ts";
import type { IpNetwork } from "../lib/networks.ts";
import type { Engine } from "../model/engine.ts";
import type { Resource } from "../model/resource.ts";
import type { SiteChangeNotifier } from "../store/changes/site-change-notifier.ts";
import type { LastBackup } from "../store/last-backup.ts";
import type { MeasuredCalls } from "../store/measured-engine.ts";
import type { SiteViews } from "../store/reads/site-views.ts";
import type { Verification } from "../store/reads/snapshot-verification.ts";
import type { WriteQueue } from "../store/writes/write-queue.ts";
import type { SystemSiteIndex } from "../system/system-site-index.ts";

export interface HttpDependencies {
  readonly engine: Engine;
  readonly engineCalls: MeasuredCalls;
  readonly lastBackup: LastBackup;
  readonly siteViews: SiteViews;
  readonly verification: Pick<Verification, "families">;
  readonly systemSiteIndex: SystemSiteIndex;
  readonly writeQueue: WriteQueue;
  readonly changeNotifier: SiteChangeNotifier;
  readonly resources: readonly Resource[];
  readonly build: () => Build;
  /** Networks that webhooks can reach besides public ones. */
  readonly webhookAllow: readonly IpNetwork[];
  readonly log: Logger;
  /** Undefined without `--access-log`. */
  readonly accessLog: LineWriter | undefined;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
}
