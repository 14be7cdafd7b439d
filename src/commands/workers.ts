// Several processes on one port. The parent serves nothing: it starts them, replaces those that die, and ends them.

import type { Config } from "../config.ts";
import { Refusal } from "../model/errors.ts";
import { printMessage } from "./common.ts";
import { claimPort } from "./listen-on-port.ts";

interface Listening {
  readonly url: string;
  readonly port: number;
}

interface Worker {
  readonly exited: Promise<number>;
  readonly listening: Promise<Listening>;
  kill(signal: NodeJS.Signals): void;
}

/** How long a worker must have lived for the next one to be started at once, in milliseconds. */
const minUptime = 1000;
/** How long workers may take to end before they are killed; they themselves give up after ten seconds. */
const stopTimeout = 15_000;

/**
 * Starts the workers and keeps that many running. Port 0: the first picks one and the others share it.
 * @throws Refusal `unavailable` when one cannot start; it has told why on stderr, and the others are ended
 */
export async function runWorkers(config: Config, env: Record<string, string>) {
  const running = new Set<Worker>();
  let stopping = false;

  function start(port: number): Worker {
    const worker = startWorker(port, env);
    keep(worker, port);
    return worker;
  }

  function keep(worker: Worker, port: number): void {
    const born = performance.now();
    running.add(worker);
    void worker.exited.then(async (code) => {
      running.delete(worker);
      if (stopping) return;
      printMessage(`storefront: a worker ended (${code}); another takes its place`);
      if (performance.now() - born < minUptime) await Bun.sleep(minUptime);
      if (!stopping) start(port);
    });
  }

  async function stop(): Promise<void> {
    stopping = true;
    const impatient = setTimeout(() => signal(running, "SIGKILL"), stopTimeout);
    signal(running, "SIGTERM");
    await Promise.all([...running].map((worker) => worker.exited));
    clearTimeout(impatient);
  }

  await claimPort(config);
  const first = startWorker(config.port, env);
  const { url, port } = await first.listening;
  keep(first, port);
  try {
    const others = Array.from({ length: config.workers - 1 }, () => start(port));
    await Promise.all(others.map((worker) => worker.listening));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}

function signal(workers: Iterable<Worker>, name: NodeJS.Signals): void {
  for (const worker of workers) worker.kill(name);
}

function startWorker(port: number, env: Record<string, string>): Worker {
  const { promise, resolve, reject } = Promise.withResolvers<Listening>();
  const child = Bun.spawn({
    cmd: [process.execPath, Bun.main, "serve"],
    env: { ...env, STOREFRONT_WORKER: "1", STOREFRONT_PORT: String(port) },
    stdio: ["ignore", "inherit", "inherit"],
    ipc: resolve,
  });
  void child.exited.then(() => reject(new Refusal("unavailable", "a worker could not start")));
  promise.catch(() => {});
  return { exited: child.exited, listening: promise, kill: (name) => child.kill(name) };
}
