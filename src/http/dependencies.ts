import type { Logger } from "pino";
import type { LineWriter } from "../lib/line-writer.ts";
import type { Engine } from "../model/engine.ts";
import type { Resource } from "../model/resource.ts";
import type { Snapshots } from "../store/snapshots.ts";
import type { WriteQueue } from "../store/write-queue.ts";

export interface HttpDependencies {
  readonly engine: Engine;
  readonly snapshots: Snapshots;
  readonly writeQueue: WriteQueue;
  readonly resources: readonly Resource[];
  readonly log: Logger;
  /** Where every request is logged, if it is. */
  readonly accessLog: LineWriter | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}
