// Limits the work of operators. Of long work (undos, changes of many records, searches in all sites, files to download, copies for sandboxes and tests
// of webhooks), a few run at once for all operators together, and the others wait. Of reads, a few run at once for each operator.
//
// An example: two undos may run at once, and both places are taken. Anna sends three more, and then Ben sends one. When a place becomes free, Anna's first
// undo starts, then Ben's, then Anna's others. Anna leaves before her last one has started: it is discarded.

import { AbandonedWorkError } from "../lib/work-limiter.ts";
import { yieldToEventLoop } from "../lib/yielding.ts";
import { ProblemError } from "../model/errors.ts";
import type { WireRequest } from "../wire/request.ts";
import type { Session } from "./session.ts";

/** Maximum works of one operator that wait: more than the connections that a browser opens to a server. Each can keep a body of 1 MiB in memory. */
const maxWaitingOfOperator = 32;
/** The same for reads, which have no body. */
const maxWaitingReads = 64;

interface Asking {
  readonly request: WireRequest;
  readonly session: Session;
}

interface WaitingWork extends Pick<Asking, "request"> {
  start(): void;
  reject(error: AbandonedWorkError): void;
}

export class LongWork {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  #running = 0;
  /** The works that wait, by the ID of the operator, each in the order of the requests. The first operator is the next one. */
  readonly #waiting = new Map<number, readonly WaitingWork[]>();

  get running(): number {
    return this.#running;
  }

  /** @param maxWaiting of one operator */
  constructor(maxRunning: number, maxWaiting = maxWaitingOfOperator) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Runs `work` when it is its turn: the operators take turns.
   * @throws ProblemError `too-many-requests` if too many works of the operator wait; AbandonedWorkError if the client has left before the work started
   */
  async run<T>(asking: Asking, work: () => T | Promise<T>): Promise<T> {
    if (this.#running < this.#maxRunning) this.#running++;
    else await this.#wait(asking);
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #wait({ request, session }: Asking): Promise<void> {
    const { ID } = session.operator;
    const own = this.#discardAbandoned(this.#waiting.get(ID) ?? []);
    if (own.length >= this.#maxWaiting) {
      const detail = `${own.length} requests of this operator wait already; try again when they have ended`;
      throw new ProblemError("too-many-requests", detail, { retryAfterSeconds: 5 });
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(ID, [...own, { request, start: resolve, reject }]);
    return promise;
  }

  #startNext(): void {
    for (const [ID, works] of this.#waiting) {
      const [next, ...others] = this.#discardAbandoned(works);
      this.#waiting.delete(ID);
      if (others.length > 0) this.#waiting.set(ID, others);
      if (!next) continue;
      next.start();
      return;
    }
    this.#running--;
  }

  #discardAbandoned(works: readonly WaitingWork[]): readonly WaitingWork[] {
    return works.filter(({ request, reject }) => {
      if (request.isAbandoned) reject(new AbandonedWorkError());
      return !request.isAbandoned;
    });
  }
}

/** Maximum reads of one operator that run at once. */
const maxReads = 4;

/** Runs the reads of each operator, a few at once, and starts at most one per tick, because a read of the database can be synchronous. */
export class OperatorReads {
  readonly #reads = new Map<number, LongWork>();

  /** @throws as `LongWork.run` */
  async run<T>(asking: Asking, read: () => Promise<T>): Promise<T> {
    const { ID } = asking.session.operator;
    const reads = this.#reads.get(ID) ?? new LongWork(maxReads, maxWaitingReads);
    this.#reads.set(ID, reads);
    try {
      return await reads.run(asking, () => yieldToEventLoop().then(read));
    } finally {
      if (reads.running === 0) this.#reads.delete(ID);
    }
  }
}
