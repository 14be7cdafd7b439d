// The site into which an import stores its rows. For a dry run, it has the engine that stores nothing.

import type { Engine, EngineCommits } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { DryRunEngine } from "../../store/writes/dry-run-engine.ts";
import { requireSameMachine } from "../journal/same-machine.ts";

interface ImportTargetOptions {
  readonly dryRun?: boolean | undefined;
  /** The head of the system site when the rows were matched. The site itself can be without an epoch before its first change. */
  readonly systemHead: Head;
  /** The revision of the site before the import. */
  readonly startRevision: number;
  readonly onBeforeCommit?: ((revision: number) => void) | undefined;
}

export class ImportTarget implements EngineCommits {
  readonly #engine: Engine;
  readonly #options: ImportTargetOptions;
  readonly #dryRun: DryRunEngine | undefined;

  /** @throws ProblemError `unavailable` if space is missing for the temporary file of a dry run */
  constructor(engine: Engine, site: number, options: ImportTargetOptions) {
    this.#engine = engine;
    this.#options = options;
    if (options.dryRun) this.#dryRun = new DryRunEngine(engine, site);
  }

  /** @throws ProblemError `conflict` if another machine has taken over the database since the rows were matched */
  commit: EngineCommits["commit"] = async (...args) => {
    await this.#requireSameMachine();
    return (this.#dryRun ?? this.#engine).commit(...args);
  };

  /** @throws ProblemError as `commit` */
  commitAtomically: EngineCommits["commitAtomically"] = async (...args) => {
    await this.#requireSameMachine();
    return (this.#dryRun ?? this.#engine).commitAtomically(...args);
  };

  /** Tells the caller of the import that rows may be stored from now on. A dry run stores nothing. */
  notifyBeforeCommit(): void {
    if (!this.#dryRun) this.#options.onBeforeCommit?.(this.#options.startRevision);
  }

  close(): void {
    this.#dryRun?.close();
  }

  async #requireSameMachine(): Promise<void> {
    if (!this.#dryRun) await requireSameMachine(this.#engine, this.#options.systemHead);
  }
}
