import type { ChangesOptions, FeedResource, StorefrontChange } from "./changes.ts";
import type { MirrorOptions } from "./mirror.ts";
import type { Collections, FeedRecords } from "./record-types.ts";

/** A client of one website: a collection per resource, and two ways to follow changes. */
export interface StorefrontClient extends Collections {
  /**
   * The changes of the website in order, each once, as they are made. It ends only if you leave the loop or abort `signal`, or with
   * `wait: 0` once there are no more. After a temporary failure it retries without end; `onRetry` of the client reports each.
   * Throws StorefrontGone if the cursor can no longer be used, and a TypeError for invalid options.
   */
  changes<Name extends FeedResource = FeedResource>(
    options?: ChangesOptions<Name>,
  ): AsyncGenerator<StorefrontChange<Name>, void, undefined>;

  /**
   * Keeps your copy of a resource equal to the list: reads the list, unless you pass a stored cursor, then follows the changes. Each
   * record is stored at least once. If the cursor can no longer be used, it reads the list again and removes the records that are gone.
   * It ends as `changes` does. An exception in one of your functions ends it.
   * @param resource the last segment of its path, such as `brands`
   */
  mirror<Name extends FeedResource>(resource: Name, options: MirrorOptions<FeedRecords[Name]>): Promise<void>;
}
