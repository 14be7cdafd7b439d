import { operatorActor } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { otherHistory } from "./history.ts";
import { type RevisionRange, revisionsOf } from "./revisions.ts";

interface DeletedRecords {
  /** As JSON texts, in the order of `ids`. */
  readonly records: readonly string[];
  readonly revisions: RevisionRange | undefined;
}

/**
 * Deletes records, all of them or none. An ID that is named twice counts once.
 * @throws Refusal `not-found` that names an ID without a record, `conflict` when the site was restored or removed at the same time
 */
export async function deleteRecords(
  engine: Engine,
  site: number,
  resource: Resource,
  ids: readonly number[],
  at: number,
): Promise<DeletedRecords> {
  const [head] = (await engine.heads([site])) as [Head];
  const unique = [...new Set(ids)];
  const common = { site, resource: resource.name, operation: "delete", text: "{}", actor: operatorActor, at } as const;
  const ifEpoch = head.revision === 0 ? undefined : head.epoch;
  const outcomes = await engine.commit(
    unique.map((id) => ({ ...common, id, ifEpoch })),
    true,
  );
  const records = outcomes.map((outcome, index) => {
    if (outcome.kind !== "refused") return outcome.body;
    if (outcome.why === "other-history") throw otherHistory();
    throw new Refusal("not-found", `there is no ${resource.singular} ${unique[index]}; nothing was deleted`);
  });
  return { records, revisions: revisionsOf(outcomes) };
}
