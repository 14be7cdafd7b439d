// Starts a child process and exchanges messages with it. This is the parent's side; the child's is worker.ts.

import { isExecutable } from "../../build.ts";
import type { ActivityAnswer, ActivityQuestion } from "../../http/common/activity.ts";
import type { MetricsSample } from "../../lib/metrics.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Certificate } from "../../wire/listen.ts";
import { type Listening, type MessageOfChild, type MessageOfParent, PendingRequests } from "./process-messages.ts";

/** If a worker takes longer, we use the metrics it sent last, and no answer. */
const sampleTimeoutMs = 1000;

/** A child process: a worker, or the admin process. */
export interface Child {
  /** Resolves with the exit status once the process has exited and all its messages have arrived. */
  readonly exited: Promise<number>;
  /** Rejects with a ProblemError if the process exits before it listens. It has then printed why to stderr. */
  readonly listening: Promise<Listening>;
  readonly lastSample: MetricsSample;
  /**
   * Asks the process for its metrics.
   * @param checksReadiness whether it should also check if it's ready
   * @returns whether it responded within a second
   */
  refreshSample(checksReadiness: boolean): Promise<boolean>;
  /** Resolves to undefined if there's no answer within a second. */
  ask(question: ActivityQuestion): Promise<ActivityAnswer>;
  /** Asks the process to leave its port to its successor. Waits until it listens, because it doesn't read messages before. */
  retire(): void;
  kill(signal: NodeJS.Signals): void;
}

interface ChildOptions {
  /** The name in messages: `worker` or `admin process`. */
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** Undefined for HTTP. */
  readonly certificate: Certificate | undefined;
  /** Collects all workers' metrics for the admin process. */
  readonly samples: () => Promise<readonly MetricsSample[]>;
  /** Asks all workers on behalf of the admin process. */
  readonly ask: (question: ActivityQuestion) => Promise<readonly ActivityAnswer[]>;
}

/** Runs the program that's on disk now, which may be a newer version than ours. */
export function startChild(options: ChildOptions): Child {
  const { name, env, certificate } = options;
  const received = new MessagesOfChild(options, send);
  const child = spawnServe(env, { certificate }, (message) => received.add(message));
  function send(message: MessageOfParent): void {
    try {
      child.send(message);
    } catch {
      // The process has exited or is about to.
    }
  }
  const { listening, samples, answers } = received;
  void child.exited.then(() => listening.reject(new ProblemError("unavailable", `the ${name} couldn't start`)));
  listening.promise.catch(() => {});
  return {
    exited: child.exited,
    listening: listening.promise,
    get lastSample() {
      return received.lastSample;
    },
    refreshSample: async (checksReadiness) =>
      (await samples.request((id) => send({ kind: "sample", id, isChecked: checksReadiness }), sampleTimeoutMs)) ===
      true,
    ask: (question) => answers.request((id) => send({ kind: "ask", id, question }), sampleTimeoutMs),
    retire: () =>
      void listening.promise.then(
        () => send({ kind: "retire" }),
        () => {},
      ),
    kill: (signal) => child.kill(signal),
  };
}

class MessagesOfChild {
  readonly listening = Promise.withResolvers<Listening>();
  readonly samples = new PendingRequests<true>();
  readonly answers = new PendingRequests<ActivityAnswer>();
  lastSample: MetricsSample = [];
  readonly #options: Pick<ChildOptions, "samples" | "ask">;
  readonly #send: (message: MessageOfParent) => void;

  constructor(options: Pick<ChildOptions, "samples" | "ask">, send: (message: MessageOfParent) => void) {
    this.#options = options;
    this.#send = send;
  }

  add(message: MessageOfChild): void {
    if (message.kind === "listening") this.listening.resolve(message);
    else if (message.kind === "answer") this.answers.respond(message.id, message.answer);
    else if (message.kind === "sample") {
      this.lastSample = message.sample;
      this.samples.respond(message.id, true);
    } else if (message.kind === "samples" || message.kind === "ask") {
      void answerAdmin(message, this.#options).then(this.#send);
    }
  }
}

async function answerAdmin(
  message: Extract<MessageOfChild, { kind: "samples" | "ask" }>,
  { samples, ask }: Pick<ChildOptions, "samples" | "ask">,
): Promise<MessageOfParent> {
  const { id } = message;
  if (message.kind === "samples") return { kind: "samples", id, samples: await samples() };
  return { kind: "answers", id, answers: await ask(message.question) };
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
  // A pipe rather than a Blob, because Bun would keep the Blob's file descriptor open. Errors don't matter here: a child that fails to start may not
  // read its input.
  const write = async () => {
    await child.stdin.write(JSON.stringify(input));
    await child.stdin.end();
  };
  void write().catch(() => {});
  return child;
}
