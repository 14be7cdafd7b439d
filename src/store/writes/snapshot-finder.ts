// Finds the records of a batch request by their match values, in the snapshot of the site.
//
// One pass over the records of a resource finds the records of all match values of the request. It runs in slices, and is shared with no other
// request. Each block keeps the column of the field for the next pass, as for a filter.

import { OutdatedError } from "../../model/errors.ts";
import type { Resource, TextFieldPath } from "../../model/resource.ts";
import { type FoundRecords, findIdsByTexts } from "../memory/order.ts";
import { Snapshot } from "../memory/snapshot.ts";
import type { SiteView, SiteViews } from "../reads/site-views.ts";
import type { RecordFinder } from "./record-match.ts";

/** The match values of one resource. */
interface WantedTexts {
  readonly resource: Resource;
  readonly textField: TextFieldPath;
  readonly texts: ReadonlySet<string>;
}

interface SnapshotFinderOptions {
  readonly siteViews: Pick<SiteViews, "getUpToDate">;
  /** One of each resource. Only these texts can be found. */
  readonly wanted: readonly WantedTexts[];
  /** Whether the client still waits. */
  readonly isWanted: () => boolean;
}

const none: FoundRecords = { ids: [], count: 0 };

/** Makes the names of searches unique, because a `WorkLimiter` shares work with the same name. */
let searches = 0;

/** Finds the records of a site with certain texts. */
export class SnapshotFinder implements RecordFinder {
  readonly #site: number;
  /** Empty until the first write to the site. */
  #epoch: string;
  readonly #options: SnapshotFinderOptions;
  #revision = -1;
  /** By the name of the resource and the text. */
  #found: ReadonlyMap<string, ReadonlyMap<string, FoundRecords>> = new Map();

  private constructor({ siteId, epoch }: SiteView, options: SnapshotFinderOptions) {
    this.#site = siteId;
    this.#epoch = epoch;
    this.#options = options;
  }

  /**
   * Searches for the texts in the records of `view`. If the site is not in memory, loads it.
   * @throws OutdatedError if the site has another epoch than `view`; AbandonedWorkError if the client does not wait any more
   */
  static async open(view: SiteView, options: SnapshotFinderOptions): Promise<SnapshotFinder> {
    const finder = new SnapshotFinder(view, options);
    await finder.#search(view);
    return finder;
  }

  get revision(): number {
    return this.#revision;
  }

  find(resource: string, text: string): FoundRecords {
    return this.#found.get(resource)?.get(text) ?? none;
  }

  /** Searches again, if the site has changed. @throws ProblemError `unavailable`, and as `open` does */
  async catchUp(): Promise<void> {
    await this.#search(await this.#options.siteViews.getUpToDate(this.#site));
  }

  async #search(view: SiteView): Promise<void> {
    const snapshot = view instanceof Snapshot ? view : await view.loadSnapshot();
    if (this.#epoch === "") this.#epoch = snapshot.epoch;
    if (snapshot.epoch !== this.#epoch) throw new OutdatedError("epoch");
    // The versions may have later changes than this revision. The transaction looks at these changes again, which does no harm.
    const { revision } = snapshot;
    if (revision === this.#revision) return;
    const found = new Map<string, ReadonlyMap<string, FoundRecords>>();
    for (const texts of this.#options.wanted) found.set(texts.resource.name, await this.#searchIn(snapshot, texts));
    this.#found = found;
    this.#revision = revision;
  }

  async #searchIn(snapshot: Snapshot, { resource, textField, texts }: WantedTexts) {
    const collection = snapshot.collection(resource);
    const { blocks } = await collection.version();
    const name = `search by texts ${++searches}`;
    return collection.limiter.run(name, () => findIdsByTexts(blocks, textField, texts), this.#options.isWanted);
  }
}
