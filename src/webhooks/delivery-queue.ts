// Decides which webhook is delivered next. At most half of all deliveries go to receivers whose last attempt failed or was slow, and at most an eighth
// belong to one site. So receivers that are slow or don't respond can't hold up the others.

/** Deliveries in flight in this process (contract section 12). */
const maxRunning = 64;
/** To receivers that are probably slow. */
const maxSlow = maxRunning / 2;
/** For one site. */
const maxOfSite = 8;

type Speed = "quick" | "slow";

interface QueuedDelivery {
  readonly site: number;
  readonly speed: Speed;
}

/** Has each webhook at most once, either waiting or being delivered. */
export class DeliveryQueue {
  /** Site by webhook, longest waiting first. */
  readonly #waiting: Record<Speed, Map<number, number>> = { quick: new Map(), slow: new Map() };
  readonly #running = new Map<number, QueuedDelivery>();
  /** Webhooks that were enqueued again during their delivery. */
  readonly #addedWhileRunning = new Set<number>();
  readonly #start: (webhook: number, site: number) => void;
  #isEnded = false;

  /** @param start starts a delivery; call `finishDelivery` once it's done */
  constructor(start: (webhook: number, site: number) => void) {
    this.#start = start;
  }

  /** Doesn't enqueue a webhook that's being delivered, but makes `finishDelivery` return true. */
  enqueue(webhook: number, { site, speed }: QueuedDelivery): void {
    if (this.#running.has(webhook)) return void this.#addedWhileRunning.add(webhook);
    this.#waiting[speed === "slow" ? "quick" : "slow"].delete(webhook);
    this.#waiting[speed].set(webhook, site);
    this.#startWaiting();
  }

  /** @returns whether the webhook was enqueued again in between */
  finishDelivery(webhook: number): boolean {
    this.#running.delete(webhook);
    this.#startWaiting();
    return this.#addedWhileRunning.delete(webhook);
  }

  stopStarting(): void {
    this.#isEnded = true;
  }

  #startWaiting(): void {
    while (!this.#isEnded && this.#running.size < maxRunning) {
      const isSlowFull = this.#count(({ speed }) => speed === "slow") >= maxSlow;
      const isStarted = (!isSlowFull && this.#startNext("slow")) || this.#startNext("quick");
      if (!isStarted) return;
    }
  }

  /** Skips webhooks whose site already has `maxOfSite` deliveries in flight. */
  #startNext(speed: Speed): boolean {
    for (const [webhook, site] of this.#waiting[speed]) {
      if (this.#count((delivery) => delivery.site === site) >= maxOfSite) continue;
      this.#waiting[speed].delete(webhook);
      this.#running.set(webhook, { site, speed });
      this.#start(webhook, site);
      return true;
    }
    return false;
  }

  #count(isCounted: (delivery: QueuedDelivery) => boolean): number {
    return [...this.#running.values()].filter(isCounted).length;
  }
}
