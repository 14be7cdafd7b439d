// Finds the records of a batch request by their match values, in the site's snapshot.
//
// A single pass over a resource finds the records for all values. It runs in slices and isn't shared with other requests. As with filters, blocks
// keep the field's column for the next pass.

import type { FoundRecords } from "../../model/change.ts";
import { OutdatedError } from "../../model/errors.ts";
import type { Resource, TextFieldPath } from "../../model/resource.ts";
import { findIdsByTexts } from "../memory/order.ts";
import { Snapshot } from "../memory/snapshot.ts";
import type { SiteView } from "../reads/site-views.ts";

/** The match values to find in one resource. */
export interface WantedTexts {
  readonly resource: Resource;
  readonly textField: TextFieldPath;
  readonly texts: ReadonlySet<string>;
}

/** The records of a site with certain texts, as of one head. */
export interface FoundByText {
  /** The records may reflect later revisions too. */
  readonly revision: number;
  /** Empty if the site was never written to. */
  readonly epoch: string;
  find(resource: Resource, text: string): FoundRecords;
}

const none: FoundRecords = { ids: [], count: 0 };

/** Makes the names of searches unique, because `WorkLimiter` shares work with the same name. */
let searches = 0;

/**
 * Loads the site if it isn't in memory.
 * @param wanted at most one per resource
 * @param isWanted whether the client is still waiting
 * @throws OutdatedError if the site's epoch isn't that of `view`; AbandonedWorkError if the client is gone
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
