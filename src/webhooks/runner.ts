// Delivers a database's webhooks. Every server process has a runner, and leases decide which of them delivers a webhook (lease.ts).
//
// A webhook becomes due when its site has changed, or when a scan of all states finds it. Scans run every two to four seconds, and also take over from
// dead processes. Due webhooks wait in the delivery queue (delivery-queue.ts). A delivery makes at most one attempt (delivery.ts) and says when the
// next may start: `more` right away, `done` after the next change, `later` after the next scan, or after a change once the cool-down is over.
//
// Invariants:
// - A process makes one delivery per webhook at a time, and at most 64 in all, of which 32 go to failing or slow receivers.
// - While a site is being written to, its webhooks rest before they deliver more.
// - Changes are debounced after `done`, and ignored during a cool-down of two seconds after `later`. So even a busy site only costs a few requests a second.
// - `stop` aborts requests in flight and releases leases, so that another process can take over immediately.

import type { Logger } from "pino";
import { errorMessage } from "../lib/errors-for-log.ts";
import { createLogRateLimiter, type LogRateLimiter } from "../lib/logging.ts";
import type { Head } from "../model/head.ts";
import type { Resource } from "../model/resource.ts";
import type { WebhookRef, WebhookState } from "../model/webhooks.ts";
import type { ServedWebhook } from "../system/system-site-index.ts";
import { type DeliveryDependencies, deliverNext } from "./delivery.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { type KnownWebhook, mayHaveChanges, readKnownWebhooks } from "./known-webhooks.ts";
import { LastSent } from "./last-sent.ts";
import { type LeaseRef, type NextDelivery, releaseLease } from "./lease.ts";
import { isBackingOff, isServerPauseReason } from "./retry-policy.ts";
import { SharedPages } from "./shared-pages.ts";

const minScanPauseMs = 2000;
/** Short enough that another process takes over a webhook within 30 s. */
export const maxScanPauseMs = 4000;
/** The pause between scans, as a multiple of how long a scan takes. */
const pausePerScan = 20;
/** After `later`, changes don't start another delivery for this long. */
const coolDownMs = 2000;

/** An attempt that takes this long is slow. */
const slowMs = 1000;

/** How long to debounce after `done`, and the extra time for each webhook that's already debouncing. */
const debounceMs = 250;
const debouncePerWebhookMs = 20;

/**
 * How long webhooks rest, for each that does, before they deliver more from a site that's being written to. This leaves writers most of the time. Contract
 * section 12 promises these.
 */
const restPerWebhookMs = 7;
const maxRestMs = 1000;

/** Calls `onChange` after each change to the site, until the returned function is called. */
type SubscribeToSite = (site: number, head: Head, onChange: () => void) => () => void;

interface RunnerDependencies extends Omit<DeliveryDependencies, "lastSent" | "knownResumes" | "pages"> {
  /** By name. */
  readonly resources: ReadonlyMap<string, Resource>;
  readonly subscribeToSite: SubscribeToSite;
  readonly log: Pick<Logger, "warn">;
}

export class WebhookRunner {
  readonly #dependencies: RunnerDependencies & DeliveryDependencies;
  readonly #stop = new AbortController();
  readonly #deliveries = new DeliveryQueue((webhook, site) => void this.#deliver(webhook, site));
  readonly #leases = new Map<number, LeaseRef>();
  readonly #running = new Set<Promise<void>>();
  /** When each webhook's cool-down ends, on the monotonic clock. */
  readonly #coolingDownUntil = new Map<number, number>();
  readonly #lastSent = new LastSent();
  /** Webhooks whose last attempt in this process was slow. */
  readonly #slow = new Set<number>();
  /** Webhooks that are debouncing or resting, and whether their site has changed since their last delivery started. */
  readonly #debouncing = new Map<number, boolean>();
  /** They all stop resting at the same time, so that their deliveries share pages and transactions. */
  #resting: WebhookRef[] = [];
  /** How many rested together the last time. */
  #lastRested = 1;
  readonly #subscriptions = new Map<number, () => void>();
  readonly #logLimit: LogRateLimiter;
  #knownWebhooks: ReadonlyMap<number, KnownWebhook> = new Map();
  #pausedByServer: ReadonlyMap<number, KnownWebhook> = new Map();
  #bySite: ReadonlyMap<number, readonly ServedWebhook[]> = new Map();
  #cancelScan: () => void = () => {};

  constructor(dependencies: RunnerDependencies) {
    const { engine, resources, clock, onAttempt } = dependencies;
    this.#dependencies = {
      ...dependencies,
      lastSent: this.#lastSent,
      pages: new SharedPages(engine, resources, clock),
      knownResumes: (webhook) => this.#knownWebhooks.get(webhook)?.state.resumes,
      onAttempt: (outcome, webhook, milliseconds) => {
        this.#trackDuration(webhook, milliseconds);
        onAttempt(outcome, webhook, milliseconds);
      },
    };
    this.#logLimit = createLogRateLimiter(clock.now);
    this.#scheduleScan(0);
  }

  /** Webhooks that aren't paused and may deliver from this database, by ID, as of the last scan. */
  get knownWebhooks(): ReadonlyMap<number, KnownWebhook> {
    return this.#knownWebhooks;
  }

  /** Webhooks paused because their receivers failed, by ID. Metrics still show how far behind they are. */
  get pausedByServer(): ReadonlyMap<number, KnownWebhook> {
    return this.#pausedByServer;
  }

  /** Aborts requests in flight and releases leases, so that other processes can take over immediately. */
  async stop(): Promise<void> {
    this.#deliveries.stopStarting();
    this.#stop.abort();
    this.#cancelScan();
    for (const unsubscribe of this.#subscriptions.values()) unsubscribe();
    this.#subscriptions.clear();
    while (this.#running.size > 0) await Promise.all(this.#running);
    await Promise.allSettled([...this.#leases.values()].map((leaseRef) => releaseLease(leaseRef, "done")));
  }

  #scheduleScan(milliseconds: number): void {
    this.#cancelScan = this.#dependencies.clock.callAfter(milliseconds, () => this.#run(this.#scanAndReschedule()));
  }

  async #scanAndReschedule(): Promise<void> {
    const { clock } = this.#dependencies;
    const started = clock.monotonicMs();
    try {
      await this.#scan();
    } catch (error) {
      this.#logError(error);
    }
    const pause = pausePerScan * (clock.monotonicMs() - started);
    if (!this.#stop.signal.aborted) this.#scheduleScan(Math.min(Math.max(pause, minScanPauseMs), maxScanPauseMs));
  }

  /** Enqueues every webhook that may have changes to deliver. */
  async #scan(): Promise<void> {
    const { engine, index, catchUpIndex, clock } = this.#dependencies;
    await catchUpIndex();
    const active = index.listActive();
    this.#knownWebhooks = await readKnownWebhooks(active, engine);
    const pausedByServer = index.listPaused().filter(({ pauseReason = "" }) => isServerPauseReason(pauseReason));
    this.#pausedByServer = await readKnownWebhooks(pausedByServer, engine);
    this.#bySite = Map.groupBy(active, ({ site }) => site);
    this.#subscribeTo(new Map([...this.#knownWebhooks.values()].map(({ state, head }) => [state.site, head])));
    for (const id of this.#slow) if (!this.#knownWebhooks.has(id)) this.#slow.delete(id);
    for (const known of this.#knownWebhooks.values())
      if (mayHaveChanges(known, clock.now(), this.#lastSent)) this.#enqueueDelivery(known.state, known.state.failures);
    this.#lastSent.keep(this.#knownWebhooks);
    for (const [id, until] of this.#coolingDownUntil)
      if (until <= clock.monotonicMs()) this.#coolingDownUntil.delete(id);
  }

  /** Unsubscribes from all other sites. */
  #subscribeTo(heads: ReadonlyMap<number, Head>): void {
    for (const [site, unsubscribe] of this.#subscriptions) {
      if (heads.has(site)) continue;
      unsubscribe();
      this.#subscriptions.delete(site);
    }
    if (this.#stop.signal.aborted) return;
    for (const [site, head] of heads) {
      if (this.#subscriptions.has(site)) continue;
      this.#subscriptions.set(
        site,
        this.#dependencies.subscribeToSite(site, head, () => this.#onChange(site)),
      );
    }
  }

  #onChange(site: number): void {
    for (const { webhook } of this.#bySite.get(site) ?? []) this.#enqueueChanged(webhook);
  }

  /** Does nothing during a back-off or cool-down, and only remembers the change while debouncing. */
  #enqueueChanged(webhook: number): void {
    const known = this.#knownWebhooks.get(webhook);
    if (this.#debouncing.has(webhook)) this.#debouncing.set(webhook, true);
    else if (known && this.#mayDeliver(known.state)) this.#enqueueDelivery(known.state, known.state.failures);
  }

  /** @param failures attempts that failed since the last success */
  #enqueueDelivery({ webhook, site }: WebhookRef, failures = 0): void {
    this.#deliveries.enqueue(webhook, { site, speed: failures > 0 || this.#slow.has(webhook) ? "slow" : "quick" });
  }

  #trackDuration({ webhook }: ServedWebhook, milliseconds: number): void {
    if (milliseconds >= slowMs) this.#slow.add(webhook);
    else this.#slow.delete(webhook);
  }

  #mayDeliver(state: WebhookState): boolean {
    const { now, monotonicMs } = this.#dependencies.clock;
    return !isBackingOff(state, now()) && (this.#coolingDownUntil.get(state.webhook) ?? 0) <= monotonicMs();
  }

  #deliver(webhook: number, site: number): void {
    const leaseRef = this.#leases.get(webhook) ?? {};
    this.#leases.set(webhook, leaseRef);
    this.#run(
      deliverNext(webhook, leaseRef, this.#dependencies, this.#stop.signal)
        .catch((error): NextDelivery => {
          // We don't know what's stored now. The next delivery will read it.
          leaseRef.lease = undefined;
          this.#logError(error);
          return "later";
        })
        .then((result) => this.#afterDelivery({ webhook, site }, leaseRef, result)),
    );
  }

  #afterDelivery(webhookRef: WebhookRef, leaseRef: LeaseRef, result: NextDelivery): void {
    const { webhook } = webhookRef;
    if (!leaseRef.lease) this.#leases.delete(webhook);
    const { monotonicMs } = this.#dependencies.clock;
    const isChanged = this.#deliveries.finishDelivery(webhook);
    if (result === "more" && isChanged) this.#rest(webhookRef);
    else if (result === "more") this.#enqueueDelivery(webhookRef);
    else if (result === "later") this.#coolingDownUntil.set(webhook, monotonicMs() + coolDownMs);
    else this.#debounce(webhook, isChanged);
  }

  #rest(webhookRef: WebhookRef): void {
    this.#resting.push(webhookRef);
    this.#debouncing.set(webhookRef.webhook, true);
    if (this.#resting.length > 1) return;
    this.#dependencies.clock.callAfter(Math.min(maxRestMs, restPerWebhookMs * this.#lastRested), () => {
      const rested = this.#resting.splice(0);
      this.#lastRested = rested.length;
      for (const one of rested) {
        this.#debouncing.delete(one.webhook);
        this.#enqueueDelivery(one);
      }
    });
  }

  /** Waits a moment for more changes, so that a busy site costs a few requests per second instead of one per change. */
  #debounce(webhook: number, isChanged: boolean): void {
    this.#debouncing.set(webhook, isChanged);
    this.#dependencies.clock.callAfter(debounceMs + debouncePerWebhookMs * this.#debouncing.size, () => {
      const isWanted = this.#debouncing.get(webhook);
      this.#debouncing.delete(webhook);
      if (isWanted) this.#enqueueChanged(webhook);
    });
  }

  /** Makes `stop` wait for `work`, which must not reject. */
  #run(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #logError(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    const reason = errorMessage(error);
    this.#logLimit(reason, (suppressed) =>
      this.#dependencies.log.warn({ reason, suppressed }, "webhook delivery failed; it will be retried"),
    );
  }
}
