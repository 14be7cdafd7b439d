import type { CommitWatch, OnCommit } from "../../model/watched-engine.ts";
import type { CommitCheck } from "./commit-watch.ts";

/** Milliseconds between two looks. One takes less than a microsecond on Linux, and some microseconds elsewhere. */
const interval = 10;

/** See `Engine.watchCommits`. None is missed: each watch compares what it saw last. */
export class CommitWatches {
  readonly #newCheck: () => CommitCheck;
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(newCheck: () => CommitCheck) {
    this.#newCheck = newCheck;
  }

  start(onCommit: OnCommit): CommitWatch {
    const isUnchanged = this.#newCheck();
    const timer = setInterval(() => {
      if (mayHaveChanged(isUnchanged)) onCommit(undefined);
    }, interval);
    timer.unref();
    this.#timers.add(timer);
    return { mayMiss: false, stop: () => this.#stop(timer) };
  }

  /** Ends all watches, since a check needs the open database. */
  close(): void {
    for (const timer of this.#timers) this.#stop(timer);
  }

  #stop(timer: NodeJS.Timeout): void {
    clearInterval(timer);
    this.#timers.delete(timer);
  }
}

/** A database that cannot be read is reported as changed: whoever then reads it gets the error. */
function mayHaveChanged(isUnchanged: CommitCheck): boolean {
  try {
    return !isUnchanged();
  } catch {
    return true;
  }
}
