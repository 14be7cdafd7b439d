// The engine of a dry run: it decides intents on a copy of the site, as the database would.

import { openScratch } from "../../lib/scratch-database.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { Intent, Outcome } from "../../model/change.ts";
import type { CommitOptions, Engine, EngineCommits, RecordRow } from "../../model/engine.ts";
import { withTemporaryFileErrors } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { newSiteState, type SiteState } from "../../store/database/site-state.ts";
import {
  type BatchState,
  decideBatch,
  emptyBatchState,
  isBatchAborted,
  keysOfBatch,
} from "../../store/writes/batch.ts";

const withScratchErrors = withTemporaryFileErrors("the records cannot be copied to a temporary file for the dry run");

/** The engine of a dry run. It decides intents as a database would, on a copy of the site in a temporary file, and stores nothing. */
export class DryRunEngine implements EngineCommits {
  readonly #site: number;
  readonly #systemEpoch: string;
  readonly #copy = withScratchErrors(() => new SiteCopy());
  #state = newSiteState();

  private constructor(site: number, systemEpoch: string) {
    this.#site = site;
    this.#systemEpoch = systemEpoch;
  }

  /** Copies the site. @throws ProblemError `unavailable`, as all methods do, if the copy cannot be stored */
  static async open(engine: Pick<Engine, "readSite">, site: number, systemEpoch: string): Promise<DryRunEngine> {
    const simulated = new DryRunEngine(site, systemEpoch);
    try {
      await simulated.#copySite(engine);
    } catch (error) {
      simulated.close();
      throw error;
    }
    return simulated;
  }

  async commit(intents: readonly Intent[], options?: CommitOptions): Promise<readonly Outcome[]> {
    return this.#decide(intents, options?.atomic);
  }

  async commitAtomically(...[batches, onOutcomes]: Parameters<Engine["commitAtomically"]>): Promise<void> {
    for (const intents of batches) {
      const outcomes = this.#decide(intents, true);
      await onOutcomes(outcomes);
      if (isBatchAborted(outcomes, intents)) return;
    }
  }

  close(): void {
    this.#copy.close();
  }

  #decide(intents: readonly Intent[], atomic?: boolean): readonly Outcome[] {
    return withScratchErrors(() => {
      const state = this.#readBatchState(intents);
      const { outcomes, rows } = decideBatch(intents, state, atomic);
      for (const row of rows) this.#copy.put(row);
      return outcomes;
    });
  }

  #readBatchState(intents: readonly Intent[]): BatchState {
    const state = emptyBatchState(this.#systemEpoch);
    state.sites.set(this.#site, this.#state);
    for (const { resource, id } of keysOfBatch(intents).records) {
      const isKnown = state.rows.find(this.#site, resource, id) !== undefined;
      const row = isKnown ? undefined : this.#copy.find(resource, id);
      if (row) state.rows.add({ site_id: this.#site, ...row });
    }
    return state;
  }

  #copySite(engine: Pick<Engine, "readSite">): Promise<void> {
    return engine.readSite(this.#site, async ({ head, rowChunks }) => {
      const lastIds: Record<string, number> = {};
      const yieldIfDue = createYielder();
      withScratchErrors(() => this.#copy.clear());
      for await (const rows of rowChunks) {
        await yieldIfDue();
        withScratchErrors(() => {
          for (const row of rows) this.#copy.put(row);
        });
        for (const { resource, id } of rows) lastIds[resource] = Math.max(lastIds[resource] ?? 0, id);
      }
      this.#state = toState(head, lastIds);
    });
  }
}

function toState(head: Head, lastIds: SiteState["lastIds"]): SiteState {
  return head.revision === 0 ? newSiteState() : { ...newSiteState(), ...head, lastIds };
}

/** The copy of a site's records. The outcomes of the dry run are applied to it. */
class SiteCopy {
  readonly #database = openScratch(
    "create table scratch.rows (resource text, id integer, revision integer, body text, primary key (resource, id)) strict, without rowid",
  );
  readonly #put = this.#database.query<never, [string, number, number, string | null]>(
    "insert or replace into scratch.rows (resource, id, revision, body) values (?, ?, ?, ?)",
  );
  readonly #find = this.#database.query<RecordRow, [string, number]>(
    "select resource, id, revision, body from scratch.rows where resource = ? and id = ?",
  );

  put({ resource, id, revision, body }: RecordRow): void {
    this.#put.run(resource, id, revision, body);
  }

  find(resource: string, id: number): RecordRow | undefined {
    return this.#find.get(resource, id) ?? undefined;
  }

  clear(): void {
    this.#database.run("delete from scratch.rows");
  }

  close(): void {
    this.#database.close();
  }
}
