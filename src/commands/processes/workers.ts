// The main process of a server with several processes. It serves no requests itself: it starts the workers and the admin process, restarts those that
// exit, and stops them all. On SIGHUP, it replaces its children with ones that run the program on disk, which is how servers are upgraded. Only the
// main process keeps running the old program, so it does as little as possible.

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

/** How often workers are sampled. If one is killed, we lose its counts since the last sample. */
const sampleIntervalMs = 5000;

/**
 * Starts the workers, and the admin process at `admin`. With port 0, the first worker picks a port and the others share it.
 * @param certificate undefined for HTTP
 * @param env the environment of all processes
 * @throws ProblemError `unavailable` if a process can't start. It has printed why to stderr, and the others are stopped
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
    // The first worker starts alone, so that only one process creates a missing database.
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
  /** The last valid certificate. Restarts after a crash use it, because the files on disk may just be changing. */
  #certificate: Certificate | undefined;
  #isStopping = false;

  /** @param workers how many should run */
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
   * Replaces one process after the other, so that there's never more than one extra. Stops at the first that can't be replaced, and keeps it and the
   * rest.
   * @param certificate undefined to keep the current one
   */
  async replaceAll(certificate: Certificate | undefined): Promise<void> {
    if (this.#isStopping) return printMessage("storefront: the server is stopping, so no process was replaced");
    this.#certificate = certificate ?? this.#certificate;
    const all = this.#processes.length;
    for (const [index, supervised] of this.#processes.entries()) {
      try {
        await supervised.replace();
      } catch (error) {
        printMessage(`storefront: ${errorMessage(error)}; replaced ${index} of ${all} processes, and kept the others`);
        return;
      }
    }
    printMessage(`storefront: replaced ${all} processes`);
  }

  /** @param drain seconds to keep serving */
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
