// Which webhook has the next turn. Webhooks whose last attempt failed or was slow get half of the turns at most, and those of one site an
// eighth, so that receivers that do not respond, or take long, delay no others.

/** Deliveries at once (contract section 12), how many of them may be to receivers that are probably slow, and how many of one site. */
const maxRunning = 64;
const maxSlow = maxRunning / 2;
const maxOfSite = 8;

type Speed = "quick" | "slow";

interface Turn {
  readonly site: number;
  readonly speed: Speed;
}

export class TurnQueue {
  /** The sites of the webhooks that wait. */
  readonly #waiting: Record<Speed, Map<number, number>> = { quick: new Map(), slow: new Map() };
  readonly #running = new Map<number, Turn>();
  /** Those that were added again during their turn. */
  readonly #again = new Set<number>();
  readonly #start: (webhook: number, site: number) => void;
  #isEnded = false;

  /** @param start takes a turn, and calls `done` at its end */
  constructor(start: (webhook: number, site: number) => void) {
    this.#start = start;
  }

  /** Gives the webhook a turn after those that wait. If it has one at the moment, `done` says that it was added again. */
  add(webhook: number, { site, speed }: Turn): void {
    if (this.#running.has(webhook)) return void this.#again.add(webhook);
    this.#waiting[speed === "slow" ? "quick" : "slow"].delete(webhook);
    this.#waiting[speed].set(webhook, site);
    this.#fill();
  }

  /** The turn of the webhook has ended. Returns whether it was added during that turn. */
  done(webhook: number): boolean {
    this.#running.delete(webhook);
    this.#fill();
    return this.#again.delete(webhook);
  }

  /** No turn starts any more. */
  end(): void {
    this.#isEnded = true;
  }

  #fill(): void {
    while (!this.#isEnded && this.#running.size < maxRunning) {
      const isSlowFull = this.#count(({ speed }) => speed === "slow") >= maxSlow;
      const isStarted = (!isSlowFull && this.#startNext("slow")) || this.#startNext("quick");
      if (!isStarted) return;
    }
  }

  /** Starts the first turn that may. It passes over a few webhooks at most: those of the sites that have all their turns. */
  #startNext(speed: Speed): boolean {
    for (const [webhook, site] of this.#waiting[speed]) {
      if (this.#count((turn) => turn.site === site) >= maxOfSite) continue;
      this.#waiting[speed].delete(webhook);
      this.#running.set(webhook, { site, speed });
      this.#start(webhook, site);
      return true;
    }
    return false;
  }

  #count(isMeant: (turn: Turn) => boolean): number {
    return [...this.#running.values()].filter(isMeant).length;
  }
}
