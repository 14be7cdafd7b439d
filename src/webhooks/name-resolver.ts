// Resolves the names of receivers, at most four at once. A lookup cannot be aborted. While no name server responds, it occupies a thread of the pool
// that also reads files.

import { lookup as lookupName } from "node:dns/promises";
import { type Clock, systemClock } from "./clock.ts";

/** A lookup that waits or runs, for all callers that want this name. */
interface Lookup {
  /** Callers that still wait for the result. */
  waiterCount: number;
  readonly done: PromiseWithResolvers<readonly string[]>;
}

/** Returns the addresses of a name, at least one. Rejects if it has none, and when `signal` aborts. */
export type LookupAddresses = (name: string, signal?: AbortSignal) => Promise<readonly string[]>;

/** Maximum lookups that run at the same time. The runtime has one thread more for each of them (bin/runtime-settings.js). */
const maxRunning = 4;
/** Maximum concurrent lookups of names that were slow or unknown, so that quick names always have free threads. */
const maxSlowLookups = maxRunning / 2;
/** Maximum names whose last lookup is remembered as quick or slow. */
const maxRemembered = 10_000;
/** Milliseconds below which a lookup counts as quick. */
const quickMs = 1000;

/** Resolves names with a limit on concurrent lookups. A name that was quick the last time is not delayed by slow names. */
export class NameResolver {
  readonly #resolve: (name: string) => Promise<readonly string[]>;
  readonly #elapsed: Clock["monotonicMs"];
  /** Lookups that wait, by name, the oldest first. */
  readonly #waiting = new Map<string, Lookup>();
  readonly #running = new Map<string, Lookup>();
  /** Whether the last lookup of each name was quick. The oldest lookup comes first. */
  readonly #wasQuick = new Map<string, boolean>();

  constructor(resolve: (name: string) => Promise<readonly string[]>, { monotonicMs }: Pick<Clock, "monotonicMs">) {
    this.#resolve = resolve;
    this.#elapsed = monotonicMs;
  }

  /**
   * Resolves `name` to its addresses, at least one. Callers that ask for the same name at the same time share one lookup.
   * @param signal ends the wait. If the lookup has not started and no other caller waits for it, it does not start.
   * @throws the error of the resolver, or the reason of `signal`
   */
  readonly resolveName: LookupAddresses = async (name, signal) => {
    signal?.throwIfAborted();
    const lookup = this.#running.get(name) ?? this.#waiting.get(name) ?? this.#add(name);
    lookup.waiterCount++;
    this.#startLookups();
    try {
      return await (signal ? Promise.race([lookup.done.promise, rejectOnAbort(signal)]) : lookup.done.promise);
    } finally {
      lookup.waiterCount--;
      if (lookup.waiterCount === 0 && this.#waiting.get(name) === lookup) this.#waiting.delete(name);
    }
  };

  #add(name: string): Lookup {
    const lookup = { waiterCount: 0, done: Promise.withResolvers<readonly string[]>() };
    lookup.done.promise.catch(() => {});
    this.#waiting.set(name, lookup);
    return lookup;
  }

  /** Starts waiting lookups: first of names that were quick, then of new names, then of slow ones. */
  #startLookups(): void {
    for (const wanted of [true, undefined, false]) {
      for (const [name, lookup] of this.#waiting) {
        if (this.#wasQuick.get(name) !== wanted) continue;
        if (this.#running.size >= maxRunning || (!wanted && this.#countSlowLookups() >= maxSlowLookups)) return;
        this.#waiting.delete(name);
        this.#running.set(name, lookup);
        void this.#run(name, lookup);
      }
    }
  }

  #countSlowLookups(): number {
    return [...this.#running.keys()].filter((name) => !this.#wasQuick.get(name)).length;
  }

  async #run(name: string, { done }: Lookup): Promise<void> {
    const startedAt = this.#elapsed();
    await this.#resolve(name).then(done.resolve, done.reject);
    this.#running.delete(name);
    this.#remember(name, this.#elapsed() - startedAt < quickMs);
    this.#startLookups();
  }

  #remember(name: string, wasQuick: boolean): void {
    this.#wasQuick.delete(name);
    const [oldest] = this.#wasQuick.keys();
    if (this.#wasQuick.size >= maxRemembered && oldest !== undefined) this.#wasQuick.delete(oldest);
    this.#wasQuick.set(name, wasQuick);
  }
}

/** Returns a promise that rejects when `signal` aborts. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

const lookups = new NameResolver(async (name) => {
  const all = await lookupName(name, { all: true });
  if (all.length === 0) throw new Error("no addresses");
  return all.map(({ address }) => address);
}, systemClock);

/** Milliseconds for a lookup without a signal. */
const lookupTimeoutMs = 15_000;

/** Returns the addresses of a name by the resolver of the operating system, at least one. @param signal ends the wait; by default after 15 s */
export const lookupAddresses: LookupAddresses = (name, signal = AbortSignal.timeout(lookupTimeoutMs)) =>
  lookups.resolveName(name, signal);
