import { createPace } from "../lib/pace.ts";
import { openScratch } from "../lib/scratch-database.ts";
import type { Engine, Head, RecordRow } from "../model/engine.ts";
import type { Intent, Outcome } from "../model/intent.ts";
import { decideBatch, newSite, nothingStored, type SiteState, type Stored } from "../store/batch.ts";
import { accessing } from "./file-access.ts";

export type CommitEngine = Pick<Engine, "commit" | "commitTogether">;

/** Decides as the store would, on a copy of the site, and stores nothing. The copy is in a temporary file. */
export class SimulatedEngine implements CommitEngine {
  readonly #site: number;
  readonly #systemEpoch: string;
  readonly #copy = storing(() => new SiteCopy());
  #state = newSite();

  private constructor(site: number, systemEpoch: string) {
    this.#site = site;
    this.#systemEpoch = systemEpoch;
  }

  /** @throws Refusal `unavailable`, as all methods do, when the copy cannot be kept */
  static async open(engine: Pick<Engine, "readSite">, site: number, systemEpoch: string): Promise<SimulatedEngine> {
    const simulated = new SimulatedEngine(site, systemEpoch);
    try {
      await simulated.#copySite(engine);
    } catch (error) {
      simulated.close();
      throw error;
    }
    return simulated;
  }

  async commit(intents: readonly Intent[], atomic?: boolean): Promise<readonly Outcome[]> {
    return this.#decide(intents, atomic);
  }

  async commitTogether(...[batches, onOutcomes]: Parameters<Engine["commitTogether"]>): Promise<void> {
    for (const intents of batches) {
      const outcomes = this.#decide(intents, true);
      await onOutcomes(outcomes);
      if (outcomes.at(-1)?.kind === "refused") return;
    }
  }

  close(): void {
    this.#copy.close();
  }

  #decide(intents: readonly Intent[], atomic?: boolean): readonly Outcome[] {
    return storing(() => {
      const stored = this.#fetch(intents);
      const { outcomes, rows } = decideBatch(intents, stored, atomic);
      for (const row of rows) this.#copy.put(row);
      return outcomes;
    });
  }

  #fetch(intents: readonly Intent[]): Stored {
    const stored = nothingStored(this.#systemEpoch);
    stored.sites.set(this.#site, this.#state);
    for (const { resource, id } of intents) {
      const isKnown = id === undefined || stored.rows.get(this.#site, resource, id);
      const row = isKnown ? undefined : this.#copy.find(resource, id);
      if (row) stored.rows.add({ site_id: this.#site, ...row });
    }
    return stored;
  }

  #copySite(engine: Pick<Engine, "readSite">): Promise<void> | void {
    return engine.readSite(this.#site, async ({ head, portions }) => {
      const counters: Record<string, number> = {};
      const pace = createPace();
      storing(() => this.#copy.clear());
      for await (const rows of portions) {
        await pace();
        storing(() => {
          for (const row of rows) this.#copy.put(row);
        });
        for (const { resource, id } of rows) counters[resource] = Math.max(counters[resource] ?? 0, id);
      }
      this.#state = toState(head, counters);
    });
  }
}

function toState(head: Head, counters: SiteState["counters"]): SiteState {
  return head.revision === 0 ? newSite() : { ...newSite(), ...head, counters, counts: undefined };
}

/** The records of a site, which are changed as in the store. */
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

function storing<T>(access: () => T): T {
  return accessing(
    "the records cannot be copied to a temporary file for the dry run (set TMPDIR for another folder)",
    access,
  );
}
