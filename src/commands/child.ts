// The parent's side of a process that it started.

import { isExecutable } from "../build.ts";
import type { MetricsSample } from "../lib/metric-samples.ts";
import { Refusal } from "../model/errors.ts";
import type { Certificate } from "../wire/listen.ts";
import { type Listening, type MessageOfChild, type MessageOfParent, PendingRequests } from "./messages.ts";

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
