// Counts the outcomes of rows, creates the errors of rejected rows, and decides intents in a dry run.

import type { InternedTexts } from "../../lib/bytes.ts";
import { createYielder } from "../../lib/event-loop.ts";
import { openScratch } from "../../lib/scratch-database.ts";
import type { Intent, Outcome, RejectedOutcome } from "../../model/change.ts";
import type { Engine, Head, RecordRow } from "../../model/engine.ts";
import { type FieldError, invalidRecordError, ProblemError } from "../../model/errors.ts";
import { newSiteState, type SiteState } from "../../store/database/site-state.ts";
import { type BatchInput, decideBatch, emptyBatchInput } from "../../store/writes/batch.ts";
import type { RevisionRange } from "../history.ts";
import { withFileErrors } from "../output.ts";

/** A field error, and the number of its row. */
interface RowFieldError {
  readonly row: number;
  readonly field: string;
  readonly detail: string;
}

/** The outcome of a row that was not rejected. */
export type AcceptedOutcome = Exclude<Outcome, RejectedOutcome>;

/** The result of an import or a dry run, as numbers of rows. */
export interface ImportSummary {
  rows: number;
  created: number;
  updated: number;
  unchanged: number;
  /** Rows that were rejected. */
  rejected: number;
  /** Whether the import was stopped before the last row. */
  interrupted: boolean;
  /** The journal entries of this import; undefined if it changed nothing. */
  revisions: RevisionRange | undefined;
  faults: RowFieldError[];
}

export function emptySummary(): ImportSummary {
  return {
    rows: 0,
    created: 0,
    updated: 0,
    unchanged: 0,
    rejected: 0,
    interrupted: false,
    revisions: undefined,
    faults: [],
  };
}

/** Counts the outcome of a row that was not rejected. */
export function countOutcome(summary: ImportSummary, intent: Intent, outcome: Outcome): void {
  if (outcome.kind === "unchanged") summary.unchanged++;
  else if (intent.operation === "create") summary.created++;
  else summary.updated++;
}

/** Creates the error for a row with an ID that the engine has given to a new record since the import began. */
export function idGivenError(id: number | undefined): FieldError {
  const howToKeepIds = "by others or for an earlier row without an ID; put rows with IDs first, and import again";
  return { field: "", detail: `the ID ${id} was given to a new record during the import, ${howToKeepIds}` };
}

/** Creates the error for a row from the rejection of its intent. */
export function rejectionFieldError({ rejectionReason }: RejectedOutcome, { id, ifFound }: Intent): FieldError {
  if (rejectionReason === "found-otherwise")
    return { field: ifFound?.keys.join(".") ?? "", detail: "others change all the time which record has this value" };
  if (rejectionReason === "other-epoch")
    return { field: "", detail: "the site was restored or removed during the import" };
  if (rejectionReason === "id-exists") return idGivenError(id);
  const deleted = `the record ${id} was deleted`;
  return {
    field: "",
    detail:
      rejectionReason === "id-used" ? `${deleted}; restore it with restore-record` : `${deleted} during the import`,
  };
}

/** Creates the error for a row that would match the record of an earlier row which is not stored yet. */
export function repeatedValueError(field = ""): ProblemError {
  return invalidRecordError([{ field, detail: "an earlier row has the same value (--atomic)" }]);
}

/** Counts a rejected row, and lists its field errors: at most `maxFaults` of all rows. @param texts copies the texts that are listed */
export function countRejected(
  summary: ImportSummary,
  row: number,
  faults: readonly FieldError[],
  texts: InternedTexts,
  maxFaults = Number.POSITIVE_INFINITY,
): void {
  summary.rejected++;
  for (const { field, detail } of faults) {
    if (summary.faults.length >= maxFaults) return;
    // Copy the texts: a text that quotes the row would keep in memory all the text that was read together with the row.
    summary.faults.push({ row, field: texts.copy(field), detail: texts.copy(detail) });
  }
}

/** Adds to the error of a failed import how many records were stored before. */
export function withProgress(error: unknown, { created, updated }: ImportSummary): unknown {
  if (!(error instanceof ProblemError) || created + updated === 0) return error;
  const stored = `${created} records were created and ${updated} updated before`;
  return new ProblemError(error.code, `${error.message}; ${stored}`, { fieldErrors: error.fieldErrors, cause: error });
}

export type CommitEngine = Pick<Engine, "commit" | "commitAtomically">;

/** The engine of a dry run. It decides intents as a database would, on a copy of the site in a temporary file, and stores nothing. */
export class DryRunEngine implements CommitEngine {
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

  async commit(intents: readonly Intent[], atomic?: boolean): Promise<readonly Outcome[]> {
    return this.#decide(intents, atomic);
  }

  async commitAtomically(...[batches, onOutcomes]: Parameters<Engine["commitAtomically"]>): Promise<void> {
    for (const intents of batches) {
      const outcomes = this.#decide(intents, true);
      await onOutcomes(outcomes);
      if (outcomes.at(-1)?.kind === "rejected") return;
    }
  }

  close(): void {
    this.#copy.close();
  }

  #decide(intents: readonly Intent[], atomic?: boolean): readonly Outcome[] {
    return withScratchErrors(() => {
      const stored = this.#fetch(intents);
      const { outcomes, rows } = decideBatch(intents, stored, atomic);
      for (const row of rows) this.#copy.put(row);
      return outcomes;
    });
  }

  #fetch(intents: readonly Intent[]): BatchInput {
    const stored = emptyBatchInput(this.#systemEpoch);
    stored.sites.set(this.#site, this.#state);
    for (const { resource, id } of intents) {
      const isKnown = id === undefined || stored.rows.get(this.#site, resource, id);
      const row = isKnown ? undefined : this.#copy.find(resource, id);
      if (row) stored.rows.add({ site_id: this.#site, ...row });
    }
    return stored;
  }

  #copySite(engine: Pick<Engine, "readSite">): Promise<void> | void {
    return engine.readSite(this.#site, async ({ head, rowChunks }) => {
      const counters: Record<string, number> = {};
      const yieldIfDue = createYielder();
      withScratchErrors(() => this.#copy.clear());
      for await (const rows of rowChunks) {
        await yieldIfDue();
        withScratchErrors(() => {
          for (const row of rows) this.#copy.put(row);
        });
        for (const { resource, id } of rows) counters[resource] = Math.max(counters[resource] ?? 0, id);
      }
      this.#state = toState(head, counters);
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

function withScratchErrors<T>(access: () => T): T {
  return withFileErrors(
    "the records cannot be copied to a temporary file for the dry run (set TMPDIR for another folder)",
    access,
  );
}
