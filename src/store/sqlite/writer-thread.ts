// The writer thread, as the engine sees it. Sends calls to writer-thread-main.ts and returns their results.
//
// The thread executes calls in the order they were sent, and answers in that order, so each result belongs to the oldest call that's waiting. Calls
// are executed synchronously, so no other call can come between two statements of a transaction.
//
// A transaction can also take several calls (`Engine.commitAtomically`). Those are sent with `uninterrupted`, and all other calls wait until it ends.
// Small operations work the other way round: several of them are sent as one call and share a transaction.
//
// If the thread ends, the outcomes of calls in flight are unknown, and they throw `unavailable`. The next call starts a new thread.

import { Semaphore } from "../../lib/concurrency.ts";
import { nextImmediate } from "../../lib/yielding.ts";
import { ProblemError, unavailableError } from "../../model/errors.ts";
import { type OperationName, operations } from "../database/operations.ts";
import type { OperationCall, SendCall, WriterCall, WriterFailure, WriterResult, WriterStart } from "./messages.ts";

interface PendingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The thread is started by the first call. */
export class WriterThread {
  readonly #start: WriterStart;
  #worker: Worker | undefined;
  readonly #pending: PendingCall[] = [];
  readonly #turns = new Semaphore(1);
  /** Settles when the current `uninterrupted` work ends; undefined if any call may be sent. */
  #uninterrupted: Promise<void> | undefined;
  readonly #executeTogether = (calls: readonly OperationCall[]) => this.call("operations", calls);
  readonly #executeSmall = runInGroups(this.#executeTogether);

  constructor(start: WriterStart) {
    this.#start = start;
  }

  /** Sends a call and returns its result. @throws ProblemError `unavailable` if the database can't be used, or the thread ends before it answers */
  readonly call: SendCall = (name, ...args) =>
    this.#uninterrupted ? this.#uninterrupted.then(() => this.call(name, ...args)) : this.#send(name, ...args);

  /** @throws the operation's error, or like `call` */
  execute(operation: OperationCall): Promise<unknown> {
    return isSmall(operation.name) ? this.#executeSmall(operation) : this.#executeTogether([operation]).then(first);
  }

  /** Runs `work` with a function to send calls. The thread executes no others in between. */
  uninterrupted<T>(work: (call: SendCall) => Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      // Let calls that have waited for the previous work go first. Otherwise long transactions could follow each other without a gap.
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
      // An idle thread doesn't keep the process running.
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

  /** The thread has ended, for whatever reason, so reject the calls in flight. The next call starts a new one. */
  #ended(reason: string): void {
    this.#worker = undefined;
    const failure = unavailableError(`the writer thread ended${reason}; writes in progress may have been stored`);
    for (const call of this.#pending.splice(0)) call.reject(failure);
  }
}

function toThrownError({ problem, code, message }: WriterFailure): Error {
  if (problem === "unavailable") return unavailableError(message);
  return problem ? new ProblemError(problem, message) : Object.assign(new Error(message), { code });
}

function isSmall(name: OperationName): boolean {
  return "isSmall" in operations[name];
}

function first([result]: readonly unknown[]): unknown {
  return result;
}

/** A transaction of this size takes a few milliseconds, during which other writers wait. */
const maxGroupOperations = 100;

interface WaitingOperation {
  readonly operation: OperationCall;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs small operations. Those that arrive while a transaction is in flight share the next one, so that they only wait for the disk once. Otherwise a
 * few webhooks of a site would delay its clients' writes.
 * @param send runs several operations in one transaction and returns their results
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
      // One of the operations caused this. Run each in its own transaction, so that only that one fails.
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
