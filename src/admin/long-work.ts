// Limits what operators can keep the server busy with. All operators together can run a few long jobs (undos, changes to many records, searches across
// sites, downloads, sandbox copies and webhook tests), and each operator can run a few reads. The rest wait.
//
// For example, two undos can run at a time, and both are taken. Anna queues three more, then Ben queues one. As the running ones finish, Anna's first
// starts, then Ben's, then Anna's others. If she leaves before her last one starts, it's discarded.

import { AbandonedWorkError } from "../lib/work-limiter.ts";
import { yieldToEventLoop } from "../lib/yielding.ts";
import { ProblemError } from "../model/errors.ts";
import type { WireRequest } from "../wire/request.ts";
import type { Session } from "./session.ts";

/** Jobs an operator can queue: more than a browser opens connections to a server. Each can keep a body of 1 MiB in memory. */
const maxWaitingOfOperator = 32;
/** Reads an operator can queue. These have no body. */
const maxWaitingReads = 64;

interface Requester {
  readonly request: WireRequest;
  readonly session: Session;
}

interface QueuedJob extends Pick<Requester, "request"> {
  start(): void;
  reject(error: AbandonedWorkError): void;
}

export class LongWork {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  #running = 0;
  /** By operator ID, oldest first. The first operator is up next. */
  readonly #waiting = new Map<number, readonly QueuedJob[]>();

  get running(): number {
    return this.#running;
  }

  /** @param maxWaiting per operator */
  constructor(maxRunning: number, maxWaiting = maxWaitingOfOperator) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Waits for its turn. Operators take turns.
   * @throws ProblemError `too-many-requests` if the operator has queued too much; AbandonedWorkError if the client left before it started
   */
  async run<T>(requester: Requester, work: () => T | Promise<T>): Promise<T> {
    if (this.#running < this.#maxRunning) this.#running++;
    else await this.#wait(requester);
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #wait({ request, session }: Requester): Promise<void> {
    const { ID } = session.operator;
    const own = this.#discardAbandoned(this.#waiting.get(ID) ?? []);
    if (own.length >= this.#maxWaiting) {
      const detail = `you already have ${own.length} requests waiting; try again when they're done`;
      throw new ProblemError("too-many-requests", detail, { retryAfterSeconds: 5 });
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(ID, [...own, { request, start: resolve, reject }]);
    return promise;
  }

  #startNext(): void {
    for (const [ID, jobs] of this.#waiting) {
      const [next, ...others] = this.#discardAbandoned(jobs);
      this.#waiting.delete(ID);
      if (others.length > 0) this.#waiting.set(ID, others);
      if (!next) continue;
      next.start();
      return;
    }
    this.#running--;
  }

  #discardAbandoned(jobs: readonly QueuedJob[]): readonly QueuedJob[] {
    return jobs.filter(({ request, reject }) => {
      if (request.isAbandoned) reject(new AbandonedWorkError());
      return !request.isAbandoned;
    });
  }
}

/** Concurrent reads per operator. */
const maxReads = 4;

/** Starts at most one read per tick, because a read of the database can be synchronous. */
export class OperatorReads {
  readonly #reads = new Map<number, LongWork>();

  /** @throws like `LongWork.run` */
  async run<T>(requester: Requester, read: () => Promise<T>): Promise<T> {
    const { ID } = requester.session.operator;
    const reads = this.#reads.get(ID) ?? new LongWork(maxReads, maxWaitingReads);
    this.#reads.set(ID, reads);
    try {
      return await reads.run(requester, () => yieldToEventLoop().then(read));
    } finally {
      if (reads.running === 0) this.#reads.delete(ID);
    }
  }
}
