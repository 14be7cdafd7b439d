// Runs long work in slices, so that it delays no other client for long. The work is a generator that yields where it may pause.

import type { MaybePromise } from "./maybe-promise.ts";

/** Work that can pause at each `yield`. The time between two of them should be well below a millisecond. */
export type Steps<T> = Generator<void, T, void>;

/** Milliseconds before the event loop gets a turn: of all new work together, and of all work in progress together. */
const newWorkTime = 2;
const maxSlicesMsPerTick = 2;
/** Milliseconds before work in progress gives way to other work in progress. */
const taskTime = 1;

interface Task {
  readonly steps: Steps<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const tasks: Task[] = [];

/** What is left of `newWorkTime` in this turn of the event loop. The next turn begins with all of it again. */
let newWorkLeft = newWorkTime;
/** New work that waits for a turn in which new work has time left, in order. */
const newWork: (() => void)[] = [];

/**
 * Runs `steps` to their end: at once if they take at most one slice and new work still has time in this turn, otherwise over several turns
 * of the event loop. Returns their result, as a promise if they had to pause. @throws what `steps` throw
 */
export function inSlices<T>(steps: Steps<T>): MaybePromise<T> {
  const last = firstSlice(steps);
  return last ? last.value : otherSlices(steps);
}

/**
 * Runs the first slice of `steps`: at most `milliseconds`, and at most what other new work has left of this turn. Without anything left, it runs
 * nothing. Returns their result if they ended.
 */
export function firstSlice<T>(steps: Steps<T>, milliseconds = newWorkTime): { value: T } | undefined {
  if (newWorkLeft <= 0) return undefined;
  if (newWorkLeft === newWorkTime) setImmediate(beginTurn);
  const begin = performance.now();
  try {
    return runUntil(steps, begin + Math.min(milliseconds, newWorkLeft));
  } finally {
    newWorkLeft -= performance.now() - begin;
  }
}

/**
 * Calls `begin` when new work has time left: at once, or in a later turn of the event loop, in the order of the calls.
 * @param begin told whether it had to wait
 */
export function whenNewWorkMayBegin<T>(begin: (hasWaited: boolean) => MaybePromise<T>): MaybePromise<T> {
  if (newWorkLeft > 0) return begin(false);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  newWork.push(() => {
    try {
      resolve(begin(true));
    } catch (error) {
      reject(error);
    }
  });
  return promise;
}

function beginTurn(): void {
  newWorkLeft = newWorkTime;
  while (newWorkLeft > 0 && newWork.length > 0) newWork.shift()?.();
}

/** Runs the rest of `steps` over several turns of the event loop. */
export function otherSlices<T>(steps: Steps<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    tasks.push({ steps, resolve: resolve as (value: unknown) => void, reject });
    if (tasks.length === 1) setImmediate(takeTurn);
  });
}

/** Continues the tasks in rotation. */
function takeTurn(): void {
  const end = performance.now() + maxSlicesMsPerTick;
  for (let now = performance.now(); now < end && tasks.length > 0; now = performance.now()) {
    const task = tasks.shift() as Task;
    try {
      const last = runUntil(task.steps, Math.min(end, now + taskTime));
      if (last) task.resolve(last.value);
      else tasks.push(task);
    } catch (error) {
      task.reject(error);
    }
  }
  if (tasks.length > 0) setImmediate(takeTurn);
}

/** Runs `steps` until `end`, a time of `performance.now()`. Returns their result if they ended. */
function runUntil<T>(steps: Steps<T>, end: number): { value: T } | undefined {
  do {
    const step = steps.next();
    if (step.done) return { value: step.value };
  } while (performance.now() < end);
  return undefined;
}

// Turns of the event loop for long work that waits between its steps. Only one such work goes on in each turn, so that many of them together
// delay others no longer than one does.

/** Milliseconds of work before the event loop gets a turn. */
const maxBusyMs = 2;

const waiting: (() => void)[] = [];

/** Resolves in a later turn of the event loop, in which no other caller goes on. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(goOn);
  });
}

function goOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}

/** A function to call between two steps of long work. When the work has run for 2 ms, it waits until the event loop has had a turn. */
export function createPace(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < maxBusyMs) return undefined;
    return nextTurn().then(() => {
      since = performance.now();
    });
  };
}

/** `items`, with turns of the event loop in between. */
export async function* paced<T>(items: Iterable<T>): AsyncGenerator<T> {
  const pace = createPace();
  for (const item of items) {
    await pace();
    yield item;
  }
}

// Runs many short works without delaying anything else for long: a few in each turn of the event loop, the groups in rotation.

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

/** Resolves after one turn of the event loop, in which sockets are read. Long work waits with `nextTurn`, one work per turn. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
