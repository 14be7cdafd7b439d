// The imports that operators have begun: their files, and the bounds for them. They belong to this process and end with it.

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRunning } from "../lib/operating-system.ts";
import { randomText } from "../lib/text.ts";
import { Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { ImportJob } from "../operator/import/import-job.ts";
import { accessing } from "../operator/output.ts";

interface UndoneImport {
  readonly restored: number;
  readonly left: number;
}

/** An import of an operator into a site. */
export interface BegunImport {
  readonly id: string;
  /** ID of the operator: a name may be that of another one later. */
  readonly operator: number;
  readonly site: number;
  /** Of the file, as the operator knows it. */
  readonly name: string;
  readonly job: ImportJob;
  /** The ID in the journal of what it stores, once it was run. */
  run: string | undefined;
  /** What an undo of it did: the records that are as before, and those that others have changed later. Undefined if it was not undone. */
  undone: UndoneImport | undefined;
  /** Whether it goes on although the session in which it was started has ended. */
  outlivesSession: boolean;
  /** When the operator last asked for it, in milliseconds since 1970. */
  usedAt: number;
}

/** Imports of an operator, and of all. */
const maxOfOperator = 4;
const maxImports = 32;
/** Checks and runs at once: each has a copy of what identifies the records of its site. */
const maxBusy = 2;
/** Bytes of a file, and of all files. */
const maxSize = 256 * 1024 * 1024;
const maxTotalSize = 1024 * 1024 * 1024;
/** Milliseconds without a request after which an import is removed, and between two searches for such imports. */
const lifetime = 60 * 60_000;
const sweepInterval = 60_000;
const folderPrefix = "storefront-imports-";

export class Imports {
  readonly #imports = new Map<string, BegunImport>();
  readonly #now: () => number;
  readonly #onError: (error: unknown) => void;
  #folder: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param onError is called with what an import failed of unexpectedly */
  constructor(now: () => number, onError: (error: unknown) => void) {
    this.#now = now;
    this.#onError = onError;
  }

  /** Begins an import. One that the operator has left may be removed for it. @throws Refusal `too-many-requests`, `unavailable` */
  begin(operator: number, site: number, resource: Resource, name: string): BegunImport {
    this.#makeRoom(operator);
    const id = randomText(16);
    const job = accessing(
      "no file can be stored",
      () => new ImportJob(join(this.#openFolder(), id), resource, this.#onError),
    );
    const begun: BegunImport = {
      id,
      operator,
      site,
      name,
      job,
      run: undefined,
      undone: undefined,
      outlivesSession: false,
      usedAt: this.#now(),
    };
    this.#imports.set(id, begun);
    return begun;
  }

  /** @throws Refusal `not-found`, also for the import of another operator or into another site */
  find(operator: number, site: number, id: string): BegunImport {
    const found = this.#imports.get(id);
    if (found?.operator !== operator || found.site !== site)
      throw new Refusal("not-found", "there is no such import; it may have ended");
    found.usedAt = this.#now();
    return found;
  }

  /** The imports of an operator into a site, the latest first. */
  list(operator: number, site: number): BegunImport[] {
    return [...this.#imports.values()].filter((one) => one.operator === operator && one.site === site).reverse();
  }

  /** Adds a part of the file. @throws Refusal `conflict`, `too-large`, `unavailable` */
  add({ job }: BegunImport, number: number, bytes: Uint8Array): void {
    if (job.state !== "new" || job.progress.rows > 0) throw new Refusal("conflict", "the file is in use already");
    if (job.upload.size + bytes.length > maxSize)
      throw new Refusal("too-large", `a file may have at most ${maxSize / 1024 ** 2} MiB`);
    let total = bytes.length;
    for (const one of this.#imports.values()) total += one.job.upload.size;
    if (total > maxTotalSize) throw new Refusal("unavailable", "the files of all imports together are too large");
    job.upload.add(number, bytes);
  }

  /**
   * @param begun to be run. Two at once into the same site would not find the records of each other
   * @throws Refusal `too-many-requests` when as many as may be are checked or run, `conflict` when another one is run into the site
   */
  requireIdle(begun?: BegunImport): void {
    const busy = [...this.#imports.values()].filter(({ job }) => job.isBusy);
    if (busy.some(({ site, job }) => job.state === "running" && site === begun?.site))
      throw new Refusal("conflict", "another import into this shop is running; wait until it has ended");
    if (busy.length < maxBusy) return;
    throw new Refusal("too-many-requests", "other imports are running; try again in a moment", { retryAfter: 5 });
  }

  /** Notes that what an import has stored was undone. @param run its ID in the journal */
  noteUndone(site: number, run: string, undone: UndoneImport): void {
    for (const one of this.#imports.values()) if (one.site === site && one.run === run) one.undone = undone;
  }

  /** Stops an import and removes its files. */
  async remove({ id, job }: BegunImport): Promise<void> {
    this.#imports.delete(id);
    await job.remove();
  }

  /**
   * Removes the imports of an operator who signs out, or is signed out. One that is being stored goes on if that was in one browser only;
   * otherwise it ends by itself, see guarded-engine.ts.
   */
  async leave(operator: number, isEverywhere: boolean): Promise<void> {
    for (const one of [...this.#imports.values()]) {
      if (one.operator !== operator) continue;
      if (one.job.state !== "running") await this.remove(one);
      else one.outlivesSession = !isEverywhere;
    }
  }

  /** Stops all imports and removes all files. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#imports.values()].map((one) => this.remove(one)));
    if (this.#folder) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  /** Removes the operator's import that was not used for the longest time, at the bound. @throws Refusal `too-many-requests` */
  #makeRoom(operator: number): void {
    const own = [...this.#imports.values()].filter((one) => one.operator === operator);
    if (own.length < maxOfOperator && this.#imports.size < maxImports) return;
    const [left] = own.filter(({ job }) => !job.isBusy).sort((one, other) => one.usedAt - other.usedAt);
    if (!left) throw new Refusal("too-many-requests", "there are too many imports; end one first, or try again later");
    this.remove(left).catch(this.#onError);
  }

  #openFolder(): string {
    if (this.#folder) return this.#folder;
    removeStaleFolders(this.#now());
    this.#folder = mkdtempSync(join(tmpdir(), `${folderPrefix}${process.pid}-`));
    this.#timer = setInterval(() => this.#sweep().catch(this.#onError), sweepInterval);
    this.#timer.unref();
    return this.#folder;
  }

  async #sweep(): Promise<void> {
    for (const one of [...this.#imports.values()])
      if (!one.job.isBusy && one.usedAt < this.#now() - lifetime) await this.remove(one);
  }
}

/** Removes what processes left that were killed. Another machine that shares the folder may have one, so only what is old. */
function removeStaleFolders(now: number): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = new RegExp(`^${folderPrefix}([0-9]+)-`).exec(name)?.[1];
    if (pid === undefined || isRunning(Number(pid))) continue;
    const folder = join(tmpdir(), name);
    const found = statSync(folder, { throwIfNoEntry: false });
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
    if (found.mtimeMs < now - lifetime) rmSync(folder, { recursive: true, force: true });
  }
}
