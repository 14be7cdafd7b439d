// Runs many short works without delaying anything else for long: a few in each turn of the event loop, the groups in rotation.

import type { MaybePromise } from "./maybe-promise.ts";

export interface FairWork {
  /** Must not throw or reject. */
  run(): MaybePromise<void>;
}

/**
 * Works in one turn of the event loop at most, since what they do later in the turn is not known, and the milliseconds after which no
 * other begins.
 */
const perTurn = 8;
const maxTasksMsPerTick = 1;
/** Works that may be unfinished. When what they wait for comes, they all go on in the same turn. */
const maxUnfinished = 100;

/** Works of a group that are kept although they have begun, at most: to remove each by itself would move all others. */
const maxBegun = 1000;

interface Group {
  readonly works: FairWork[];
  /** How many of them have begun. */
  begun: number;
}

export class FairQueue<Name> {
  /** The groups that have works which have not begun, by name. */
  readonly #groups = new Map<Name, Group>();
  /** They take turns: those of this round from `#at` on, and then those of the next. */
  #round: Name[] = [];
  #at = 0;
  #nextRound: Name[] = [];
  #unfinished = 0;
  #isScheduled = false;

  /** Adds a work at the end of its group. It begins in a later turn of the event loop. */
  add(name: Name, work: FairWork): void {
    const group = this.#groups.get(name);
    if (group) group.works.push(work);
    else {
      this.#groups.set(name, { works: [work], begun: 0 });
      this.#nextRound.push(name);
    }
    this.#schedule();
  }

  /** Does `work` in the turn of its group. Resolves or rejects as it does. */
  run<T>(name: Name, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.add(name, { run: () => work().then(resolve, reject) });
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#groups.size === 0 || this.#unfinished >= maxUnfinished) return;
    this.#isScheduled = true;
    setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#isScheduled = false;
    const end = performance.now() + maxTasksMsPerTick;
    for (let count = 0; count < perTurn && this.#unfinished < maxUnfinished; count++) {
      const work = this.#next();
      if (!work) return;
      this.#begin(work);
      if (performance.now() >= end) break;
    }
    this.#schedule();
  }

  #begin(work: FairWork): void {
    const running = work.run();
    if (!running) return;
    this.#unfinished++;
    void running.then(() => {
      this.#unfinished--;
      this.#schedule();
    });
  }

  #next(): FairWork | undefined {
    if (this.#groups.size === 0) return undefined;
    if (this.#at === this.#round.length) {
      this.#round = this.#nextRound;
      this.#nextRound = [];
      this.#at = 0;
    }
    const name = this.#round[this.#at++] as Name;
    const group = this.#groups.get(name) as Group;
    const work = group.works[group.begun++];
    if (group.begun >= maxBegun) group.works.splice(0, group.begun);
    group.begun %= maxBegun;
    if (group.begun < group.works.length) this.#nextRound.push(name);
    else this.#groups.delete(name);
    return work;
  }
}
