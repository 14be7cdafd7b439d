// The writer thread as the engine sees it: sends calls to worker.ts, and returns their results.
//
// The thread executes the calls in the order in which they were sent, and answers in the same order. So each result belongs to the oldest call that
// waits for a result. The thread executes each call synchronously, so that no other call comes between two statements of a transaction.
//
// A transaction can also take several calls (`Engine.commitAtomically`). They are sent with `uninterrupted`, and all other calls wait until its end.
// For the small writes of webhooks it is the other way round: webhook-batches.ts sends several of them as one call, in one transaction.
//
// If the thread ends, the outcomes of the calls in flight are unknown: they throw `unavailable`. The next call starts another thread.

import { ProblemError } from "../../model/errors.ts";
import type { WorkerCall, WorkerResult, WorkerStart } from "./worker.ts";

interface PendingCall {
  readonly resolve: (value: string) => void;
  readonly reject: (error: unknown) => void;
}

/** The writer thread. The first call starts it. */
export class WriterThread {
  readonly #start: WorkerStart;
  #worker: Worker | undefined;
  readonly #pending: PendingCall[] = [];
  /** The end of the present `uninterrupted` work; undefined if any call may be sent. */
  #uninterrupted: Promise<void> | undefined;

  constructor(start: WorkerStart) {
    this.#start = start;
  }

  /** Sends a call, and returns its result. @throws ProblemError `unavailable` if the database cannot be used, or the thread ends before it answers */
  call(request: WorkerCall): Promise<string> {
    return this.#uninterrupted ? this.#uninterrupted.then(() => this.call(request)) : this.#send(request);
  }

  /** Runs `work` with a function that sends calls. The thread executes no other calls in between. */
  async uninterrupted<T>(work: (call: (request: WorkerCall) => Promise<string>) => Promise<T>): Promise<T> {
    while (this.#uninterrupted) await this.#uninterrupted;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#uninterrupted = promise;
    try {
      return await work((request) => this.#send(request));
    } finally {
      this.#uninterrupted = undefined;
      resolve();
    }
  }

  #send(request: WorkerCall): Promise<string> {
    this.#worker ??= this.#startWorker();
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      worker.ref();
      worker.postMessage(request);
    });
  }

  /** Closes the database and ends the thread, after all earlier calls. */
  async stop(): Promise<void> {
    if (!this.#worker) return;
    await this.call({ name: "close" });
    const stopped = this.#worker;
    this.#worker = undefined;
    stopped?.terminate();
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url).href);
    worker.onmessage = ({ data }: MessageEvent<WorkerResult>) => {
      this.#settle(data);
      // A thread without calls does not keep the process running.
      if (this.#pending.length === 0) worker.unref();
    };
    let reason = "";
    worker.onerror = ({ message }) => {
      reason = `: ${message}`;
    };
    worker.addEventListener("close", () => this.#ended(reason));
    worker.postMessage(this.#start);
    return worker;
  }

  #settle(result: WorkerResult): void {
    const call = this.#pending.shift();
    if ("value" in result) call?.resolve(result.value);
    else if (result.failure.unavailable) call?.reject(unavailable(result.failure.message));
    else call?.reject(new Error(result.failure.message));
  }

  /** Rejects the calls in flight after the thread has ended for any reason. The next call starts another thread. */
  #ended(reason: string): void {
    this.#worker = undefined;
    const failure = unavailable(`the writer thread ended${reason}; the writes in progress may have been stored`);
    for (const call of this.#pending.splice(0)) call.reject(failure);
  }
}

function unavailable(detail: string): ProblemError {
  return new ProblemError("unavailable", detail, { retryAfterSeconds: 1 });
}
