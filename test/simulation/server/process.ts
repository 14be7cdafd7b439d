// A simulated server process: the parts of `start.ts` from request to engine, without sockets or webhook deliveries.

import pino from "pino";
import { createHttpParts } from "../../../src/http/server.ts";
import type { CommitSubscription, Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { SiteChangeNotifier } from "../../../src/store/changes/site-change-notifier.ts";
import { LastBackup } from "../../../src/store/last-backup.ts";
import { measureEngine } from "../../../src/store/measured-engine.ts";
import { SiteViews } from "../../../src/store/reads/site-views.ts";
import type { OnDifferences } from "../../../src/store/reads/snapshot-differences.ts";
import { WriteQueue } from "../../../src/store/writes/write-queue.ts";
import { SystemSiteIndex } from "../../../src/system/system-site-index.ts";
import type { SimulatedDatabase } from "../database.ts";
import { ProcessLife } from "../process-life.ts";
import type { Random } from "../random.ts";
import type { SimulatedTime } from "../time.ts";
import type { PlantedServerFault } from "./planted-faults.ts";

/** Whether a process hears of commits as with SQLite or as with a database server. */
export type EngineKind = "embedded" | "remote";

export interface ServerOptions {
  readonly database: SimulatedDatabase;
  /** The engine, as the simulation observes it. */
  readonly engine: Engine;
  readonly kind: EngineKind;
  /** Commits so far. */
  readonly commits: () => number;
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly plant: PlantedServerFault | undefined;
  readonly meanwhile: () => Promise<unknown>;
  readonly onKill: (process: ServerProcess) => void;
  /** Called if a change doesn't fit the records in memory. */
  readonly onDifferences: OnDifferences;
}

const log = pino({ level: "silent" });
const listener = { connections: [], bytes: [] } as never;
/** Probability that a commit's notification is lost, where that's allowed. */
const lostNotifications = 0.3;
/** How long a commit's notification may take to arrive. */
const maxNotificationMs = 50;

export class ServerProcess {
  readonly name: string;
  readonly life: ProcessLife;
  readonly siteViews: SiteViews;
  /** Whether it's been told to stop. */
  isStopping = false;
  readonly #http: ReturnType<typeof createHttpParts>;
  readonly #notifier: SiteChangeNotifier;
  readonly #options: ServerOptions;
  /** How far its clock is ahead, in milliseconds. */
  #skew: number;

  constructor(name: string, options: ServerOptions) {
    this.name = name;
    this.#options = options;
    this.life = new ProcessLife({ ...options, onKill: () => options.onKill(this) });
    const { time, random, plant, database } = options;
    // Some processes' clocks are ahead or behind.
    this.#skew = random.chance(0.3) ? random.whole(-600_000, 600_000) : 0;
    const planted = plant?.engine?.(options.engine, database, random) ?? options.engine;
    const { engine, calls } = measureEngine(this.#toEngine(planted));
    this.siteViews = new SiteViews(engine, allResources, random.pick([30_000, 10_000_000]), options);
    const systemSiteIndex = new SystemSiteIndex(allResources);
    this.siteViews.subscribeToSystemSite(systemSiteIndex);
    this.#notifier = new SiteChangeNotifier(engine);
    const parts = { engine, engineCalls: calls, siteViews: this.siteViews, systemSiteIndex, resources: allResources };
    const dependencies = {
      ...parts,
      lastBackup: new LastBackup(engine),
      verification: { families: () => [] },
      writeQueue: new WriteQueue(engine, this.siteViews),
      changeNotifier: this.#notifier,
      build: () => ({ version: "0.0.0", commit: "" }),
      log,
      accessLog: undefined,
      webhookAllow: [],
      now: () => time.now + this.#skew,
    };
    const failureLimit = { tokensPerSecond: 1000, maxTokens: 10_000 };
    const rules = { trustProxy: false, trustForwardedHost: false, servesMcp: false, keyLimit: undefined, failureLimit };
    const settings = {
      ...rules,
      ignoredParameters: [],
      slowMs: Number.POSITIVE_INFINITY,
      tls: undefined,
      connections: 100,
    };
    this.#http = createHttpParts(settings, dependencies, () => ({ listener, certificateExpiry: undefined }));
    plant?.server?.({ ...this.#http, siteViews: this.siteViews });
  }

  get handler() {
    return this.#http.handler;
  }

  /** Sets its clock. */
  jump(milliseconds: number): void {
    this.#skew += milliseconds;
  }

  kill(): void {
    this.life.kill();
    this.#notifier.stop();
  }

  /** Ends it like a reload: long polls end, and requests in flight get their responses. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.#http.longPolls.stop();
    await this.#options.time.sleep(10_000);
    await this.#http.authorizer.stop();
    this.#notifier.stop();
    this.life.end();
  }

  /** Returns the engine as a process of this kind has it, with failures. */
  #toEngine(engine: Engine): Engine {
    const { kind, commits, plant } = this.#options;
    const failing = this.life.wrap(engine);
    const mayMissCommits = kind === "remote" && plant?.secretlyLost === undefined;
    const subscribeToCommits: Engine["subscribeToCommits"] = (onCommit): CommitSubscription => {
      const { stop } = engine.subscribeToCommits((sites) => this.#notify(() => onCommit(sites)));
      return { mayMissCommits, stop };
    };
    const common = { ...failing, subscribeToCommits, readsOnThisThread: kind === "embedded" };
    if (kind === "remote") return common;
    let seen = -1;
    const checkUnchanged = () => {
      const isUnchanged = seen === commits();
      seen = commits();
      return isUnchanged;
    };
    const { replaceEpoch: _, ...embedded } = common;
    return { ...embedded, checkUnchanged };
  }

  /** Notifications are late and in any order. With a database server, some get lost. */
  #notify(callback: () => void): void {
    const { kind, random, time, plant } = this.#options;
    const lost = plant?.secretlyLost ?? (kind === "remote" ? lostNotifications : 0);
    if (!this.life.isAlive || random.chance(lost)) return;
    time.after(random.between(0, maxNotificationMs), () => void this.life.whenRunning(callback));
  }
}
