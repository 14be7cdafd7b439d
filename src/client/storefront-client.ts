import type { BatchOperation, BatchOptions, BatchOutcome, BatchRejection, ResultsOf, UndoOutcome } from "./batch.ts";
import type { ChangesOptions, FeedResource, StorefrontChange } from "./changes.ts";
import type { MirrorOptions } from "./mirror.ts";
import type { WriteOptions } from "./record-collection.ts";
import type { Collections, FeedRecords } from "./record-types.ts";

/** A client of one site: a collection for each resource, batch requests, and two ways to follow changes. */
export interface StorefrontClient extends Collections {
  /**
   * Sends at most 10,000 writes in one request: all are done, or none. With `atomic: false`, each is for itself, and a result can have a `Problem`.
   * Throws a StorefrontProblem if an operation is rejected; its `errors` have the numbers of all rejected operations.
   */
  batch<const Operations extends readonly BatchOperation[]>(
    operations: Operations,
    options: BatchOptions & { readonly atomic: false },
  ): Promise<BatchOutcome<{ readonly [I in keyof Operations]: ResultsOf<Operations>[I] | BatchRejection }>>;
  batch<const Operations extends readonly BatchOperation[]>(
    operations: Operations,
    options?: BatchOptions,
  ): Promise<BatchOutcome<ResultsOf<Operations>>>;

  /**
   * Undoes a run of this key: the `run` of `batch` or of another undo, or one of the `runs` of `upsert`. Records that somebody changed after the run stay as
   * they are. With `dryRun`, returns what it would do.
   */
  undo(run: string, options?: WriteOptions): Promise<UndoOutcome>;

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
