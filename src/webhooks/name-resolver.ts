// Resolves receivers' hostnames, at most four at a time. A lookup can't be aborted, and if no name server responds, it blocks a thread of the pool that
// also reads files.

import { lookup as lookupName } from "node:dns/promises";
import { type Clock, systemClock } from "./clock.ts";

/** Shared by all callers who want the same name. */
interface Lookup {
  /** Callers still waiting for the result. */
  waiterCount: number;
  readonly done: PromiseWithResolvers<readonly string[]>;
}

/** Resolves to at least one address. Rejects if there is none, or when `signal` aborts. */
export type LookupAddresses = (name: string, signal?: AbortSignal) => Promise<readonly string[]>;

/** Each gets an extra thread (bin/runtime-settings.js). */
const maxRunning = 4;
/** Of names that are unknown or were slow, so that there are always free threads for quick ones. */
const maxSlowLookups = maxRunning / 2;
/** How many names we remember as quick or slow. */
const maxRemembered = 10_000;
/** Faster lookups count as quick. */
const quickMs = 1000;

/** Slow names don't delay names that were quick the last time. */
export class NameResolver {
  readonly #resolve: (name: string) => Promise<readonly string[]>;
  readonly #elapsed: Clock["monotonicMs"];
  /** By name, oldest first. */
  readonly #waiting = new Map<string, Lookup>();
  readonly #running = new Map<string, Lookup>();
  /** Whether each name's last lookup was quick, oldest first. */
  readonly #wasQuick = new Map<string, boolean>();

  constructor(resolve: (name: string) => Promise<readonly string[]>, { monotonicMs }: Pick<Clock, "monotonicMs">) {
    this.#resolve = resolve;
    this.#elapsed = monotonicMs;
  }

  /**
   * Concurrent calls for the same name share a lookup.
   * @param signal ends the wait. If the lookup hasn't started and nobody else is waiting for it, it won't.
   * @throws the resolver's error, or the signal's reason
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

  /** Names that were quick go first, then new ones, then slow ones. */
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

const lookupTimeoutMs = 15_000;

/** Asks the operating system's resolver. @param signal ends the wait; by default after 15 s */
export const lookupAddresses: LookupAddresses = (name, signal = AbortSignal.timeout(lookupTimeoutMs)) =>
  lookups.resolveName(name, signal);
