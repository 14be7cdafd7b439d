// Decides the outcomes that the writes of a batch request would have now, and stores nothing: for a dry run, and to list the faults of all operations.
// A rejected write does not stop the others.

import { chunksOf } from "../../lib/yielding.ts";
import type { AcceptedOutcome, Intent, Outcome } from "../../model/change.ts";
import type { ProblemError } from "../../model/errors.ts";
import { DryRunEngine, type DryRunReads } from "../../store/writes/dry-run-engine.ts";
import { rejectionProblem } from "./batch-faults.ts";
import type { OperationWrite, TouchedRecord } from "./batch-writes.ts";

export interface DryDecision {
  /** By the index of the operation; undefined for operations with a fault. */
  readonly outcomes: readonly (AcceptedOutcome | undefined)[];
  /** By the index of the operation. */
  readonly faults: ReadonlyMap<number, ProblemError>;
  /** One of each write without a fault, in order; empty if they were not wanted. */
  readonly touched: readonly TouchedRecord[];
  /** The epoch of the site; empty if no write would be stored. */
  readonly epoch: string;
}

/** Maximum writes that are decided in one step. */
const writesPerStep = 250;

/**
 * Decides `writes` in order. Yields to the event loop in between.
 * @param reportsTouched whether to return the touched records
 * @throws OutdatedError if the site gets another epoch meanwhile; ProblemError `unavailable`
 */
export async function decideDry(
  engine: DryRunReads,
  site: number,
  writes: readonly OperationWrite[],
  reportsTouched: boolean,
): Promise<DryDecision> {
  const outcomes: AcceptedOutcome[] = [];
  const faults = new Map<number, ProblemError>();
  const dryRun = new DryRunEngine(engine, site);
  try {
    let decided = 0;
    const onOutcomes = (step: readonly Outcome[]) => {
      for (const outcome of step) {
        const { index, checked } = writes[decided++] as OperationWrite;
        if (outcome.kind === "rejected") faults.set(index, rejectionProblem(outcome, checked));
        else outcomes[index] = outcome;
      }
    };
    await dryRun.commitAtomically(stepsOf(writes), onOutcomes, { run: { id: "", size: writes.length } });
    const epoch = outcomes.find((outcome) => outcome !== undefined)?.epoch ?? "";
    return { outcomes, faults, touched: reportsTouched ? touchedIn(dryRun, writes, outcomes) : [], epoch };
  } finally {
    dryRun.close();
  }
}

/** Yields the intents in steps. None of them ends the dry run if it is rejected. */
function* stepsOf(writes: readonly OperationWrite[]): Generator<readonly Intent[]> {
  for (const step of chunksOf(writes, writesPerStep)) yield step.map(({ intent }) => ({ ...intent, isOptional: true }));
}

function touchedIn(
  dryRun: DryRunEngine,
  writes: readonly OperationWrite[],
  outcomes: readonly (AcceptedOutcome | undefined)[],
): TouchedRecord[] {
  return writes.flatMap(({ index, intent: { resource } }) => {
    const outcome = outcomes[index];
    if (!outcome) return [];
    const { id, revision } = outcome;
    return [{ resource, id, revision: dryRun.revisionBefore(resource, id) ?? revision }];
  });
}
