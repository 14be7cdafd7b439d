// Keeps a copy of a resource: reads its list, then follows its changes. It reads the cursor before the list, so that it misses no change in
// between.

import { type FeedResource, type FollowOptions, followChanges, readCursor, type StoredChange } from "./changes.ts";
import { checkedId, checkedMembers } from "./list-query.ts";
import { shown } from "./options.ts";
import { ReadCollection } from "./record-collection.ts";
import { type FeedRecords, paths } from "./record-types.ts";
import type { Send } from "./send.ts";
import { StorefrontGone } from "./storefront-errors.ts";
import { backOff, pause } from "./wait.ts";

/** The members of a change that say which version of the record it has. */
export type RecordVersion = Pick<StoredChange<FeedResource>, "Revision" | "ETag">;

/** Your functions that read and change your copy. `mirror` calls one function at a time, and waits for its promise. */
export interface MirrorOptions<Item> extends FollowOptions {
  /** The cursor that you stored last. Null or undefined: reads the list first. */
  readonly since?: string | null | undefined;
  /** Returns the IDs of the records in your copy. Called after the list was read, to find the records that were deleted on the server. */
  readonly ids: () => Iterable<number> | AsyncIterable<number> | Promise<Iterable<number>>;
  /** Stores a record, whether or not the copy has one with its ID. `cursor` and `version` are undefined while the list is read. */
  readonly store: (record: Item, cursor: string | undefined, version?: RecordVersion) => unknown;
  /** Removes a record, which the copy may not have. `cursor` is as for `store`. */
  readonly remove: (id: number, cursor: string | undefined) => unknown;
}

interface Mirror {
  readonly send: Send;
  readonly resource: FeedResource;
  readonly options: MirrorOptions<FeedRecords[FeedResource]>;
}

/**
 * The cursor of a site that never had a change. It stays valid if the site is restored or imported: following it then returns all changes from
 * the beginning.
 */
const firstCursor = "0.0";

const members = ["since", "ids", "store", "remove", "limit", "wait", "signal", "timeout", "onCursor"];

/** Implements `mirror` of `StorefrontClient`. @param send must retry without end */
export async function mirrorResource(
  send: Send,
  resource: FeedResource,
  options: MirrorOptions<FeedRecords[FeedResource]>,
): Promise<void> {
  const mirror = { send, resource, options };
  check(mirror);
  let since = options.since ?? undefined;
  // Consecutive restarts without progress. From the second on, pause before each, because each restart reads the whole list.
  for (let restarts = 0; ; restarts++) {
    if (restarts > 1) await pause(backOff(restarts), options.signal);
    since ??= await copyList(mirror);
    const end = await follow(mirror, since);
    if (end === "caught up") return;
    if (end === "gone after progress") restarts = 0;
    since = undefined;
  }
}

/** Checks the options. @throws TypeError for a mistake, before the first request */
function check(mirror: Mirror): void {
  const { resource, options } = mirror;
  checkedMembers(options, members);
  if (!Object.values(paths).includes(resource)) {
    throw new TypeError(`the resource must be one of ${Object.values(paths).join(", ")}, not ${shown(resource)}`);
  }
  const missing = (["ids", "store", "remove"] as const).find((name) => typeof options[name] !== "function");
  if (missing) throw new TypeError(`\`${missing}\` must be a function`);
  if (options.since === "now") throw new TypeError("`since` must be a stored cursor; without one, the list is read");
  changesAfter(mirror, options.since, undefined);
}

/** Reads the list, and makes the copy equal to it. Returns the cursor after which to follow changes. */
async function copyList({ send, resource, options }: Mirror): Promise<string> {
  const { ids, store, remove, signal, timeout, onCursor } = options;
  const call = timeout === undefined ? { signal } : { signal, timeout };
  const cursor = await readCursor(send, call);
  const listed = new Set<number>();
  // After the first cursor, the feed returns all records. So do not read the list: it could have records that a restore removes before the feed is
  // read, and with this cursor the client would not notice the restore.
  const list =
    cursor === firstCursor ? [] : new ReadCollection<FeedRecords[FeedResource], string>(send, resource).all({}, call);
  for await (const record of list) {
    signal?.throwIfAborted();
    listed.add(record.ID);
    await store(record, undefined);
  }
  const gone: number[] = [];
  // Check each ID, because many databases return IDs as texts. Otherwise every record would seem to be deleted.
  for await (const id of await ids()) if (!listed.has(checkedId(id))) gone.push(id);
  for (const id of gone) {
    signal?.throwIfAborted();
    await remove(id, undefined);
  }
  await onCursor?.(cursor);
  return cursor;
}

type End = "caught up" | "gone" | "gone after progress";

/** Follows the changes after `since`. Returns after the last change (with `wait: 0`), or when the cursor can no longer be used. */
async function follow(mirror: Mirror, since: string): Promise<End> {
  const { store, remove, onCursor } = mirror.options;
  let hasProgress = false;
  const saved = (cursor: string) => {
    hasProgress = true;
    return onCursor?.(cursor);
  };
  try {
    for await (const change of changesAfter(mirror, since, saved)) {
      if (change.Operation === "delete") await remove(change.ID, change.Cursor);
      else await store(change.Record, change.Cursor, change);
    }
    return "caught up";
  } catch (error) {
    if (!(error instanceof StorefrontGone)) throw error;
    return hasProgress ? "gone after progress" : "gone";
  }
}

function changesAfter(
  { send, resource, options }: Mirror,
  since: MirrorOptions<never>["since"],
  onCursor: FollowOptions["onCursor"],
) {
  const { ids: _, store: __, remove: ___, limit = 1000, ...rest } = options;
  return followChanges(send, { ...rest, since, limit, resources: [resource], collapse: true, onCursor });
}
