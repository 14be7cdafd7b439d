import { Refusal } from "../../model/errors.ts";
import type { WorkerCall, WorkerResult, WorkerStart } from "./worker.ts";

interface PendingCall {
  readonly resolve: (value: string) => void;
  readonly reject: (error: unknown) => void;
}

/** The thread of the write side. The first call starts it. It takes the calls in order, and responds in that order. */
export class WriterThread {
  readonly #start: WorkerStart;
  #worker: Worker | undefined;
  readonly #pending: PendingCall[] = [];
  /** Resolves when the calls that nothing may interrupt have ended. */
  #uninterrupted: Promise<void> | undefined;

  constructor(start: WorkerStart) {
    this.#start = start;
  }

  /** @throws Refusal `unavailable` if the database cannot be used, or the thread ends before it responds */
  call(request: WorkerCall): Promise<string> {
    return this.#uninterrupted ? this.#uninterrupted.then(() => this.call(request)) : this.#send(request);
  }

  /** Runs `work`, which gets a function to call with. No other call comes in between. */
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

  /** Closes the database and ends the thread, after the calls before. */
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

  /** Whatever ended the thread, its calls get no result. The next call starts another thread. */
  #ended(reason: string): void {
    this.#worker = undefined;
    const failure = unavailable(`the writer thread ended${reason}; what it was asked may have been done`);
    for (const call of this.#pending.splice(0)) call.reject(failure);
  }
}

function unavailable(detail: string): Refusal {
  return new Refusal("unavailable", detail, { retryAfter: 1 });
}
