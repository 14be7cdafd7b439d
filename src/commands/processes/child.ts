// The parent's side of a process that it started.

import { isExecutable } from "../../build.ts";
import type { MetricsSample } from "../../lib/metrics.ts";
import { Refusal } from "../../model/errors.ts";
import type { Certificate } from "../../wire/listen.ts";

/** Milliseconds in which a worker must send its metrics. Then those that it sent last count. */
const sampleTimeout = 1000;

export interface Child {
  /** Resolves with the exit status when the process has ended and all its messages have arrived. */
  readonly exited: Promise<number>;
  /** Where it listens. Rejects with a Refusal if it ends before that; it has printed the reason to stderr. */
  readonly listening: Promise<Listening>;
  /** The metrics that it sent last. */
  readonly lastSample: MetricsSample;
  /**
   * Asks for its metrics, and waits for them for at most a second. Returns whether it has responded.
   * @param isChecked whether it finds out if it is ready
   */
  refreshSample(isChecked: boolean): Promise<boolean>;
  /** Asks it to leave its port to its successor, as soon as it listens: before, it takes no messages. */
  retire(): void;
  kill(signal: NodeJS.Signals): void;
}

interface ChildOptions {
  /** For messages: `worker` or `admin process`. */
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** Undefined for HTTP. */
  readonly certificate: Certificate | undefined;
  /** The metrics of all workers, for the admin process. */
  readonly samples: () => Promise<readonly MetricsSample[]>;
}

/** Starts a process from what is on disk now. */
export function startChild({ name, env, certificate, samples }: ChildOptions): Child {
  const listening = Promise.withResolvers<Listening>();
  const pending = new PendingRequests<true>();
  let lastSample: MetricsSample = [];
  const onMessage = (message: MessageOfChild) => {
    if (message.kind === "listening") listening.resolve(message);
    else if (message.kind === "samples") void samples().then((all) => send({ ...message, samples: all }));
    else if (message.kind === "sample") {
      lastSample = message.sample;
      pending.respond(message.id, true);
    }
  };
  const child = spawnServe(env, { certificate }, onMessage);
  function send(message: MessageOfParent): void {
    try {
      child.send(message);
    } catch {
      // It has ended, or is about to.
    }
  }
  void child.exited.then(() => listening.reject(new Refusal("unavailable", `the ${name} could not start`)));
  listening.promise.catch(() => {});
  return {
    exited: child.exited,
    listening: listening.promise,
    get lastSample() {
      return lastSample;
    },
    refreshSample: async (isChecked) =>
      (await pending.request((id) => send({ kind: "sample", id, isChecked }), sampleTimeout)) === true,
    retire: () =>
      void listening.promise.then(
        () => send({ kind: "retire" }),
        () => {},
      ),
    kill: (signal) => child.kill(signal),
  };
}

/** Starts `serve` with `input` as JSON on stdin. */
function spawnServe(
  env: Readonly<Record<string, string>>,
  input: object,
  onMessage: (message: MessageOfChild) => void,
): Bun.Subprocess<"pipe", "inherit", "inherit"> {
  const child = Bun.spawn({
    cmd: [process.execPath, ...(isExecutable ? [] : [...process.execArgv, Bun.main]), "serve"],
    env,
    stdio: ["pipe", "inherit", "inherit"],
    ipc: onMessage,
  });
  // Not a Blob for stdin: the runtime would keep its file descriptor. A child that ends at once does not read it.
  const write = async () => {
    await child.stdin.write(JSON.stringify(input));
    await child.stdin.end();
  };
  void write().catch(() => {});
  return child;
}

// What the processes of one server send to each other. After an upgrade, a parent of the previous version works with children of the next one
// (SIGHUP), so a message may gain members, but none may change or go away.

/** Where a child listens; of a worker, what it found in the database. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Whether it created the database. */
  readonly isNew?: boolean | undefined;
  /** The sites that it serves; undefined if the database could not be read. */
  readonly sites?: number | undefined;
}

export type MessageOfChild =
  | ({ readonly kind: "listening" } & Listening)
  /** The metrics of a worker: in response to `sample`, or with `id` 0 before it ends. */
  | { readonly kind: "sample"; readonly id: number; readonly sample: MetricsSample }
  /** The admin process needs the metrics of all workers. */
  | { readonly kind: "samples"; readonly id: number };

export type MessageOfParent =
  /** A successor listens: accept no more connections, and end. */
  | { readonly kind: "retire" }
  | { readonly kind: "sample"; readonly id: number; readonly isChecked?: boolean }
  | { readonly kind: "samples"; readonly id: number; readonly samples: readonly MetricsSample[] };

/** Requests to another process that wait for its response. */
export class PendingRequests<T> {
  readonly #waiting = new Map<number, (response: T | undefined) => void>();
  #last = 0;

  /** Sends a request under a new ID. Returns the response, or undefined if there is none after so many milliseconds. */
  async request(send: (id: number) => void, timeout: number): Promise<T | undefined> {
    const id = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const timer = setTimeout(() => resolve(undefined), timeout);
    this.#waiting.set(id, resolve);
    try {
      send(id);
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  respond(id: number, response: T): void {
    this.#waiting.get(id)?.(response);
  }
}
