// Several processes on one port. The parent serves no requests: it starts the workers and the admin process, replaces those that end, and stops
// them. It is the only process that is not replaced by SIGHUP, so it does as little as possible.

import { type AdminAddress, type Config, toAdminText } from "../config.ts";
import { messageOf } from "../lib/thrown.ts";
import type { Certificate } from "../wire/listen.ts";
import { reloadCertificate } from "./certificate.ts";
import { type Child, startChild } from "./child.ts";
import { printMessage } from "./common.ts";
import { claimPort } from "./listen-on-port.ts";
import type { Listening } from "./messages.ts";
import type { Server } from "./serve-processes.ts";
import { Slot } from "./slot.ts";
import { WorkerMetrics } from "./worker-metrics.ts";

/** Milliseconds between two samples of the workers: what a worker that is killed has counted since then is lost. */
const sampleInterval = 5000;

/**
 * Starts the workers, and the admin process at `admin`. With port 0, the first worker picks a port and the others share it.
 * @param certificate undefined for HTTP
 * @param env the environment of all processes
 * @throws Refusal `unavailable` when one cannot start; it has printed the reason to stderr, and the others are stopped
 */
export async function runWorkers(
  config: Config,
  admin: AdminAddress | undefined,
  certificate: Certificate | undefined,
  env: Record<string, string>,
): Promise<Server> {
  const processes = new Processes(env, certificate, config.workers);
  try {
    await claimPort(config);
    // Alone, so that it is the one that creates the database, if there is none.
    const first = await processes.openWorker(config.port);
    const others = Array.from({ length: config.workers - 1 }, () => processes.openWorker(first.port));
    const adminProcess = admin && processes.openAdmin(admin);
    await Promise.all([...others, adminProcess]);
    return {
      ...first,
      adminUrl: (await adminProcess)?.url,
      stop: () => processes.stop(config.drain),
      reload: () => processes.replaceAll(reloadCertificate(config)),
    };
  } catch (error) {
    await processes.stop();
    throw error;
  }
}

class Processes {
  readonly #env: Record<string, string>;
  readonly #slots: Slot[] = [];
  readonly #metrics: WorkerMetrics;
  readonly #timer = setInterval(() => void this.#metrics.collect(false), sampleInterval);
  /** The last valid one: a process that is replaced because it has died must not depend on files that are changed at that moment. */
  #certificate: Certificate | undefined;
  #isStopping = false;

  /** @param workers how many there should be */
  constructor(env: Record<string, string>, certificate: Certificate | undefined, workers: number) {
    this.#env = env;
    this.#metrics = new WorkerMetrics(workers, () => this.#slots.reduce((sum, { restarts }) => sum + restarts, 0));
    this.#certificate = certificate;
  }

  openWorker(port: number): Promise<Listening> {
    return this.#open("a worker", port, (current) => {
      const worker = this.#start("worker", { STOREFRONT_ROLE: "worker", STOREFRONT_PORT: String(current) });
      this.#metrics.add(worker);
      return worker;
    });
  }

  openAdmin(admin: AdminAddress): Promise<Listening> {
    return this.#open("the admin process", admin.port, (port) =>
      this.#start("admin process", { STOREFRONT_ROLE: "admin", STOREFRONT_ADMIN: toAdminText({ ...admin, port }) }),
    );
  }

  /** Replaces the processes one after the other, so that there is one more at most. If one cannot be replaced, it and the rest stay. */
  async replaceAll(certificate: Certificate | undefined): Promise<void> {
    if (this.#isStopping) return printMessage("storefront: nothing was replaced: the server is about to stop");
    this.#certificate = certificate ?? this.#certificate;
    const all = this.#slots.length;
    for (const [index, slot] of this.#slots.entries()) {
      try {
        await slot.replace();
      } catch (error) {
        printMessage(`storefront: ${messageOf(error)}; replaced ${index} of ${all} processes, the others stay`);
        return;
      }
    }
    printMessage(`storefront: replaced ${all} processes`);
  }

  /** @param drain seconds for which they still serve */
  async stop(drain = 0): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await Promise.all(this.#slots.map((slot) => slot.stop(drain)));
  }

  #open(name: string, port: number, start: (port: number) => Child): Promise<Listening> {
    const slot = new Slot(name, port, start);
    this.#slots.push(slot);
    return slot.open();
  }

  #start(name: string, env: Record<string, string>): Child {
    const options = { env: { ...this.#env, ...env }, certificate: this.#certificate };
    return startChild({ name, ...options, samples: () => this.#metrics.collect(true) });
  }
}
