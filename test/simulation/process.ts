// A simulated process with a webhook runner. Any call to the database may end its life.

import type { Engine } from "../../src/model/engine.ts";
import { systemSite } from "../../src/model/system-site.ts";
import { allResources } from "../../src/resources/all.ts";
import { SiteViews } from "../../src/store/reads/site-views.ts";
import { SystemSiteIndex } from "../../src/system/system-site-index.ts";
import { WebhookRunner } from "../../src/webhooks/runner.ts";
import type { Network } from "./network.ts";
import type { PlantedFault } from "./planted-faults.ts";
import { ProcessLife } from "./process-life.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./time.ts";

export interface ProcessOptions {
  readonly engine: Engine;
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly network: Network;
  readonly plant: PlantedFault;
  /** What others do while a process works. */
  readonly meanwhile: () => Promise<unknown>;
  /** Called whenever a site may have changed, until stopped. */
  readonly onCommit: (callback: () => void) => () => void;
}

export class SimulatedProcess {
  readonly name: string;
  readonly #runner: WebhookRunner;
  /** How far its clock is ahead, in milliseconds. */
  readonly skew: number;
  readonly life: ProcessLife;

  constructor(name: string, options: ProcessOptions) {
    this.name = name;
    const { random, network } = options;
    this.life = new ProcessLife({ ...options, onKill: () => network.onKill(this) });
    this.skew = random.chance(0.3) ? random.whole(-3_600_000, 3_600_000) : 0;
    const engine = this.life.wrap(options.plant.engine(options.engine));
    const index = new SystemSiteIndex(allResources);
    const siteViews = new SiteViews(engine, allResources, 1_000_000);
    siteViews.subscribeToSystemSite(index);
    this.#runner = new WebhookRunner({
      engine,
      index,
      catchUpIndex: async () => siteViews.getUpToDate(systemSite),
      resources: new Map(allResources.map((resource) => [resource.name, resource])),
      send: options.plant.send(options.engine, (delivery, signal) => network.send(this, delivery, signal)),
      holder: name,
      clock: {
        now: () => options.time.now + this.skew,
        monotonicMs: () => options.time.now,
        callAfter: (milliseconds, callback) =>
          options.time.after(milliseconds, () => void this.life.whenRunning(callback)),
      },
      random: random.next,
      onAttempt: () => {},
      onPause: () => {},
      subscribeToSite: (_site, _head, onChange) => options.onCommit(() => void this.life.whenRunning(onChange)),
      log: { warn: () => {} },
    });
  }

  get isAlive(): boolean {
    return this.life.isAlive;
  }

  /** Ends it like SIGTERM. */
  async stop(): Promise<void> {
    await this.#runner.stop();
    this.life.end();
  }
}
