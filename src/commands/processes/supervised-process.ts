// Supervises one process of the server: restarts it when it exits, and replaces it on request.

import { errorMessage } from "../../lib/errors-for-log.ts";
import { printMessage } from "../shared/output.ts";
import type { Child } from "./child.ts";
import type { Listening } from "./process-messages.ts";

/** If a process exits sooner than these milliseconds after its start, its restart is delayed by the same time. */
const minUptimeMs = 1000;
/** Maximum milliseconds from the end of the drain until the process exits. The process itself waits at most 10 seconds for its clients. */
const stopTimeoutMs = 15_000;
/** Maximum milliseconds until a successor listens. */
const startTimeoutMs = 60_000;
/** Maximum milliseconds from `retire` until the process exits. The process ends idle connections after 15 seconds, and then stops. */
const retireTimeoutMs = 30_000;

/**
 * One process of the server, and its successors. Restarts the process when it exits unexpectedly, and replaces it on request. A successor that does
 * not listen in time is killed, and so is a process that does not exit in time.
 */
export class SupervisedProcess {
  readonly #name: string;
  readonly #startChild: (port: number) => Child;
  /** All processes that have not exited: the current process, its successor and its predecessor. */
  readonly #running = new Set<Child>();
  #current: Child | undefined;
  #port: number;
  #isStopping = false;
  #restarts = 0;

  /** @param port the port to listen on. With 0, the first process picks a free port, and all successors use the same */
  constructor(name: string, port: number, startChild: (port: number) => Child) {
    this.#name = name;
    this.#port = port;
    this.#startChild = startChild;
  }

  /** Number of times that the process exited unexpectedly and was restarted. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Starts the first process, and waits until it listens. @throws ProblemError `unavailable` if it exits instead; it has printed why to stderr */
  async start(): Promise<Listening> {
    const child = this.#startProcess();
    const listening = await child.listening;
    this.#port = listening.port;
    this.#supervise(child);
    return listening;
  }

  /**
   * Replaces the process by a successor, which is started from the program that is on disk now. The predecessor accepts connections until the
   * successor listens. Resolves when the predecessor has exited.
   * @throws ProblemError `unavailable` if the successor does not listen; the present process then stays
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
    // Read the current process only now: it may have exited during the start of the successor, and may have been restarted.
    const predecessor = this.#current;
    this.#supervise(successor);
    predecessor?.retire();
    if (predecessor) await this.#ended([predecessor], retireTimeoutMs);
  }

  /** Ends all processes with SIGTERM. Kills a process that does not exit in time. @param drain seconds that the processes still serve */
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

  /** Makes `child` the current process. If `child` exits while it is the current process, starts another process. */
  #supervise(child: Child): void {
    const startedAt = performance.now();
    this.#current = child;
    void child.exited.then(async (status) => {
      const isCurrent = () => this.#current === child && !this.#isStopping;
      if (!isCurrent()) return;
      printMessage(`storefront: ${this.#name} ended with status ${status}; starting another`);
      this.#restarts++;
      if (performance.now() - startedAt < minUptimeMs) await Bun.sleep(minUptimeMs);
      await this.#startAgain(isCurrent);
    });
  }

  /**
   * Starts another process. If the operating system cannot start it, for example while an upgrade replaces the program on disk, tries again
   * every second.
   * @param isDue whether another process is still needed
   */
  async #startAgain(isDue: () => boolean): Promise<void> {
    let reported = "";
    while (isDue()) {
      try {
        return this.#supervise(this.#startProcess());
      } catch (error) {
        const reason = errorMessage(error);
        if (reason !== reported)
          printMessage(`storefront: ${this.#name} cannot be started, trying again every second: ${reason}`);
        reported = reason;
        await Bun.sleep(minUptimeMs);
      }
    }
  }

  /** Waits until all `children` have exited. Kills them after `timeoutMs`. */
  async #ended(children: readonly Child[], timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => {
      for (const child of children) child.kill("SIGKILL");
    }, timeoutMs);
    await Promise.all(children.map(({ exited }) => exited));
    clearTimeout(timer);
  }
}
