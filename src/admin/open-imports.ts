// Keeps the imports that operators have opened in the console, within limits. They belong to this process and end with it.

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isProcessRunning } from "../lib/operating-system.ts";
import { randomText } from "../lib/text.ts";
import { ProblemError, withFileErrors } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { ImportJob } from "../operator/import/job/import-job.ts";

interface UndoneImport {
  /** Records that the import had created. */
  readonly deleted: number;
  /** Records that are back to their values from before the import. */
  readonly restored: number;
  /** Records that were skipped because they've changed again since. */
  readonly skipped: number;
}

/** Whose import it is, and for which site. By ID, because names can be reused. */
export interface ImportOwner {
  readonly operator: number;
  readonly site: number;
  /** The IDs are only unique within this epoch. After a restore, they may be assigned again. */
  readonly systemEpoch: string;
}

export interface OpenImport extends ImportOwner {
  readonly id: string;
  /** The file's name on the operator's machine. */
  readonly name: string;
  readonly job: ImportJob;
  /** Of the last check, as received. */
  options: object | undefined;
  /** Undefined until the import is run. */
  run: string | undefined;
  /** Undefined unless the import was undone. */
  undone: UndoneImport | undefined;
  /** Whether the import continues after the session that started it has ended. */
  outlivesSession: boolean;
  /** In milliseconds since 1970. */
  lastRequestedAt: number;
}

/** Per operator, and in all. */
const maxOfOperator = 4;
const maxImports = 32;
/** Concurrent dry runs and imports. When matching rows by ID, each keeps all record IDs in memory. */
const maxRunningJobs = 2;
/** Per file, and in all. */
const maxFileBytes = 256 * 1024 * 1024;
const maxTotalBytes = 1024 * 1024 * 1024;
/** An import without any requests for this long is removed. */
const unusedLifetimeMs = 60 * 60_000;
/** How often we look for unused imports. */
const searchIntervalMs = 60_000;
const folderPrefix = "storefront-imports-";

export class OpenImports {
  readonly #imports = new Map<string, OpenImport>();
  readonly #now: () => number;
  readonly #onError: (error: unknown) => void;
  #folder: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param onError called with unexpected errors */
  constructor(now: () => number, onError: (error: unknown) => void) {
    this.#now = now;
    this.#onError = onError;
  }

  /** At a limit, removes the operator's least recently used idle import. @throws ProblemError `too-many-requests`, `unavailable` */
  openImport(owner: ImportOwner, resource: Resource, name: string): OpenImport {
    this.#removeRestored(owner.systemEpoch);
    this.#makeRoom(owner.operator);
    const id = randomText(16);
    const job = withFileErrors(
      "can't create a file for this import",
      () => new ImportJob(join(this.#openFolder(), id), resource, name, this.#onError),
    );
    const opened: OpenImport = {
      ...owner,
      id,
      name,
      job,
      options: undefined,
      run: undefined,
      undone: undefined,
      outlivesSession: false,
      lastRequestedAt: this.#now(),
    };
    this.#imports.set(id, opened);
    return opened;
  }

  /** Counts as a use of the import. @throws ProblemError `not-found`, also if it's for another operator or site */
  get(owner: ImportOwner, id: string): OpenImport {
    const found = this.#imports.get(id);
    if (!found || !isOwnedBy(found, owner))
      throw new ProblemError("not-found", "this import is no longer available; see the history for what it changed");
    found.lastRequestedAt = this.#now();
    return found;
  }

  list(owner: ImportOwner): OpenImport[] {
    return [...this.#imports.values()].filter((one) => isOwnedBy(one, owner)).reverse();
  }

  /** Adds a part of the file. @param number from 0. @throws ProblemError `conflict`, `too-large`, `unavailable` */
  add({ job }: OpenImport, number: number, bytes: Uint8Array): void {
    if (job.state !== "new" || job.progress.rows > 0) throw new ProblemError("conflict", "the file is already in use");
    if (job.upload.size + bytes.length > maxFileBytes)
      throw new ProblemError("too-large", `the file is larger than ${maxFileBytes / 1024 ** 2} MiB; split it`);
    let total = bytes.length;
    for (const one of this.#imports.values()) total += one.job.upload.size;
    if (total > maxTotalBytes)
      throw new ProblemError(
        "unavailable",
        "there's no room for this file until other imports have ended; try again later",
      );
    job.upload.add(number, bytes);
  }

  /**
   * Call this before starting a dry run or an import. Two imports into one site can't run at the same time, because neither would find the records that
   * the other creates.
   * @param opened the import to run; undefined for a dry run
   * @throws ProblemError `too-many-requests` if too many are running, `conflict` if another import into the same site is
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

  /** Adds to what earlier undos did. Does nothing if the import no longer exists. @param run the import's run */
  markUndone(site: number, run: string, { deleted, restored, skipped }: UndoneImport): void {
    for (const one of this.#imports.values()) {
      if (one.site !== site || one.run !== run) continue;
      const before = one.undone ?? { deleted: 0, restored: 0 };
      one.undone = { deleted: before.deleted + deleted, restored: before.restored + restored, skipped };
    }
  }

  async remove({ id, job }: OpenImport): Promise<void> {
    this.#imports.delete(id);
    await job.remove();
  }

  /**
   * Removes the imports of an operator who signs out, except those that are running. These continue if the operator has only signed out in one browser.
   * Otherwise, their next batch is rejected (reauthorized-engine.ts).
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

  /** At a limit, removes the operator's least recently used idle import. @throws ProblemError `too-many-requests` if there is none */
  #makeRoom(operator: number): void {
    const own = [...this.#imports.values()].filter((one) => one.operator === operator);
    if (own.length < maxOfOperator && this.#imports.size < maxImports) return;
    const [leastUsed] = own
      .filter(({ job }) => !job.isBusy)
      .sort((one, other) => one.lastRequestedAt - other.lastRequestedAt);
    if (!leastUsed)
      throw new ProblemError(
        "too-many-requests",
        "there are too many open imports; stop one of yours, or try again later",
      );
    this.remove(leastUsed).catch(this.#onError);
  }

  /** Removes imports from before a restore, which nobody can use any more. */
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
 * Removes folders of killed processes that are over an hour old. Newer ones may belong to a process on another machine that uses the same parent folder,
 * whose ID means nothing here.
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
