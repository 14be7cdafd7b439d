// Which sites an operator may manage.

import type { Engine } from "../model/engine.ts";
import { operator as operatorResource } from "../resources/operator.ts";
import {
  type ListedOperator,
  type OperatorRecord,
  requireAnother,
  requireOperator,
  toListed,
  toSiteIds,
} from "./operators.ts";
import type { SiteRecord } from "./sites.ts";
import { changeSystem, toUpdate } from "./system.ts";

export function mayManage({ Sites }: Pick<OperatorRecord, "Sites">, site: number): boolean {
  return Sites === "" || Sites.split(" ").includes(String(site));
}

/** Those of `sites` that an operator may manage. */
export function managedSites(
  { Sites }: Pick<OperatorRecord, "Sites">,
  sites: readonly SiteRecord[],
): readonly SiteRecord[] {
  if (Sites === "") return sites;
  const own = new Set(Sites.split(" ").map(Number));
  return sites.filter(({ ID }) => own.has(ID));
}

/**
 * Changes the sites that an operator may manage. Its sessions have the change from the next request on.
 * @param sites their names; none for all
 * @param options.isLast true to limit also the last operator of all sites: then only commands can add sites and operators
 * @throws Refusal `not-found` for an unknown operator or site, `conflict` for the last operator of all sites, `invalid-record` for too many sites
 */
export async function setOperatorSites(
  engine: Engine,
  name: string,
  sites: readonly string[],
  now: number,
  { isLast = false }: { readonly isLast?: boolean } = {},
): Promise<ListedOperator> {
  let changed: ListedOperator | undefined;
  await changeSystem(engine, (system) => {
    const before = requireOperator(system, name);
    const Sites = toSiteIds(sites, system);
    if (Sites !== "" && !isLast) requireAnother(system, before);
    changed = toListed({ ...before, Sites }, system);
    return [toUpdate(operatorResource, before.ID, { Sites }, now)];
  });
  return changed as ListedOperator;
}
