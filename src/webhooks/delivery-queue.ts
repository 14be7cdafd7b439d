// Decides which webhook is delivered next. At most half of the deliveries are to receivers whose last attempt failed or was slow, and at most an
// eighth are of one site. So receivers that do not respond, or respond slowly, do not delay the others.

/** Maximum deliveries in flight in this process (contract section 12). */
const maxRunning = 64;
/** Maximum deliveries in flight to receivers that are probably slow. */
const maxSlow = maxRunning / 2;
/** Maximum deliveries in flight of one site. */
const maxOfSite = 8;

type Speed = "quick" | "slow";

interface QueuedDelivery {
  readonly site: number;
  readonly speed: Speed;
}

/** The webhooks that wait for a delivery or are being delivered. A webhook is in it at most once. */
export class DeliveryQueue {
  /** The sites of the waiting webhooks, by webhook. Each map is in the order of waiting. */
  readonly #waiting: Record<Speed, Map<number, number>> = { quick: new Map(), slow: new Map() };
  readonly #running = new Map<number, QueuedDelivery>();
  /** Webhooks that were added again during their delivery. */
  readonly #addedWhileRunning = new Set<number>();
  readonly #start: (webhook: number, site: number) => void;
  #isEnded = false;

  /** @param start starts a delivery; call `finishDelivery` when it has ended */
  constructor(start: (webhook: number, site: number) => void) {
    this.#start = start;
  }

  /** Adds the webhook at the end of the queue. If it is being delivered, it is not added; `finishDelivery` then returns true. */
  enqueue(webhook: number, { site, speed }: QueuedDelivery): void {
    if (this.#running.has(webhook)) return void this.#addedWhileRunning.add(webhook);
    this.#waiting[speed === "slow" ? "quick" : "slow"].delete(webhook);
    this.#waiting[speed].set(webhook, site);
    this.#startWaiting();
  }

  /** Ends the delivery of the webhook, and starts waiting ones. Returns whether the webhook was added again in between. */
  finishDelivery(webhook: number): boolean {
    this.#running.delete(webhook);
    this.#startWaiting();
    return this.#addedWhileRunning.delete(webhook);
  }

  /** Starts no more deliveries. */
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

  /** Starts the first delivery that may start. It skips only webhooks of sites that have the maximum of deliveries in flight. */
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
