// The main process of a server of several processes, which is the parent of the others. It serves no requests: it starts the workers and the admin
// process, restarts a process that exits, and stops all of them. On SIGHUP, it replaces all its children. The new children run the program that is on
// disk then, for example after an upgrade. The main process itself keeps the old program, so it does as little as possible.

import { type AdminAddress, type Config, toAdminText } from "../../config.ts";
import { errorMessage } from "../../lib/errors-for-log.ts";
import type { Certificate } from "../../wire/listen.ts";
import { printMessage } from "../shared/output.ts";
import { reloadCertificate } from "./certificate.ts";
import { type Child, startChild } from "./child.ts";
import { requireFreePort } from "./ports.ts";
import type { Listening } from "./process-messages.ts";
import type { Server } from "./serve.ts";
import { SupervisedProcess } from "./supervised-process.ts";
import { WorkerMetrics } from "./worker-metrics.ts";

/** Milliseconds between two samples of the workers. If a worker is killed, the counts since its last sample are lost. */
const sampleIntervalMs = 5000;

/**
 * Starts the workers, and the admin process at `admin`. With port 0, the first worker picks a port, and the other workers share it.
 * @param certificate undefined for HTTP
 * @param env the environment of all processes
 * @throws ProblemError `unavailable` if a process cannot start; it has printed the reason to stderr, and the other processes are stopped
 */
export async function runWorkers(
  config: Config,
  admin: AdminAddress | undefined,
  certificate: Certificate | undefined,
  env: Record<string, string>,
): Promise<Server> {
  const processes = new Processes(env, certificate, config.workers);
  try {
    await requireFreePort(config);
    // Start the first worker alone, so that only one process creates a missing database.
    const first = await processes.startWorker(config.port);
    const others = Array.from({ length: config.workers - 1 }, () => processes.startWorker(first.port));
    const adminProcess = admin && processes.startAdmin(admin);
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
  readonly #processes: SupervisedProcess[] = [];
  readonly #metrics: WorkerMetrics;
  readonly #timer = setInterval(() => void this.#metrics.collect(false), sampleIntervalMs);
  /** The last valid certificate. A restart after a crash uses it, because the files on disk may be changed at that moment. */
  #certificate: Certificate | undefined;
  #isStopping = false;

  /** @param workers the number of workers that should run */
  constructor(env: Record<string, string>, certificate: Certificate | undefined, workers: number) {
    this.#env = env;
    this.#metrics = new WorkerMetrics(workers, () => this.#processes.reduce((sum, { restarts }) => sum + restarts, 0));
    this.#certificate = certificate;
  }

  startWorker(port: number): Promise<Listening> {
    return this.#startSupervised("a worker", port, (current) => {
      const worker = this.#startChild("worker", { STOREFRONT_ROLE: "worker", STOREFRONT_PORT: String(current) });
      this.#metrics.add(worker);
      return worker;
    });
  }

  startAdmin(admin: AdminAddress): Promise<Listening> {
    return this.#startSupervised("the admin process", admin.port, (port) =>
      this.#startChild("admin process", {
        STOREFRONT_ROLE: "admin",
        STOREFRONT_ADMIN: toAdminText({ ...admin, port }),
      }),
    );
  }

  /**
   * Replaces the processes one after the other, so that there is never more than one additional process. If a process cannot be replaced, it and the
   * remaining processes stay.
   * @param certificate the new certificate; undefined to keep the present one
   */
  async replaceAll(certificate: Certificate | undefined): Promise<void> {
    if (this.#isStopping) return printMessage("storefront: nothing was replaced: the server is about to stop");
    this.#certificate = certificate ?? this.#certificate;
    const all = this.#processes.length;
    for (const [index, supervised] of this.#processes.entries()) {
      try {
        await supervised.replace();
      } catch (error) {
        printMessage(`storefront: ${errorMessage(error)}; replaced ${index} of ${all} processes, the others stay`);
        return;
      }
    }
    printMessage(`storefront: replaced ${all} processes`);
  }

  /** Stops all processes. @param drain seconds that the processes still serve */
  async stop(drain = 0): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await Promise.all(this.#processes.map((supervised) => supervised.stop(drain)));
  }

  #startSupervised(name: string, port: number, start: (port: number) => Child): Promise<Listening> {
    const supervised = new SupervisedProcess(name, port, start);
    this.#processes.push(supervised);
    return supervised.start();
  }

  #startChild(name: string, env: Record<string, string>): Child {
    const options = { env: { ...this.#env, ...env }, certificate: this.#certificate };
    const samples = () => this.#metrics.collect(true);
    return startChild({ name, ...options, samples, ask: (question) => this.#metrics.ask(question) });
  }
}
