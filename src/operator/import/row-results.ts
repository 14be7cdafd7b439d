// Counts the results of rows, and reports them to the caller of an import.

import type { AcceptedOutcome, Outcome } from "../../model/change.ts";
import { type FieldError, ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import type { NumberedRow } from "./file-rows.ts";
import { RowCounter } from "./import-summary.ts";
import { rejectionFieldErrors } from "./row-errors.ts";
import type { SpooledRow } from "./spooled-rows.ts";

/** The reports that the caller of an import wants. */
export interface RowResultOptions {
  /** Report the outcomes, and store nothing. */
  readonly dryRun?: boolean | undefined;
  /** Called for each row that is rejected; the import waits for it. */
  readonly onRejected?: ((row: NumberedRow, fieldErrors: readonly FieldError[]) => Promise<void>) | undefined;
  /** Called for each row that is stored, or in a dry run would be; the import waits for it. */
  readonly onAccepted?: ((row: NumberedRow, outcome: AcceptedOutcome) => void | Promise<void>) | undefined;
  /** Maximum field errors that the summary lists; by default 10,000. */
  readonly maxFieldErrors?: number | undefined;
}

export class RowResults {
  readonly counter: RowCounter;
  readonly #resource: Resource;
  readonly #options: RowResultOptions;

  constructor(resource: Resource, options: RowResultOptions) {
    this.#resource = resource;
    this.counter = new RowCounter(options.maxFieldErrors);
    this.#options = options;
  }

  /** Counts and reports a row that is stored or rejected. */
  async add({ row, intent }: SpooledRow, result: Outcome): Promise<void> {
    if (result.kind === "rejected")
      return this.#reject(row(), rejectionFieldErrors(result, intent, this.#resource, row()));
    this.counter.countOutcome(result);
    if (!this.#options.dryRun) this.counter.addRevisions([result]);
    await this.#options.onAccepted?.(row(), result);
  }

  /** Rejects the row if `work` throws its field errors. @throws any other error of `work` */
  async runOrReject(row: NumberedRow, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "invalid-record") throw error;
      await this.#reject(row, error.fieldErrors);
    }
  }

  async #reject(row: NumberedRow, fieldErrors: readonly FieldError[]): Promise<void> {
    this.counter.countRejected(row.number, fieldErrors);
    await this.#options.onRejected?.(row, fieldErrors);
  }
}
