// The imports that operators have opened in the console: their files and their limits. They belong to this process and end with it.

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isProcessRunning } from "../lib/operating-system.ts";
import { randomText } from "../lib/text.ts";
import { ProblemError, withFileErrors } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { ImportJob } from "../operator/import/job/import-job.ts";

interface UndoneImport {
  /** Records that are as they were before the import. */
  readonly restored: number;
  /** Records that were skipped, because they were changed again later. */
  readonly skipped: number;
}

/** The operator of an import, and its site. By ID, because another operator or site may get the name later. */
export interface ImportOwner {
  readonly operator: number;
  readonly site: number;
  /** The epoch of the system site, in which the IDs are unique: after a restore, others may get them. */
  readonly systemEpoch: string;
}

export interface OpenImport extends ImportOwner {
  readonly id: string;
  /** Name of the file on the operator's machine. */
  readonly name: string;
  readonly job: ImportJob;
  /** The run ID of its changes. Undefined until the import is run. */
  run: string | undefined;
  /** The result of its undo. Undefined if the import was not undone. */
  undone: UndoneImport | undefined;
  /** Whether the import continues after the session in which it was started has ended. */
  outlivesSession: boolean;
  /** Time of the last request for the import, in milliseconds since 1970. */
  lastRequestedAt: number;
}

/** Maximum number of imports of one operator, and of all operators. */
const maxOfOperator = 4;
const maxImports = 32;
/** Maximum number of dry runs and imports that run at once. A job that matches rows by ID keeps the IDs of all records in memory. */
const maxRunningJobs = 2;
/** Maximum bytes of one file, and of all files together. */
const maxFileBytes = 256 * 1024 * 1024;
const maxTotalBytes = 1024 * 1024 * 1024;
/** Milliseconds without a request after which an import is removed. */
const unusedLifetimeMs = 60 * 60_000;
/** Milliseconds between two searches for unused imports. */
const searchIntervalMs = 60_000;
const folderPrefix = "storefront-imports-";

export class OpenImports {
  readonly #imports = new Map<string, OpenImport>();
  readonly #now: () => number;
  readonly #onError: (error: unknown) => void;
  #folder: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param onError called with each unexpected error of an import */
  constructor(now: () => number, onError: (error: unknown) => void) {
    this.#now = now;
    this.#onError = onError;
  }

  /** Opens an import. At a limit, removes the operator's least recently used idle import. @throws ProblemError `too-many-requests`, `unavailable` */
  openImport(owner: ImportOwner, resource: Resource, name: string): OpenImport {
    this.#removeRestored(owner.systemEpoch);
    this.#makeRoom(owner.operator);
    const id = randomText(16);
    const job = withFileErrors(
      "no file can be stored",
      () => new ImportJob(join(this.#openFolder(), id), resource, this.#onError),
    );
    const opened: OpenImport = {
      ...owner,
      id,
      name,
      job,
      run: undefined,
      undone: undefined,
      outlivesSession: false,
      lastRequestedAt: this.#now(),
    };
    this.#imports.set(id, opened);
    return opened;
  }

  /** Returns an import and marks it as used. @throws ProblemError `not-found`, also for the import of another operator or into another site */
  get(owner: ImportOwner, id: string): OpenImport {
    const found = this.#imports.get(id);
    if (!found || !isOwnedBy(found, owner))
      throw new ProblemError("not-found", "there is no such import; it may have ended");
    found.lastRequestedAt = this.#now();
    return found;
  }

  list(owner: ImportOwner): OpenImport[] {
    return [...this.#imports.values()].filter((one) => isOwnedBy(one, owner)).reverse();
  }

  /** Adds a part of the file. @param number of the part, from 0. @throws ProblemError `conflict`, `too-large`, `unavailable` */
  add({ job }: OpenImport, number: number, bytes: Uint8Array): void {
    if (job.state !== "new" || job.progress.rows > 0) throw new ProblemError("conflict", "the file is in use already");
    if (job.upload.size + bytes.length > maxFileBytes)
      throw new ProblemError("too-large", `a file may have at most ${maxFileBytes / 1024 ** 2} MiB`);
    let total = bytes.length;
    for (const one of this.#imports.values()) total += one.job.upload.size;
    if (total > maxTotalBytes) throw new ProblemError("unavailable", "the files of all imports together are too large");
    job.upload.add(number, bytes);
  }

  /**
   * Requires that another dry run or import may start.
   * @param opened the import to run; undefined for a dry run. Two imports into one site do not run at once, because neither would find the records that the
   *   other creates
   * @throws ProblemError `too-many-requests` if the maximum number is running, `conflict` if another import is running into the site of `opened`
   */
  requireFreeCapacity(opened?: OpenImport): void {
    const busy = [...this.#imports.values()].filter(({ job }) => job.isBusy);
    if (busy.some(({ site, job }) => job.state === "running" && site === opened?.site))
      throw new ProblemError("conflict", "another import into this site is running; wait until it has finished");
    if (busy.length < maxRunningJobs) return;
    throw new ProblemError("too-many-requests", "other imports are running; try again in a moment", {
      retryAfterSeconds: 5,
    });
  }

  /** Saves the result of an undo in the import that it undid, if that import still exists. @param run the run ID of the import */
  markUndone(site: number, run: string, undone: UndoneImport): void {
    for (const one of this.#imports.values()) if (one.site === site && one.run === run) one.undone = undone;
  }

  async remove({ id, job }: OpenImport): Promise<void> {
    this.#imports.delete(id);
    await job.remove();
  }

  /**
   * Removes the imports of an operator who signs out or was signed out, except running imports. A running import continues if the operator signed
   * out in one browser only. If the operator signed out everywhere, the next batch of the import is rejected (reauthorized-engine.ts).
   */
  async endImportsOf(operator: number, isEverywhere: boolean): Promise<void> {
    for (const one of [...this.#imports.values()]) {
      if (one.operator !== operator) continue;
      if (one.job.state !== "running") await this.remove(one);
      else one.outlivesSession = !isEverywhere;
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#imports.values()].map((one) => this.remove(one)));
    if (this.#folder) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  /**
   * At a limit, removes the operator's least recently used import that is neither checked nor run now.
   * @throws ProblemError `too-many-requests` if the operator has no such import
   */
  #makeRoom(operator: number): void {
    const own = [...this.#imports.values()].filter((one) => one.operator === operator);
    if (own.length < maxOfOperator && this.#imports.size < maxImports) return;
    const [leastUsed] = own
      .filter(({ job }) => !job.isBusy)
      .sort((one, other) => one.lastRequestedAt - other.lastRequestedAt);
    if (!leastUsed)
      throw new ProblemError("too-many-requests", "there are too many imports; end one first, or try again later");
    this.remove(leastUsed).catch(this.#onError);
  }

  /** Removes the imports from before a restore, which nobody can use any more. */
  #removeRestored(systemEpoch: string): void {
    for (const one of [...this.#imports.values()])
      if (one.systemEpoch !== systemEpoch) this.remove(one).catch(this.#onError);
  }

  #openFolder(): string {
    if (this.#folder) return this.#folder;
    removeStaleFolders(this.#now());
    this.#folder = mkdtempSync(join(tmpdir(), `${folderPrefix}${process.pid}-`));
    this.#timer = setInterval(() => this.#removeUnused().catch(this.#onError), searchIntervalMs);
    this.#timer.unref();
    return this.#folder;
  }

  async #removeUnused(): Promise<void> {
    for (const one of [...this.#imports.values()])
      if (!one.job.isBusy && one.lastRequestedAt < this.#now() - unusedLifetimeMs) await this.remove(one);
  }
}

function isOwnedBy(one: ImportOwner, { operator, site, systemEpoch }: ImportOwner): boolean {
  return one.operator === operator && one.site === site && one.systemEpoch === systemEpoch;
}

/**
 * Removes the folders of killed processes that are older than an hour. Newer folders are kept, because a process of another machine may use the same
 * parent folder, and its ID means nothing here.
 */
function removeStaleFolders(now: number): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = new RegExp(`^${folderPrefix}([0-9]+)-`).exec(name)?.[1];
    if (pid === undefined || isProcessRunning(Number(pid))) continue;
    const folder = join(tmpdir(), name);
    const found = statSync(folder, { throwIfNoEntry: false });
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
    if (found.mtimeMs < now - unusedLifetimeMs) rmSync(folder, { recursive: true, force: true });
  }
}
