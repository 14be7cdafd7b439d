// The results of a batch request.

import type { AcceptedOutcome } from "../../model/change.ts";
import type { ProblemError } from "../../model/errors.ts";

/** The result of an operation. */
export type OperationResult = { readonly outcome: AcceptedOutcome } | { readonly problem: ProblemError };

/** The results of a batch request. */
export interface BatchResults {
  /** The run of the changes; null if nothing was changed. */
  readonly run: string | null;
  /** One result of each operation, in order. */
  readonly results: readonly OperationResult[];
  /** Whether these are the results of an earlier request with the same idempotency key. */
  readonly isReplay: boolean;
  /** Returns the records that a dry run would change, and their revisions before, as a text to compare. Empty without `BatchRequest.confirm`. */
  readonly touched: () => string;
}
