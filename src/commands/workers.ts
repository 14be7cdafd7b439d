// Several processes on one port. The parent serves no requests: it starts the workers, replaces those that die, and stops them.

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

/** Milliseconds that a worker must have run for its successor to start without a delay. */
const minUptime = 1000;
/** Milliseconds that workers may take to stop before they are killed; a worker itself stops waiting after 10 seconds. */
const stopTimeout = 15_000;

/**
 * Starts the workers and replaces each that ends. With port 0, the first picks a port and the others share it.
 * @throws Refusal `unavailable` when one cannot start; it has printed the reason to stderr, and the others are stopped
 */
export async function runWorkers(config: Config, env: Record<string, string>) {
  const running = new Set<Worker>();
  let stopping = false;

  function start(port: number): Worker {
    const worker = startWorker(port, env);
    replaceAtEnd(worker, port);
    return worker;
  }

  function replaceAtEnd(worker: Worker, port: number): void {
    const startedAt = performance.now();
    running.add(worker);
    void worker.exited.then(async (code) => {
      running.delete(worker);
      if (stopping) return;
      printMessage(`storefront: a worker ended with status ${code}; starting another`);
      if (performance.now() - startedAt < minUptime) await Bun.sleep(minUptime);
      if (!stopping) start(port);
    });
  }

  async function stop(): Promise<void> {
    stopping = true;
    const killTimer = setTimeout(() => signal(running, "SIGKILL"), stopTimeout);
    signal(running, "SIGTERM");
    await Promise.all([...running].map((worker) => worker.exited));
    clearTimeout(killTimer);
  }

  await claimPort(config);
  const first = startWorker(config.port, env);
  const { url, port } = await first.listening;
  replaceAtEnd(first, port);
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
