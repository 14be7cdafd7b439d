// The writer thread as the engine sees it: sends calls to writer-thread-main.ts, and returns their results.
//
// The thread executes the calls in the order in which they were sent, and answers in the same order. So each result belongs to the oldest call that
// waits for a result. The thread executes each call synchronously, so that no other call comes between two statements of a transaction.
//
// A transaction can also take several calls (`Engine.commitAtomically`). They are sent with `uninterrupted`, and all other calls wait until its end.
// For small operations it is the other way round: several of them are sent as one call, and share one transaction.
//
// If the thread ends, the outcomes of the calls in flight are unknown: they throw `unavailable`. The next call starts another thread.

import { Semaphore } from "../../lib/concurrency.ts";
import { nextImmediate } from "../../lib/yielding.ts";
import { ProblemError, unavailableError } from "../../model/errors.ts";
import { type OperationName, operations } from "../database/operations.ts";
import type { OperationCall, SendCall, WriterCall, WriterFailure, WriterResult, WriterStart } from "./messages.ts";

interface PendingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The writer thread. The first call starts it. */
export class WriterThread {
  readonly #start: WriterStart;
  #worker: Worker | undefined;
  readonly #pending: PendingCall[] = [];
  readonly #turns = new Semaphore(1);
  /** The end of the current `uninterrupted` work; undefined if any call may be sent. */
  #uninterrupted: Promise<void> | undefined;
  readonly #executeTogether = (calls: readonly OperationCall[]) => this.call("operations", calls);
  readonly #executeSmall = runInGroups(this.#executeTogether);

  constructor(start: WriterStart) {
    this.#start = start;
  }

  /** Sends a call, and returns its result. @throws ProblemError `unavailable` if the database cannot be used, or the thread ends before it answers */
  readonly call: SendCall = (name, ...args) =>
    this.#uninterrupted ? this.#uninterrupted.then(() => this.call(name, ...args)) : this.#send(name, ...args);

  /** Executes an operation, and returns its result. @throws the error of the operation, or as `call` does */
  execute(operation: OperationCall): Promise<unknown> {
    return isSmall(operation.name) ? this.#executeSmall(operation) : this.#executeTogether([operation]).then(first);
  }

  /** Runs `work` with a function that sends calls. The thread executes no other calls in between. */
  uninterrupted<T>(work: (call: SendCall) => Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      // The calls that waited for the work before go first. Otherwise long transactions could follow on each other.
      await nextImmediate();
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#uninterrupted = promise;
      try {
        return await work(this.#send);
      } finally {
        this.#uninterrupted = undefined;
        resolve();
      }
    });
  }

  readonly #send: SendCall = (name, ...args) => {
    this.#worker ??= this.#startWorker();
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve: resolve as PendingCall["resolve"], reject });
      worker.ref();
      worker.postMessage({ name, args } satisfies WriterCall);
    });
  };

  /** Closes the database and ends the thread, after all earlier calls. */
  async stop(): Promise<void> {
    if (!this.#worker) return;
    await this.call("close");
    const stopped = this.#worker;
    this.#worker = undefined;
    stopped?.terminate();
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL("./writer-thread-main.ts", import.meta.url).href);
    worker.onmessage = ({ data }: MessageEvent<WriterResult>) => {
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

  #settle(result: WriterResult): void {
    const call = this.#pending.shift();
    if ("value" in result) call?.resolve(result.value);
    else call?.reject(toThrownError(result.failure));
  }

  /** Rejects the calls in flight after the thread has ended for any reason. The next call starts another thread. */
  #ended(reason: string): void {
    this.#worker = undefined;
    const failure = unavailableError(`the writer thread ended${reason}; the writes in progress may have been stored`);
    for (const call of this.#pending.splice(0)) call.reject(failure);
  }
}

function toThrownError({ problem, code, message }: WriterFailure): Error {
  if (problem === "unavailable") return unavailableError(message);
  return problem ? new ProblemError(problem, message) : Object.assign(new Error(message), { code });
}

// Groups of small operations, each group in one transaction.

function isSmall(name: OperationName): boolean {
  return "isSmall" in operations[name];
}

function first([result]: readonly unknown[]): unknown {
  return result;
}

/** Maximum operations in one transaction. It takes a few milliseconds. During this time, other writers wait. */
const maxGroupOperations = 100;

interface WaitingOperation {
  readonly operation: OperationCall;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that executes a small operation. Operations that arrive while a transaction is in flight share the next one, so that they wait
 * for the disk only once. Otherwise a few webhooks of a site would delay the writes of its clients.
 * @param send executes several operations in one transaction, and returns their results
 */
export function runInGroups(
  send: (calls: readonly OperationCall[]) => Promise<readonly unknown[]>,
): (operation: OperationCall) => Promise<unknown> {
  const waiting: WaitingOperation[] = [];
  let isSending = false;

  async function sendAll(): Promise<void> {
    isSending = true;
    while (waiting.length > 0) await sendGroup(waiting.splice(0, maxGroupOperations));
    isSending = false;
  }

  async function sendGroup(group: readonly WaitingOperation[]): Promise<void> {
    try {
      const results = await send(group.map(({ operation }) => operation));
      group.forEach(({ resolve }, index) => void resolve(results[index]));
    } catch (error) {
      const isErrorOfAll = group.length === 1 || error instanceof ProblemError;
      if (isErrorOfAll) for (const { reject } of group) reject(error);
      // One of the operations has caused the error. Execute each in its own transaction, so that only that one fails.
      else for (const one of group) await sendGroup([one]);
    }
  }

  return (operation) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    waiting.push({ operation, resolve, reject });
    if (!isSending) void sendAll();
    return promise;
  };
}
