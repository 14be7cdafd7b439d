// Takes changes back: what was created is deleted, what was updated or deleted gets its earlier contents.

import { paced } from "../lib/pace.ts";
import { type JournalEntry, operatorActor } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { type Intent, type Outcome, versionOf } from "../model/intent.ts";
import { otherHistory } from "./history.ts";
import { type RevisionRange, revisionsOf } from "./revisions.ts";
import { findRecords, keyOf, type UndoneRecords, type UndoRange } from "./undone-records.ts";

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
  /** The change by another that would have been lost; undefined if it or the earlier contents were pruned. */
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

/** Journal entries that are read at once. */
const pageSize = 1000;

/**
 * Takes back the changes in `range`, in one transaction, which is journaled like any other. A record that others change while this runs
 * counts as changed later.
 * @throws Refusal `not-found` when there are no such changes or some were pruned, `conflict` when the site was restored
 * or removed, `bad-request` when there are more than `maxUndone`
 */
export async function undo(engine: Engine, site: number, range: UndoRange, options: UndoOptions): Promise<UndoSummary> {
  const [head] = (await engine.heads([site])) as [Head];
  const records = await findRecords(engine, site, head, range);
  const { summary, intents } = await plan(site, head, records, options);
  const outcomes = options.dryRun ? [] : await commitAll(engine, intents);
  if (outcomes.some(isOtherHistory)) throw otherHistory();
  const refused = new Map<string, Intent>();
  intents.forEach((intent, index) => {
    const kind = outcomes[index]?.kind ?? "done";
    if (kind === "done" && intent.operation === "delete") summary.deleted++;
    else if (kind === "done") summary.restored++;
    // With `force`, only the delete of a record that others have just deleted is refused.
    else if (kind === "unchanged" || options.force) summary.unchanged++;
    else refused.set(keyOf(intent), intent);
  });
  if (refused.size > 0) summary.left.push(...(await findChanged(engine, site, head, refused)));
  return { ...summary, revisions: revisionsOf(outcomes) };
}

async function plan(site: number, { epoch }: Head, records: UndoneRecords, { force, at }: UndoOptions) {
  const summary: UndoSummary = { deleted: 0, restored: 0, unchanged: 0, left: [], revisions: undefined };
  const intents: Intent[] = [];
  for await (const { resource, id, before, now, last, other } of paced(records.values())) {
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
        ifVersion: force ? undefined : [versionOf(epoch, last)],
        isOptional: true,
      };
      intents.push({ ...common, operation, text: before ?? "{}" });
    }
  }
  return { summary, intents };
}

/** Commits the intents in batches of one transaction. Returns their outcomes, or with another history those up to its refusal. */
async function commitAll(engine: Engine, intents: readonly Intent[]): Promise<Outcome[]> {
  const batches = function* () {
    for (let from = 0; from < intents.length; from += batchSize) yield intents.slice(from, from + batchSize);
  };
  const all: Outcome[] = [];
  if (intents.length > 0) await engine.commitTogether(batches(), (outcomes) => void all.push(...outcomes));
  return all;
}

/** The records that others changed after `head`, with the last of these changes. */
async function findChanged(
  engine: Engine,
  site: number,
  head: Head,
  records: ReadonlyMap<string, Intent>,
): Promise<LeftRecord[]> {
  const changed = new Map<string, LeftRecord["changed"]>();
  for (let from: number | undefined = head.revision; from !== undefined; ) {
    // Also those of another history: the undo is stored, so its summary must be complete.
    const { entries }: { entries: readonly JournalEntry[] } = await engine.journal(site, from, pageSize);
    for (const entry of entries) {
      const { revision, actor } = entry;
      if (records.has(keyOf(entry))) changed.set(keyOf(entry), { revision, actor });
    }
    from = entries.at(-1)?.revision;
  }
  return [...records].map(([key, { resource, id }]) => ({ resource, id: id as number, changed: changed.get(key) }));
}

function isOtherHistory(outcome: Outcome): boolean {
  return outcome.kind === "refused" && outcome.why === "other-history";
}
