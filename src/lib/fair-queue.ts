// Runs many short tasks, a few per tick, so that they don't hold up anything else. A queue's groups take turns, so one with many tasks doesn't delay the
// others.

import type { MaybePromise } from "./maybe-promise.ts";
import { tickBudgetMs } from "./tick-budgets.ts";

export interface FairTask {
  /** Must not throw or reject. */
  run(): MaybePromise<void>;
}

/** How many tasks a queue starts per tick. A task may do more work later in the same tick, which isn't measured. */
const maxTasksPerTick = 8;
/** Per queue. When their I/O completes, they may all resume in the same tick. */
const maxRunningTasks = 100;

/** Started tasks are removed from a group's array this many at a time, because removing one moves all that follow. */
const compactThreshold = 1000;

interface Group {
  /** Undefined once started, because a task keeps its result in memory. */
  readonly tasks: (FairTask | undefined)[];
  /** How many of `tasks`, from the front, have been started. */
  started: number;
}

/** Queues with tasks to start. Each tick works through them from the front until the budget for short tasks is used up. */
const dueQueues: FairQueue<unknown>[] = [];
let areQueuesScheduled = false;

function scheduleQueue(queue: FairQueue<unknown>): void {
  dueQueues.push(queue);
  if (!areQueuesScheduled) setImmediate(runDueQueues);
  areQueuesScheduled = true;
}

function runDueQueues(): void {
  const end = performance.now() + tickBudgetMs.short;
  for (let visits = dueQueues.length; visits > 0 && performance.now() < end; visits--)
    dueQueues.shift()?.startTasks(end);
  areQueuesScheduled = dueQueues.length > 0;
  if (areQueuesScheduled) setImmediate(runDueQueues);
}

export class FairQueue<Name> {
  /** Groups with tasks to start. */
  readonly #groups = new Map<Name, Group>();
  /** The groups' order: the rest of this round, from `#roundIndex`, then `#nextRound`. */
  #round: Name[] = [];
  #roundIndex = 0;
  #nextRound: Name[] = [];
  #unfinished = 0;
  #isScheduled = false;

  /** Adds a task to the end of the group `name`. It starts in a later tick. */
  add(name: Name, task: FairTask): void {
    const group = this.#groups.get(name);
    if (group) group.tasks.push(task);
    else {
      this.#groups.set(name, { tasks: [task], started: 0 });
      this.#nextRound.push(name);
    }
    this.#schedule();
  }

  /** Runs `work` as a task in the group `name`, and settles like it. */
  run<T>(name: Name, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.add(name, { run: () => work().then(resolve, reject) });
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#groups.size === 0 || this.#unfinished >= maxRunningTasks) return;
    this.#isScheduled = true;
    scheduleQueue(this);
  }

  /** Starts up to 8 tasks, but none after `end` (by `performance.now()`). Called when it's the queue's turn. */
  startTasks(end: number): void {
    this.#isScheduled = false;
    for (let count = 0; count < maxTasksPerTick && this.#unfinished < maxRunningTasks; count++) {
      const task = this.#next();
      if (!task) return;
      this.#startTask(task);
      if (performance.now() >= end) break;
    }
    this.#schedule();
  }

  #startTask(task: FairTask): void {
    const running = task.run();
    if (!running) return;
    this.#unfinished++;
    void running.then(() => {
      this.#unfinished--;
      this.#schedule();
    });
  }

  #next(): FairTask | undefined {
    if (this.#groups.size === 0) return undefined;
    if (this.#roundIndex === this.#round.length) {
      this.#round = this.#nextRound;
      this.#nextRound = [];
      this.#roundIndex = 0;
    }
    const name = this.#round[this.#roundIndex++] as Name;
    const group = this.#groups.get(name) as Group;
    const task = group.tasks[group.started];
    group.tasks[group.started++] = undefined;
    if (group.started >= compactThreshold) group.tasks.splice(0, group.started);
    group.started %= compactThreshold;
    if (group.started < group.tasks.length) this.#nextRound.push(name);
    else this.#groups.delete(name);
    return task;
  }
}
