import type { ChangesOptions, FeedResource, StorefrontChange } from "./changes.ts";
import type { MirrorOptions } from "./mirror.ts";
import type { Collections, FeedRecords } from "./record-types.ts";

/** A client of one site: a collection for each resource, and two ways to follow changes. */
export interface StorefrontClient extends Collections {
  /**
   * Yields the changes of the site as they are made, in order, each once. It ends only if you leave the loop or abort `signal`, or with
   * `wait: 0` after the last change. It retries after each temporary failure without end; `onRetry` of the client reports each retry.
   * Throws StorefrontGone if the cursor can no longer be used, and a TypeError for invalid options.
   */
  changes<Name extends FeedResource = FeedResource>(
    options?: ChangesOptions<Name>,
  ): AsyncGenerator<StorefrontChange<Name>, void, undefined>;

  /**
   * Keeps your copy of a resource equal to the list. It reads the list, unless you pass a stored cursor, and then follows the changes. Each
   * record is stored at least once. If the cursor can no longer be used, it reads the list again and removes deleted records from your copy.
   * It ends like `changes`, and also if one of your functions throws an exception.
   * @param resource the last segment of its path, such as `brands`
   */
  mirror<Name extends FeedResource>(resource: Name, options: MirrorOptions<FeedRecords[Name]>): Promise<void>;
}
