import type { Change } from "../model/change.ts";
import { operatorActor } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Outcome } from "../model/intent.ts";
import type { Resource } from "../model/resource.ts";

const pageSize = 1000;

/** The present entries of a site's journal after revision `since`, in order. @throws Refusal `not-found` when they were pruned */
export async function* journal(engine: Engine, site: number, since = 0): AsyncGenerator<Change> {
  let revision = since;
  while (true) {
    const page = await engine.since(site, revision, { limit: pageSize });
    if (!page) throw new Refusal("not-found", `the journal does not reach back to revision ${since}`);
    yield* page;
    if (page.length < pageSize) return;
    revision = page.at(-1)?.revision ?? revision;
  }
}

/**
 * Restores a record as it was at `revision`; without one, as it was before its last change. A deleted record gets its old
 * ID back.
 * @throws Refusal `not-found` when the journal has no such state, `conflict` when the site has been restored or removed
 * in the meantime
 */
export async function restoreRecord(
  engine: Engine,
  site: number,
  resource: Resource,
  id: number,
  revision: number | undefined,
  at: number,
): Promise<Outcome> {
  const [head] = await engine.heads([site]);
  const text = await findState(engine, site, resource, id, revision);
  const common = { site, resource: resource.name, id, actor: operatorActor, at };
  const [outcome] = await engine.commit([{ ...common, operation: "restore", text, ifEpoch: head?.epoch }]);
  if (outcome?.kind === "refused" && outcome.why === "other-history")
    throw new Refusal("conflict", "the site was restored or removed at the same time; nothing was changed");
  return outcome as Outcome;
}

async function findState(
  engine: Engine,
  site: number,
  resource: Resource,
  id: number,
  revision: number | undefined,
): Promise<string> {
  let before: Change | undefined;
  let last: Change | undefined;
  for await (const change of journal(engine, site)) {
    if (change.resource !== resource.name || change.id !== id) continue;
    if (revision !== undefined && change.revision > revision) break;
    [before, last] = [last, change];
  }
  const name = `${resource.singular} ${id}`;
  if (!last)
    throw new Refusal(
      "not-found",
      `the journal has no ${name}${revision === undefined ? "" : ` up to revision ${revision}`}`,
    );
  if (revision !== undefined) {
    if (last.operation === "delete")
      throw new Refusal(
        "not-found",
        `the ${name} did not exist at revision ${revision}: it was deleted at ${last.revision}`,
      );
    return last.body;
  }
  if (last.operation === "delete") return last.body;
  if (!before) throw new Refusal("not-found", `the ${name} has not changed since it was created`);
  return before.body;
}
