// Keeps one of the server's processes running.

import { errorMessage } from "../../lib/errors-for-log.ts";
import { printMessage } from "../shared/output.ts";
import type { Child } from "./child.ts";
import type { Listening } from "./process-messages.ts";

/** A process that exits sooner is only restarted after waiting this long. */
const minUptimeMs = 1000;
/** From the end of the drain to the exit. The process itself waits up to 10 seconds for its clients. */
const stopTimeoutMs = 15_000;
/** How long a successor has to start listening. */
const startTimeoutMs = 60_000;
/** From `retire` to the exit. The process closes idle connections after 15 seconds, and then stops. */
const retireTimeoutMs = 30_000;

/**
 * A process and its successors. Restarts the process if it exits unexpectedly, and replaces it on request. Kills a successor that doesn't listen in
 * time, and any process that doesn't exit in time.
 */
export class SupervisedProcess {
  readonly #name: string;
  readonly #startChild: (port: number) => Child;
  /** Everything that hasn't exited: the current process, its successor and its predecessor. */
  readonly #running = new Set<Child>();
  #current: Child | undefined;
  #port: number;
  #isStopping = false;
  #restarts = 0;

  /** @param port with 0, the first process picks a free port, and its successors use the same one */
  constructor(name: string, port: number, startChild: (port: number) => Child) {
    this.#name = name;
    this.#port = port;
    this.#startChild = startChild;
  }

  /** How often the process exited unexpectedly and was restarted. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Resolves once the process listens. @throws ProblemError `unavailable` if it exits instead, having printed why to stderr */
  async start(): Promise<Listening> {
    const child = this.#startProcess();
    const listening = await child.listening;
    this.#port = listening.port;
    this.#supervise(child);
    return listening;
  }

  /**
   * Replaces the process with one that runs the program that's on disk now. The old process accepts connections until the new one listens. Resolves
   * once the old one has exited.
   * @throws ProblemError `unavailable` if the new process doesn't listen; the old one then stays
   */
  async replace(): Promise<void> {
    if (this.#isStopping) return;
    const successor = this.#startProcess();
    const timer = setTimeout(() => successor.kill("SIGKILL"), startTimeoutMs);
    try {
      await successor.listening;
    } finally {
      clearTimeout(timer);
    }
    // Only now, because the process may have exited and been restarted while its successor was starting.
    const predecessor = this.#current;
    this.#supervise(successor);
    predecessor?.retire();
    if (predecessor) await this.#ended([predecessor], retireTimeoutMs);
  }

  /** @param drain seconds to keep serving */
  async stop(drain = 0): Promise<void> {
    this.#isStopping = true;
    for (const child of this.#running) child.kill("SIGTERM");
    await this.#ended([...this.#running], drain * 1000 + stopTimeoutMs);
  }

  #startProcess(): Child {
    const child = this.#startChild(this.#port);
    this.#running.add(child);
    void child.exited.then(() => this.#running.delete(child));
    return child;
  }

  /** Makes `child` the current process, and restarts it if it exits while it still is. */
  #supervise(child: Child): void {
    const startedAt = performance.now();
    this.#current = child;
    void child.exited.then(async (status) => {
      const isCurrent = () => this.#current === child && !this.#isStopping;
      if (!isCurrent()) return;
      printMessage(`storefront: ${this.#name} exited with status ${status}; restarting it`);
      this.#restarts++;
      if (performance.now() - startedAt < minUptimeMs) await Bun.sleep(minUptimeMs);
      await this.#startAgain(isCurrent);
    });
  }

  /**
   * Tries again every second, because starting a process can fail while an upgrade replaces the program on disk.
   * @param isDue whether a process is still needed
   */
  async #startAgain(isDue: () => boolean): Promise<void> {
    let reported = "";
    while (isDue()) {
      try {
        return this.#supervise(this.#startProcess());
      } catch (error) {
        const reason = errorMessage(error);
        if (reason !== reported)
          printMessage(`storefront: can't start ${this.#name}, retrying every second: ${reason}`);
        reported = reason;
        await Bun.sleep(minUptimeMs);
      }
    }
  }

  /** Kills `children` if they haven't exited after `timeoutMs`. */
  async #ended(children: readonly Child[], timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => {
      for (const child of children) child.kill("SIGKILL");
    }, timeoutMs);
    await Promise.all(children.map(({ exited }) => exited));
    clearTimeout(timer);
  }
}
