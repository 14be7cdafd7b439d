// Finds the records of a batch request by their match values, in the snapshot of the site.
//
// One pass over the records of a resource finds the records of all match values of the request. It runs in slices, and is shared with no other
// request. Each block keeps the column of the field for the next pass, as for a filter.

import type { FoundRecords } from "../../model/change.ts";
import { OutdatedError } from "../../model/errors.ts";
import type { Resource, TextFieldPath } from "../../model/resource.ts";
import { findIdsByTexts } from "../memory/order.ts";
import { Snapshot } from "../memory/snapshot.ts";
import type { SiteView } from "../reads/site-views.ts";

/** The match values of one resource. */
export interface WantedTexts {
  readonly resource: Resource;
  readonly textField: TextFieldPath;
  readonly texts: ReadonlySet<string>;
}

/** The records of a site with certain texts, as of one head. */
export interface FoundByText {
  /** They may be known as of later revisions too. */
  readonly revision: number;
  /** Empty if the site was never written to. */
  readonly epoch: string;
  /** Returns the records of a resource that have one of its wanted texts. */
  find(resource: Resource, text: string): FoundRecords;
}

const none: FoundRecords = { ids: [], count: 0 };

/** Makes the names of searches unique, because a `WorkLimiter` shares work with the same name. */
let searches = 0;

/**
 * Finds the records with the texts in `view`. If the site is not in memory, loads it.
 * @param wanted one of each resource
 * @param isWanted whether the client still waits
 * @throws OutdatedError if the site has another epoch than `view`; AbandonedWorkError if the client does not wait any more
 */
export async function findByTexts(
  view: SiteView,
  wanted: readonly WantedTexts[],
  isWanted: () => boolean,
): Promise<FoundByText> {
  const snapshot = view instanceof Snapshot ? view : await view.loadSnapshot();
  const { epoch, revision } = snapshot;
  if (view.epoch !== "" && epoch !== view.epoch) throw new OutdatedError("epoch");
  const found = new Map<Resource, ReadonlyMap<string, FoundRecords>>();
  for (const { resource, textField, texts } of wanted) {
    const collection = snapshot.collection(resource);
    const { blocks } = await collection.version();
    const name = `search by texts ${++searches}`;
    found.set(resource, await collection.limiter.run(name, () => findIdsByTexts(blocks, textField, texts), isWanted));
  }
  return { epoch, revision, find: (resource, text) => found.get(resource)?.get(text) ?? none };
}
