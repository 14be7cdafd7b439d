// Looks up the names of receivers, a few at once. A look-up cannot be ended, and while no name server responds it keeps a thread that reads
// files, too.

import { lookup as lookupName } from "node:dns/promises";
import { type Clock, systemClock } from "./lease.ts";

/** A look-up that waits or is under way, for all that want it. */
interface Lookup {
  /** How many still wait for it. */
  wanted: number;
  readonly done: PromiseWithResolvers<readonly string[]>;
}

/** The addresses of a name, at least one. Rejects when there are none, and when `signal` aborts. */
export type LookupAddresses = (name: string, signal?: AbortSignal) => Promise<readonly string[]>;

/** Look-ups under way: the runtime has so many threads more than it needs otherwise (bin/runtime-settings.js). */
const maxRunning = 4;
/** Those of names that were not quick the last time, so that the others never wait for these alone; and names of which that is remembered. */
const maxUnproven = maxRunning / 2;
const maxRemembered = 10_000;
/** Milliseconds of a quick look-up. */
const quickTime = 1000;

export class Lookups {
  readonly #resolve: (name: string) => Promise<readonly string[]>;
  readonly #elapsed: Clock["elapsed"];
  /** By name, in the order in which they were asked for. */
  readonly #waiting = new Map<string, Lookup>();
  readonly #running = new Map<string, Lookup>();
  /** Whether the last look-up of a name was quick. The longest ago first. */
  readonly #wasQuick = new Map<string, boolean>();

  constructor(resolve: (name: string) => Promise<readonly string[]>, { elapsed }: Pick<Clock, "elapsed">) {
    this.#resolve = resolve;
    this.#elapsed = elapsed;
  }

  /**
   * The addresses of `name`, at least one. All that ask for a name at the same time share one look-up.
   * @param signal ends the wait; one that has not begun then does not begin
   * @throws what the resolver throws, or the reason of `signal`
   */
  readonly addressesOf: LookupAddresses = async (name, signal) => {
    signal?.throwIfAborted();
    const lookup = this.#running.get(name) ?? this.#waiting.get(name) ?? this.#add(name);
    lookup.wanted++;
    this.#fill();
    try {
      return await (signal ? Promise.race([lookup.done.promise, rejection(signal)]) : lookup.done.promise);
    } finally {
      lookup.wanted--;
      if (lookup.wanted === 0 && this.#waiting.get(name) === lookup) this.#waiting.delete(name);
    }
  };

  #add(name: string): Lookup {
    const lookup = { wanted: 0, done: Promise.withResolvers<readonly string[]>() };
    lookup.done.promise.catch(() => {});
    this.#waiting.set(name, lookup);
    return lookup;
  }

  /** Begins with names that were quick; then come new ones, and then slow ones. */
  #fill(): void {
    for (const wanted of [true, undefined, false]) {
      for (const [name, lookup] of this.#waiting) {
        if (this.#wasQuick.get(name) !== wanted) continue;
        if (this.#running.size >= maxRunning || (!wanted && this.#unproven() >= maxUnproven)) return;
        this.#waiting.delete(name);
        this.#running.set(name, lookup);
        void this.#run(name, lookup);
      }
    }
  }

  #unproven(): number {
    return [...this.#running.keys()].filter((name) => !this.#wasQuick.get(name)).length;
  }

  async #run(name: string, { done }: Lookup): Promise<void> {
    const begun = this.#elapsed();
    await this.#resolve(name).then(done.resolve, done.reject);
    this.#running.delete(name);
    this.#remember(name, this.#elapsed() - begun < quickTime);
    this.#fill();
  }

  #remember(name: string, wasQuick: boolean): void {
    this.#wasQuick.delete(name);
    const [oldest] = this.#wasQuick.keys();
    if (this.#wasQuick.size >= maxRemembered && oldest !== undefined) this.#wasQuick.delete(oldest);
    this.#wasQuick.set(name, wasQuick);
  }
}

/** Rejects when `signal` aborts. */
export function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

const lookups = new Lookups(async (name) => {
  const all = await lookupName(name, { all: true });
  if (all.length === 0) throw new Error("no addresses");
  return all.map(({ address }) => address);
}, systemClock);

/** Milliseconds for a look-up that has no signal. */
const lookupTimeout = 15_000;

/** The addresses of a name by the resolver of the system, at least one. @param signal ends the wait; by default after 15 s */
export const lookupAddresses: LookupAddresses = (name, signal = AbortSignal.timeout(lookupTimeout)) =>
  lookups.addressesOf(name, signal);
