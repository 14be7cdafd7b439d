// Starts a child process, and exchanges messages with it: the parent's side. The child's side is worker.ts.

import { isExecutable } from "../../build.ts";
import type { ActivityAnswer, ActivityQuestion } from "../../http/common/activity.ts";
import type { MetricsSample } from "../../lib/metrics.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Certificate } from "../../wire/listen.ts";
import { type Listening, type MessageOfChild, type MessageOfParent, PendingRequests } from "./process-messages.ts";

/** Maximum milliseconds that a worker takes to send its metrics, or an answer. If it takes longer, the metrics that it sent last count. */
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
  /** Asks the process about the activity of a site, and waits at most a second for its answer. */
  ask(question: ActivityQuestion): Promise<ActivityAnswer>;
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
  /** Asks all workers, for the admin process. */
  readonly ask: (question: ActivityQuestion) => Promise<readonly ActivityAnswer[]>;
}

/** Starts a process from the program that is on disk now, which an upgrade may have replaced. */
export function startChild(options: ChildOptions): Child {
  const { name, env, certificate } = options;
  const received = new MessagesOfChild(options, send);
  const child = spawnServe(env, { certificate }, (message) => received.add(message));
  function send(message: MessageOfParent): void {
    try {
      child.send(message);
    } catch {
      // The process has exited, or is about to.
    }
  }
  const { listening, samples, answers } = received;
  void child.exited.then(() => listening.reject(new ProblemError("unavailable", `the ${name} could not start`)));
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

/** Receives the messages of a child. */
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

/** Answers a question of the admin process for all workers. */
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
  // Write to a pipe instead of passing a Blob as stdin. Otherwise Bun would keep the file descriptor of the Blob open.
  // Ignore errors: a child that exits at once does not read its input.
  const write = async () => {
    await child.stdin.write(JSON.stringify(input));
    await child.stdin.end();
  };
  void write().catch(() => {});
  return child;
}
