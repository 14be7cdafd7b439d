// Keeps a copy of a resource in sync: reads the list, then follows its changes. It gets the cursor before it reads the list, so that no change in
// between is missed.

import { type FeedResource, type FollowOptions, followChanges, readCursor, type StoredChange } from "./changes.ts";
import { checkId, checkMembers } from "./list-query.ts";
import { formatValue } from "./options.ts";
import { ReadCollection } from "./record-collection.ts";
import { type FeedRecords, paths } from "./record-types.ts";
import type { Send } from "./send.ts";
import { StorefrontGone } from "./storefront-errors.ts";
import { backOff, pause, throwIfAborted } from "./wait.ts";

/** Which version of the record a change contains. */
export type RecordVersion = Pick<StoredChange<FeedResource>, "Revision" | "ETag">;

/** Your functions to read and update your copy. `mirror` calls one at a time, and awaits it. */
export interface MirrorOptions<Item> extends FollowOptions {
  /** The last cursor you stored. If it's null or undefined, the list is read first. */
  readonly since?: string | null | undefined;
  /** Returns the IDs of all records in your copy. Called once the list has been read, to find records that have been deleted on the server. */
  readonly ids: () => Iterable<number> | AsyncIterable<number> | Promise<Iterable<number>>;
  /** Inserts or replaces a record. `cursor` and `version` are undefined while the list is being read. */
  readonly store: (record: Item, cursor: string | undefined, version?: RecordVersion) => unknown;
  /** Removes a record, which your copy might not have. `cursor` is undefined while the list is being read. */
  readonly remove: (id: number, cursor: string | undefined) => unknown;
}

interface Mirror {
  readonly send: Send;
  readonly resource: FeedResource;
  readonly options: MirrorOptions<FeedRecords[FeedResource]>;
}

/**
 * The cursor of a site that has never changed. It stays valid when the site is restored or imported: following it returns all changes from the start.
 */
const firstCursor = "0.0";

const members = ["since", "ids", "store", "remove", "limit", "wait", "signal", "timeout", "onCursor"];

/** Implements `mirror` of `StorefrontClient`. @param send must retry indefinitely */
export async function mirrorResource(
  send: Send,
  resource: FeedResource,
  options: MirrorOptions<FeedRecords[FeedResource]>,
): Promise<void> {
  const mirror = { send, resource, options };
  check(mirror);
  let since = options.since ?? undefined;
  // Restarts in a row without progress. From the second on, we pause first, because each one reads the whole list.
  for (let restarts = 0; ; restarts++) {
    if (restarts > 1) await pause(backOff(restarts), options.signal);
    since ??= await copyList(mirror);
    const end = await follow(mirror, since);
    if (end === "caught up") return;
    if (end === "gone after progress") restarts = 0;
    since = undefined;
  }
}

/** @throws TypeError for invalid options, before the first request */
function check(mirror: Mirror): void {
  const { resource, options } = mirror;
  checkMembers(options, members);
  if (!Object.values(paths).includes(resource)) {
    throw new TypeError(`the resource must be one of ${Object.values(paths).join(", ")}, not ${formatValue(resource)}`);
  }
  const missing = (["ids", "store", "remove"] as const).find((name) => typeof options[name] !== "function");
  if (missing) throw new TypeError(`\`${missing}\` must be a function`);
  if (options.since === "now")
    throw new TypeError("`since` must be a stored cursor; leave it out to read the list first");
  changesAfter(mirror, options.since, undefined);
}

/** Reads the list, and makes the copy match it. Returns the cursor from which to follow changes. */
async function copyList({ send, resource, options }: Mirror): Promise<string> {
  const { ids, store, remove, signal, timeout, onCursor } = options;
  const call = timeout === undefined ? { signal } : { signal, timeout };
  const cursor = await readCursor(send, call);
  const listed = new Set<number>();
  // At the first cursor, skip the list, because the feed returns every record anyway. The list might also contain records that a restore removes
  // before we read the feed, and with this cursor we'd never notice the restore.
  const list =
    cursor === firstCursor ? [] : new ReadCollection<FeedRecords[FeedResource], string>(send, resource).all({}, call);
  for await (const record of list) {
    throwIfAborted(signal);
    listed.add(record.ID);
    await store(record, undefined);
  }
  const gone: number[] = [];
  // Many databases return IDs as strings. Without this check, every record would look deleted.
  for await (const id of await ids()) if (!listed.has(checkId(id))) gone.push(id);
  for (const id of gone) {
    throwIfAborted(signal);
    await remove(id, undefined);
  }
  await onCursor?.(cursor);
  return cursor;
}

type End = "caught up" | "gone" | "gone after progress";

/** Follows the changes after `since`. Returns after the last change (with `wait: 0`), or when the cursor no longer works. */
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
