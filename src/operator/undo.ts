// Takes changes back: what was created is deleted, what was updated or deleted gets its earlier contents.

import { operatorActor } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { type Intent, type Refused, versionOf } from "../model/intent.ts";
import { otherHistory } from "./history.ts";
import { type RevisionRange, revisionsOf } from "./revisions.ts";
import { findRecords, type UndoneRecords, type UndoRange } from "./undone-records.ts";

export interface UndoOptions {
  /** Take back the changes to records that others have changed later, too: later changes are lost. */
  readonly force?: boolean | undefined;
  /** Report what would happen, and change nothing. */
  readonly dryRun?: boolean | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A record that was left as it is, and why. */
interface LeftRecord {
  readonly resource: string;
  readonly id: number;
  /** The change by another that would have been lost; undefined if the earlier contents were pruned. */
  readonly changed: { readonly revision: number; readonly actor: string } | undefined;
}

export interface UndoSummary {
  /** Records that the range had created and that are deleted now. */
  deleted: number;
  /** Records that have their earlier contents again. */
  restored: number;
  /** Records that already are as they were. */
  unchanged: number;
  readonly left: LeftRecord[];
  /** The journal entries of this undo; undefined if it changed nothing. */
  revisions: RevisionRange | undefined;
}

/** Records of one batch. */
const batchSize = 500;

/** How often it begins again when others change the same records at the same time. */
const maxAttempts = 5;

/**
 * Takes back the changes in `range`, in one transaction, which is journaled like any other.
 * @throws Refusal `not-found` when there are no such changes or some were pruned, `conflict` when the site was restored
 * or removed or others change these records all the time, `bad-request` when there are more than `maxUndone`
 */
export async function undo(engine: Engine, site: number, range: UndoRange, options: UndoOptions): Promise<UndoSummary> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const [head] = (await engine.heads([site])) as [Head];
    const records = await findRecords(engine, site, head, range);
    const { summary, intents } = plan(site, head, records, options);
    if (options.dryRun || intents.length === 0) return summary;
    const { revisions, refused } = await commitAll(engine, intents);
    if (refused?.why === "other-history") throw otherHistory();
    if (!refused) return { ...summary, revisions };
  }
  throw new Refusal("conflict", "others change these records all the time; nothing was changed, try again");
}

function plan(site: number, { epoch }: Head, records: UndoneRecords, { force, at }: UndoOptions) {
  const summary: UndoSummary = { deleted: 0, restored: 0, unchanged: 0, left: [], revisions: undefined };
  const intents: Intent[] = [];
  for (const { resource, id, before, now, last, other } of records.values()) {
    if (before === now) summary.unchanged++;
    else if (before === undefined) summary.left.push({ resource, id, changed: undefined });
    else if (other && !force)
      summary.left.push({ resource, id, changed: { revision: other.revision, actor: other.actor } });
    else {
      const operation = before === null ? "delete" : "restore";
      const common = {
        site,
        resource,
        id,
        actor: operatorActor,
        at,
        ifEpoch: epoch,
        ifVersion: [versionOf(epoch, last)],
      };
      intents.push({ ...common, operation, text: before ?? "{}" });
      if (before === null) summary.deleted++;
      else summary.restored++;
    }
  }
  return { summary, intents };
}

/** Commits all of them or none, in batches of one transaction. Returns what was written, or the refusal. */
async function commitAll(engine: Engine, intents: readonly Intent[]) {
  const batches = function* () {
    for (let from = 0; from < intents.length; from += batchSize) yield intents.slice(from, from + batchSize);
  };
  let revisions: RevisionRange | undefined;
  let refused: Refused | undefined;
  await engine.commitTogether(batches(), (outcomes) => {
    revisions = revisionsOf(outcomes, revisions);
    refused = outcomes.find((outcome) => outcome.kind === "refused");
  });
  return { revisions, refused };
}
