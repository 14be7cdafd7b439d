import type { Logger } from "pino";
import type { Build } from "../build.ts";
import type { LineWriter } from "../lib/line-writer.ts";
import type { Engine } from "../model/engine.ts";
import type { Resource } from "../model/resource.ts";
import type { LastBackup } from "../store/last-backup.ts";
import type { MeasuredCalls } from "../store/measured-engine.ts";
import type { SiteWatch } from "../store/site-watch.ts";
import type { Snapshots } from "../store/snapshots.ts";
import type { WriteQueue } from "../store/write-queue.ts";

export interface HttpDependencies {
  readonly engine: Engine;
  readonly engineCalls: MeasuredCalls;
  readonly lastBackup: LastBackup;
  readonly snapshots: Snapshots;
  readonly writeQueue: WriteQueue;
  readonly siteWatch: SiteWatch;
  readonly resources: readonly Resource[];
  readonly build: () => Build;
  readonly log: Logger;
  /** Where every request is logged, if it is. */
  readonly accessLog: LineWriter | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}
