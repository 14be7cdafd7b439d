// Several processes on one port. The parent serves nothing: it starts them, replaces those that die, and ends them.

import { fileURLToPath } from "node:url";
import { Refusal } from "../model/errors.ts";
import { tell } from "./common.ts";

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
const steady = 1000;

/**
 * Starts `count` workers on `port` and keeps that many running. Port 0: the first picks one and the others share it.
 * @throws Refusal `unavailable` when the first cannot start; it has told why on stderr
 */
export async function runWorkers(count: number, port: number, env: Record<string, string>) {
  const running = new Set<Worker>();
  let stopping = false;

  function keep(worker: Worker, chosen: number): void {
    const born = performance.now();
    running.add(worker);
    void worker.exited.then(async (code) => {
      running.delete(worker);
      if (stopping) return;
      tell(`storefront: a worker ended (${code}); another takes its place`);
      if (performance.now() - born < steady) await Bun.sleep(steady);
      if (!stopping) keep(startWorker(chosen, env), chosen);
    });
  }

  const first = startWorker(port, env);
  const { url, port: chosen } = await first.listening;
  keep(first, chosen);
  const others = Array.from({ length: count - 1 }, () => startWorker(chosen, env));
  for (const worker of others) keep(worker, chosen);
  await Promise.all(others.map((worker) => worker.listening));
  return {
    url,
    async stop() {
      stopping = true;
      const ended = [...running].map((worker) => worker.exited);
      for (const worker of running) worker.kill("SIGTERM");
      await Promise.all(ended);
    },
  };
}

function startWorker(port: number, env: Record<string, string>): Worker {
  const { promise, resolve, reject } = Promise.withResolvers<Listening>();
  const child = Bun.spawn({
    cmd: [process.execPath, fileURLToPath(new URL("../main.ts", import.meta.url)), "serve"],
    env: { ...env, STOREFRONT_WORKER: "1", STOREFRONT_PORT: String(port) },
    stdio: ["ignore", "inherit", "inherit"],
    ipc: resolve,
  });
  void child.exited.then(() => reject(new Refusal("unavailable", "a worker could not start")));
  promise.catch(() => {});
  return { exited: child.exited, listening: promise, kill: (signal) => child.kill(signal) };
}
