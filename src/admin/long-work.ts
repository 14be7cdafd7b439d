// Limits the long work of operators: undos, changes of many records, searches in all sites, files to download, copies for sandboxes and tests of
// webhooks. A few run at once, and the others wait.
//
// An example: two undos may run at once, and both places are taken. Anna sends three more, and then Ben sends one. When a place becomes free, Anna's first
// undo starts, then Ben's, then Anna's others. Anna leaves before her last one has started: it is discarded.

import { AbandonedWorkError } from "../lib/work-limiter.ts";
import { ProblemError } from "../model/errors.ts";
import type { ActionContext } from "./action-routes.ts";

/** Maximum works of one operator that wait: more than the connections that a browser opens to a server. Each can keep a body of 1 MiB in memory. */
const maxWaitingOfOperator = 32;

/** The request that asks for a work, and its operator. */
type Asking = Pick<ActionContext, "request" | "session">;

interface WaitingWork extends Pick<Asking, "request"> {
  start(): void;
  reject(error: AbandonedWorkError): void;
}

/** Runs long works, a limited number at once. */
export class LongWork {
  readonly #maxRunning: number;
  #running = 0;
  /** The works that wait, by the ID of the operator, each in the order of the requests. The first operator is the next one. */
  readonly #waiting = new Map<number, readonly WaitingWork[]>();

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
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
    if (own.length >= maxWaitingOfOperator) {
      const detail = `${own.length} requests of this operator wait already; try again when they have ended`;
      throw new ProblemError("too-many-requests", detail, { retryAfterSeconds: 5 });
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(ID, [...own, { request, start: resolve, reject }]);
    return promise;
  }

  /** Gives the place of a work that has ended to the next one. */
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

  /** Rejects the works whose clients have left, and returns the others. */
  #discardAbandoned(works: readonly WaitingWork[]): readonly WaitingWork[] {
    return works.filter(({ request, reject }) => {
      if (request.isAbandoned) reject(new AbandonedWorkError());
      return !request.isAbandoned;
    });
  }
}
