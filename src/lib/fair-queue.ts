// Runs many short tasks, a few per tick, so that together they delay nothing else for long. The groups of a queue are served in rotation, so that a
// group with many tasks does not delay the others.

import type { MaybePromise } from "./maybe-promise.ts";
import { tickBudgetMs } from "./tick-budgets.ts";

export interface FairTask {
  /** Must not throw or reject. */
  run(): MaybePromise<void>;
}

/** Maximum tasks of one queue that start in one tick. A task may do more work later in the same tick, which is not measured. */
const maxTasksPerTick = 8;
/** Maximum running tasks per queue. When their I/O completes, all of them may resume in the same tick. */
const maxRunningTasks = 100;

/** Started tasks are removed from a group's array in chunks of this number, because removing one task moves all tasks after it. */
const compactThreshold = 1000;

interface Group {
  /** The tasks. A started one is undefined, because a task keeps its result in memory. */
  readonly tasks: (FairTask | undefined)[];
  /** The number of tasks at the beginning of `tasks` that were started. */
  started: number;
}

/** Queues with tasks to start. In each tick, queues at the front start tasks, until the time of short tasks is used up. */
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
  /** The groups that have tasks to start, by name. */
  readonly #groups = new Map<Name, Group>();
  /** The names of the groups in rotation: this round, from the index `#roundIndex` on; then the next round (`#nextRound`). */
  #round: Name[] = [];
  #roundIndex = 0;
  #nextRound: Name[] = [];
  #unfinished = 0;
  #isScheduled = false;

  /** Adds a task at the end of the group `name`. It starts in a later tick. */
  add(name: Name, task: FairTask): void {
    const group = this.#groups.get(name);
    if (group) group.tasks.push(task);
    else {
      this.#groups.set(name, { tasks: [task], started: 0 });
      this.#nextRound.push(name);
    }
    this.#schedule();
  }

  /** Runs `work` as a task of the group `name`. Resolves or rejects as `work` does. */
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

  /** Starts at most 8 tasks, and no task after `end`, a time of `performance.now()`. Called when the queue is due. */
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
