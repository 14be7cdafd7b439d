// A copy of the source, in which mutants are tried so that the checkout itself doesn't change.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Mutant, mutated } from "./draw.ts";
import { marked, reachedFolder, reachedModule, reachedSource } from "./markers.ts";

export interface TestRun {
  readonly hasPassed: boolean;
  readonly milliseconds: number;
}

export class Checkout {
  readonly #root: string;
  readonly folder = mkdtempSync(join(tmpdir(), "storefront-mutants-"));
  /** Original source of changed files, by path. */
  readonly #originals = new Map<string, string>();
  /** Process ID of the run in progress. */
  #running: number | undefined;
  #isRemoved = false;

  /** Copies the working tree, except files that Git ignores. */
  constructor(root: string) {
    this.#root = root;
    const listed = Bun.spawnSync(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: root,
    });
    for (const file of listed.stdout.toString().split("\0").filter(Boolean)) {
      mkdirSync(join(this.folder, dirname(file)), { recursive: true });
      cpSync(join(root, file), join(this.folder, file));
    }
    for (const folder of ["node_modules", "dist"]) symlinkSync(join(root, folder), join(this.folder, folder));
  }

  apply(mutant: Mutant): void {
    this.#change(mutant.file, (text) => mutated(text, mutant));
  }

  /** Inserts a marker where each of these mutants would go. Doesn't apply the mutants. */
  mark(mutants: readonly Mutant[]): void {
    writeFileSync(join(this.folder, reachedModule), reachedSource);
    for (const file of new Set(mutants.flatMap((mutant) => (mutant.marker ? [mutant.file] : [])))) {
      const markers = mutants.flatMap((each, mutant) =>
        each.file === file && each.marker ? [{ marker: each.marker, mutant }] : [],
      );
      const module = `${"../".repeat(file.split("/").length - 1)}${reachedModule}`;
      this.#change(file, (text) => marked(text, module, markers));
    }
  }

  restore(): void {
    for (const [file, text] of this.#originals) writeFileSync(join(this.folder, file), text);
    this.#originals.clear();
  }

  /** Runs a test file until its first failure. Running out of time is a failure. @param reached folder for the markers' reports */
  async run(test: string, limitMs: number, environment: Record<string, string>, reached = ""): Promise<TestRun> {
    if (this.#isRemoved) throw new Error("the copy has been removed");
    const preload = join(this.folder, "test/support/property-seed.ts");
    const began = performance.now();
    const child = Bun.spawn(
      [process.execPath, "test", "--timeout", "60000", "--bail=1", "--preload", preload, `./${test}`],
      {
        cwd: this.folder,
        env: { ...process.env, ...environment, [reachedFolder]: reached },
        stdio: ["ignore", "ignore", "ignore"],
        detached: true,
      },
    );
    this.#running = child.pid;
    const timer = setTimeout(() => endGroup(child.pid), limitMs);
    const code = await child.exited;
    clearTimeout(timer);
    endGroup(child.pid);
    this.#running = undefined;
    return { hasPassed: code === 0, milliseconds: performance.now() - began };
  }

  /** Ends the current run and removes the copy. */
  remove(): void {
    this.#isRemoved = true;
    if (this.#running !== undefined) endGroup(this.#running);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #change(file: string, change: (text: string) => string): void {
    const text = readFileSync(join(this.#root, file), "utf8");
    this.#originals.set(file, text);
    writeFileSync(join(this.folder, file), change(text));
  }
}

/** Kills a test file's process group, which is what it started and didn't end. */
function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // They've all exited.
  }
}
