// Changes several records for an operator, either all of them or none. It's one run, so one undo reverts it all.

import { chunksOf, yieldBetween } from "../../lib/yielding.ts";
import { type Intent, type Outcome, operatorActor, type RejectedOutcome, versionOf } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import {
  ErrorBudget,
  type ErrorLimits,
  fault,
  firstErrorOnly,
  invalidRecordError,
  ProblemError,
  RetryableError,
} from "../../model/errors.ts";
import { epochToKeep, type Head } from "../../model/head.ts";
import { parseRecordChanges } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { epochChangedError, type RevisionRange, requireSameMachine, revisionsOf } from "../journal/journal-entries.ts";
import {
  type ExpectedRecord,
  findConflicts,
  type RecordFault,
  type RefusalMembers,
  WriteRefusedError,
} from "./conflicts.ts";

/** A change that isn't validated yet. */
export interface RecordChanges extends ExpectedRecord {
  /** The fields to change. */
  readonly values: unknown;
}

export interface ChangedRecords {
  readonly changed: number;
  /** Records that already had these values. */
  readonly unchanged: number;
  /** Undefined if nothing changed. */
  readonly revisions: RevisionRange | undefined;
  /** The records' new versions, in the order of the changes. */
  readonly versions: readonly string[];
}

/** Faults that are reported. */
const maxFaults = 500;
/** Intents per batch. A transaction has several batches. */
const batchSize = 500;

/**
 * Changes records in one transaction. A record that already has its new values counts as unchanged, even if its version isn't the expected one, because
 * the response to an earlier attempt may have been lost.
 * @param changes one per record
 * @throws WriteRefusedError `invalid-record`, or `precondition-failed` if there are only conflicts; has the faults and conflicts of all records
 * @throws ProblemError `conflict` if the site was restored or removed in the meantime; `unavailable`
 */
export async function changeRecords(
  engine: Engine,
  site: number,
  resource: Resource,
  changes: readonly RecordChanges[],
  at: number,
  isSecondAttempt = false,
): Promise<ChangedRecords> {
  const [head] = (await engine.readHeads([site])) as [Head];
  const { intents, faults, faultyCount } = await toIntents(resource, changes, { site, at, head });
  if (faultyCount > 0) {
    const { conflicts, conflictCount } = await findConflicts(engine, site, resource, changes);
    throw refusedError(resource, { faults, faultyCount, conflicts, conflictCount });
  }
  const result = await commitTogether(engine, head, intents);
  if (!("rejected" in result)) return result;
  if (result.rejected.rejectionReason === "other-epoch") throw epochChangedError();
  const { conflicts, conflictCount, repeated } = await findConflicts(engine, site, resource, changes);
  if (conflictCount > 0) throw refusedError(resource, { conflicts, conflictCount });
  if (repeated.size === 0 || isSecondAttempt) throw new RetryableError("someone else keeps changing these records");
  // With their current versions, so that a change in between still counts as a conflict.
  const rebased = changes.map((one) => ({ ...one, ifVersion: repeated.get(one.id) ?? one.ifVersion }));
  return changeRecords(engine, site, resource, rebased, at, true);
}

interface IntentContext {
  readonly site: number;
  readonly at: number;
  readonly head: Head;
}

/** Returns intents for the valid changes, and the faults of the others. Yields to the event loop in between. */
async function toIntents(resource: Resource, changes: readonly RecordChanges[], { site, at, head }: IntentContext) {
  const intents: Intent[] = [];
  const faults: RecordFault[] = [];
  let faultyCount = 0;
  const errors = new ErrorBudget(firstErrorOnly, maxFaults);
  const common = { site, resource: resource.name, operation: "update", actor: operatorActor, at } as const;
  for await (const { id, ifVersion, values } of yieldBetween(changes)) {
    try {
      const valuesJson = JSON.stringify(errors.run((limits) => parseValues(resource, values, limits)));
      const condition = { ifVersion: ifVersion === undefined ? undefined : [ifVersion], ifEpoch: epochToKeep(head) };
      intents.push({ ...common, ...condition, id, valuesJson });
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "invalid-record") throw error;
      faultyCount++;
      const left = Math.max(0, maxFaults - faults.length);
      faults.push(...error.fieldErrors.slice(0, left).map((fieldError) => ({ id, ...fieldError })));
    }
  }
  return { intents, faults, faultyCount };
}

/** @param values without the ID, which the change has separately @throws ProblemError `invalid-record` */
function parseValues(resource: Resource, values: unknown, limits: ErrorLimits) {
  const parsed = parseRecordChanges(resource, values, [], limits);
  if (parsed.id === undefined) return parsed.values;
  throw invalidRecordError([{ field: "ID", ...fault("read-only", "; the ID of a record can't be changed") }]);
}

/**
 * Commits intents in one transaction. If one is rejected, nothing is stored, and its outcome is returned. A rejected intent with `isOptional` doesn't
 * count at all.
 * @throws ProblemError `conflict` if another machine has taken over the database since `head`; `unavailable`
 */
export async function commitTogether(
  engine: Engine,
  head: Head,
  intents: readonly Intent[],
): Promise<ChangedRecords | { readonly rejected: RejectedOutcome }> {
  let [changed, unchanged] = [0, 0];
  let revisions: RevisionRange | undefined;
  let rejected: RejectedOutcome | undefined;
  const versions: string[] = [];
  const onOutcomes = (outcomes: readonly Outcome[]) => {
    for (const outcome of outcomes) {
      if (outcome.kind !== "rejected") versions.push(versionOf(outcome.epoch, outcome.revision));
      if (outcome.kind === "done") changed++;
      else if (outcome.kind === "rejected") rejected = outcome;
      else unchanged++;
    }
    revisions = revisionsOf(outcomes, revisions);
  };
  await requireSameMachine(engine, head);
  const result = await engine.commitAtomically(chunksOf(intents, batchSize), onOutcomes);
  if (result.kind !== "committed") return { rejected: rejected as unknown as RejectedOutcome };
  return { changed, unchanged, revisions, versions };
}

function refusedError({ singular, plural }: Resource, members: RefusalMembers): WriteRefusedError {
  const { faultyCount = 0, conflictCount = 0 } = members;
  const name = (count: number) => `${count} ${count === 1 ? singular : plural}`;
  const parts = [
    ...(faultyCount > 0 ? [`${name(faultyCount)} ${faultyCount === 1 ? "has" : "have"} invalid values`] : []),
    ...(conflictCount > 0 ? [`someone else has changed ${name(conflictCount)}`] : []),
  ];
  const code = faultyCount > 0 ? "invalid-record" : "precondition-failed";
  return new WriteRefusedError(code, `nothing was saved: ${parts.join(", and ")}`, members);
}
