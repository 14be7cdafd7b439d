import type { BatchOperation, BatchOptions, BatchOutcome, BatchRejection, ResultsOf, UndoOutcome } from "./batch.ts";
import type { ChangesOptions, FeedResource, StorefrontChange } from "./changes.ts";
import type { MirrorOptions } from "./mirror.ts";
import type { WriteOptions } from "./record-collection.ts";
import type { Collections, FeedRecords } from "./record-types.ts";
import type { CallOptions } from "./send.ts";
import type { WebhookCollection } from "./webhook-collection.ts";

/** What an API key is for, and what it may do. */
export interface StorefrontKey {
  /** The start of the key, which is safe to show. */
  readonly Prefix: string;
  /** What the operator calls the key. May be empty. */
  readonly Label: string;
  /** The name of the site, or of the sandbox. */
  readonly Site: string;
  readonly SiteID: number;
  readonly Sandbox: boolean;
  /** Everything the key may do, such as `brands:write`. A newer server may have more rights. */
  readonly Rights: readonly string[];
  /** The networks from which the key can be used. If there are none, it can be used from anywhere. */
  readonly Networks: readonly string[];
  /** Null if it doesn't expire. */
  readonly Expires: string | null;
  /** Requests per second. Null, like the next two, if there's no limit. */
  readonly Rate: number | null;
  /** How many requests you can send at once, after a pause. */
  readonly Burst: number | null;
  /** How many requests are left right now. */
  readonly Remaining: number | null;
}

/** A client of one site, with a collection per resource, batch requests, and two ways to follow changes. */
export interface StorefrontClient extends Collections {
  /**
   * Returns what the client's API key is for: its site, whether that's a sandbox, what the key may do, when it expires, and how many requests are left.
   * @example if ((await client.key()).Sandbox) console.log("this is only a test");
   */
  key(options?: CallOptions): Promise<StorefrontKey>;

  /** The site's webhooks, if the key has the right `webhooks:write`. */
  readonly webhooks: WebhookCollection;

  /**
   * Sends up to 10,000 writes in one request. By default it's all or nothing: if any operation is rejected, throws a StorefrontProblem whose `errors`
   * give each one's number. With `atomic: false`, operations succeed or fail independently, and a rejected one has a `Problem` as its result.
   * @example
   * const { results, run } = await client.batch([
   *   { Method: "POST", Resource: "brands", Record: { Name: "Acme" } },
   *   { Method: "DELETE", Resource: "orderstatuses", ID: 4 },
   * ]);
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
   * Undoes a run of this key: the `run` that `batch` or an earlier undo returned, or one of `upsert`'s `runs`. Records that someone changed after the
   * run are skipped. With `dryRun`, returns what it would do.
   */
  undo(run: string, options?: WriteOptions): Promise<UndoOutcome>;

  /**
   * Yields each of the site's changes once, in order, as they happen. It retries temporary failures indefinitely (the client's `onRetry` hears of
   * each), and ends only when you leave the loop or abort `signal`, or, with `wait: 0`, after the last change. Throws StorefrontGone if the cursor no
   * longer works, and a TypeError for invalid options.
   * @example for await (const change of client.changes({ since: cursor })) await process(change);
   */
  changes<Name extends FeedResource = FeedResource>(
    options?: ChangesOptions<Name>,
  ): AsyncGenerator<StorefrontChange<Name>, void, undefined>;

  /**
   * Keeps your copy of a resource in sync. It reads the whole list, unless you pass a stored cursor, and then follows the changes. Each record is
   * stored at least once. If the cursor no longer works, it reads the list again, and removes records from your copy that have been deleted. It ends
   * like `changes`, or when one of your functions throws.
   * @param resource the last segment of the resource's path, such as `brands`
   */
  mirror<Name extends FeedResource>(resource: Name, options: MirrorOptions<FeedRecords[Name]>): Promise<void>;
}
