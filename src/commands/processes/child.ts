// Starts a child process, and exchanges messages with it: the parent's side. The child's side is worker.ts.

import { isExecutable } from "../../build.ts";
import type { MetricsSample } from "../../lib/metrics.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Certificate } from "../../wire/listen.ts";
import { type Listening, type MessageOfChild, type MessageOfParent, PendingRequests } from "./process-messages.ts";

/** Maximum milliseconds that a worker takes to send its metrics. If it takes longer, the metrics that it sent last count. */
const sampleTimeoutMs = 1000;

/** A child process: a worker, or the admin process. */
export interface Child {
  /** Resolves with the exit status when the process has exited and all its messages have arrived. */
  readonly exited: Promise<number>;
  /** Resolves with the address when the process listens. Rejects with a ProblemError if it exits first; it has printed the reason to stderr. */
  readonly listening: Promise<Listening>;
  /** The metrics that the process sent last. */
  readonly lastSample: MetricsSample;
  /**
   * Asks the process for its metrics, and waits at most a second for them. Returns whether it responded.
   * @param checksReadiness whether the process also checks if it is ready
   */
  refreshSample(checksReadiness: boolean): Promise<boolean>;
  /** Asks the process to leave its port to its successor. The message is sent once the process listens, because it reads no messages before. */
  retire(): void;
  kill(signal: NodeJS.Signals): void;
}

interface ChildOptions {
  /** The name in messages: `worker` or `admin process`. */
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** Undefined for HTTP. */
  readonly certificate: Certificate | undefined;
  /** Collects the metrics of all workers, for the admin process. */
  readonly samples: () => Promise<readonly MetricsSample[]>;
}

/** Starts a process from the program that is on disk now, which an upgrade may have replaced. */
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
      // The process has exited, or is about to.
    }
  }
  void child.exited.then(() => listening.reject(new ProblemError("unavailable", `the ${name} could not start`)));
  listening.promise.catch(() => {});
  return {
    exited: child.exited,
    listening: listening.promise,
    get lastSample() {
      return lastSample;
    },
    refreshSample: async (checksReadiness) =>
      (await pending.request((id) => send({ kind: "sample", id, isChecked: checksReadiness }), sampleTimeoutMs)) ===
      true,
    retire: () =>
      void listening.promise.then(
        () => send({ kind: "retire" }),
        () => {},
      ),
    kill: (signal) => child.kill(signal),
  };
}

/** Starts `serve` as a child process, with `input` as JSON on its stdin. */
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
  // Write to a pipe instead of passing a Blob as stdin. Otherwise Bun would keep the file descriptor of the Blob open.
  // Ignore errors: a child that exits at once does not read its input.
  const write = async () => {
    await child.stdin.write(JSON.stringify(input));
    await child.stdin.end();
  };
  void write().catch(() => {});
  return child;
}
