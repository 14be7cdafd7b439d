import { messageOf } from "../../lib/errors-for-log.ts";
import { printMessage } from "../common.ts";
import type { Child, Listening } from "./child.ts";

/** Milliseconds that a process must have run for its successor to start without a delay. */
const minUptime = 1000;
/** Milliseconds in which a process must stop once it is drained; it stops waiting for its clients after 10 seconds by itself. */
const stopTimeout = 15_000;
/** Milliseconds in which a successor must listen. */
const startTimeout = 60_000;
/** Milliseconds in which a process must have left its port to its successor: idle connections end after 15 seconds, and then it stops. */
const retireTimeout = 30_000;

/** A place among the processes of a server. A process that ends there by itself is replaced. */
export class Slot {
  readonly #name: string;
  readonly #startChild: (port: number) => Child;
  /** All processes that have not ended: the current one, its successor and its predecessor. */
  readonly #running = new Set<Child>();
  #current: Child | undefined;
  #port: number;
  #isStopping = false;
  #restarts = 0;

  /** @param port 0 for any free one, which all successors then use */
  constructor(name: string, port: number, startChild: (port: number) => Child) {
    this.#name = name;
    this.#port = port;
    this.#startChild = startChild;
  }

  /** How often a process has ended by itself and was replaced. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Starts the first process. @throws Refusal `unavailable` if it does not listen; it has printed the reason to stderr */
  async open(): Promise<Listening> {
    const child = this.#start();
    const listening = await child.listening;
    this.#port = listening.port;
    this.#keep(child);
    return listening;
  }

  /**
   * Replaces the process by one that is started from what is on disk now. The successor listens before the predecessor accepts no more connections.
   * Resolves when the predecessor has ended.
   * @throws Refusal `unavailable` if the successor does not listen; the process then stays
   */
  async replace(): Promise<void> {
    if (this.#isStopping) return;
    const successor = this.#start();
    const timer = setTimeout(() => successor.kill("SIGKILL"), startTimeout);
    try {
      await successor.listening;
    } finally {
      clearTimeout(timer);
    }
    // The predecessor may have ended meanwhile, or even its own replacement.
    const predecessor = this.#current;
    this.#keep(successor);
    predecessor?.retire();
    if (predecessor) await this.#ended([predecessor], retireTimeout);
  }

  /** Ends all processes: at first gently. @param drain seconds for which they still serve */
  async stop(drain = 0): Promise<void> {
    this.#isStopping = true;
    for (const child of this.#running) child.kill("SIGTERM");
    await this.#ended([...this.#running], drain * 1000 + stopTimeout);
  }

  #start(): Child {
    const child = this.#startChild(this.#port);
    this.#running.add(child);
    void child.exited.then(() => this.#running.delete(child));
    return child;
  }

  /** Makes `child` the current process. As long as it is, another one takes its place when it ends. */
  #keep(child: Child): void {
    const startedAt = performance.now();
    this.#current = child;
    void child.exited.then(async (status) => {
      const isCurrent = () => this.#current === child && !this.#isStopping;
      if (!isCurrent()) return;
      printMessage(`storefront: ${this.#name} ended with status ${status}; starting another`);
      this.#restarts++;
      if (performance.now() - startedAt < minUptime) await Bun.sleep(minUptime);
      await this.#startAgain(isCurrent);
    });
  }

  /** Starts another process. While the system refuses, as when the program is just being replaced on disk, tries again every second. */
  async #startAgain(isDue: () => boolean): Promise<void> {
    let reported = "";
    while (isDue()) {
      try {
        return this.#keep(this.#start());
      } catch (error) {
        const reason = messageOf(error);
        if (reason !== reported)
          printMessage(`storefront: ${this.#name} cannot be started, trying again every second: ${reason}`);
        reported = reason;
        await Bun.sleep(minUptime);
      }
    }
  }

  /** Waits for the end of `children`, and after so many milliseconds ends them. */
  async #ended(children: readonly Child[], timeout: number): Promise<void> {
    const timer = setTimeout(() => {
      for (const child of children) child.kill("SIGKILL");
    }, timeout);
    await Promise.all(children.map(({ exited }) => exited));
    clearTimeout(timer);
  }
}
