// Keeps a copy of a resource: reads its list, then follows its changes. The cursor is taken before the list is read, so that no change in
// between is missed.

import { type FeedResource, type FollowOptions, followChanges, readCursor } from "./changes.ts";
import { checkedId, checkedMembers } from "./list-query.ts";
import { shown } from "./options.ts";
import { ReadCollection } from "./record-collection.ts";
import { type FeedRecords, paths } from "./record-types.ts";
import type { Send } from "./send.ts";
import { StorefrontGone } from "./storefront-errors.ts";
import { backOff, pause } from "./wait.ts";

/** What `mirror` needs to know of your copy, and how it changes it. It calls one function at a time, and waits for its promise. */
export interface MirrorOptions<Item> extends FollowOptions {
  /** The cursor that was stored last. Null or undefined: reads the list first. */
  readonly since?: string | null | undefined;
  /** The IDs of the records in your copy. Called after the list was read, to find out which records are gone. */
  readonly ids: () => Iterable<number> | AsyncIterable<number> | Promise<Iterable<number>>;
  /** Stores a record, whether or not the copy has one with its ID. `cursor` is undefined while the list is read. */
  readonly store: (record: Item, cursor: string | undefined) => unknown;
  /** Removes a record, which the copy may not have. `cursor` is as for `store`. */
  readonly remove: (id: number, cursor: string | undefined) => unknown;
}

interface Mirror {
  readonly send: Send;
  readonly resource: FeedResource;
  readonly options: MirrorOptions<FeedRecords[FeedResource]>;
}

/** The cursor of a website that never had a change. It stays valid if the website gets another history, which then follows from the beginning. */
const firstCursor = "0.0";

const members = ["since", "ids", "store", "remove", "limit", "wait", "signal", "timeout", "onCursor"];

/** See `StorefrontClient`. @param send must retry without end */
export async function mirrorResource(
  send: Send,
  resource: FeedResource,
  options: MirrorOptions<FeedRecords[FeedResource]>,
): Promise<void> {
  const mirror = { send, resource, options };
  check(mirror);
  let since = options.since ?? undefined;
  // Restarts after which no change could be read. They pause, because each of them reads the whole list.
  for (let restarts = 0; ; restarts++) {
    if (restarts > 1) await pause(backOff(restarts), options.signal);
    since ??= await copyList(mirror);
    const end = await follow(mirror, since);
    if (end === "caught up") return;
    if (end === "gone after progress") restarts = 0;
    since = undefined;
  }
}

/** @throws TypeError for a mistake, before the first request */
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

/** Makes the copy equal to the list. Returns the cursor from which to follow. */
async function copyList({ send, resource, options }: Mirror): Promise<string> {
  const { ids, store, remove, signal, timeout, onCursor } = options;
  const call = timeout === undefined ? { signal } : { signal, timeout };
  const cursor = await readCursor(send, call);
  const listed = new Set<number>();
  // A list that was read after the first cursor could be of a history that is replaced before the changes are read.
  const list =
    cursor === firstCursor ? [] : new ReadCollection<FeedRecords[FeedResource], string>(send, resource).all({}, call);
  for await (const record of list) {
    signal?.throwIfAborted();
    listed.add(record.ID);
    await store(record, undefined);
  }
  const gone: number[] = [];
  // Many databases return IDs as texts. Unchecked, every record would seem to be gone.
  for await (const id of await ids()) if (!listed.has(checkedId(id))) gone.push(id);
  for (const id of gone) {
    signal?.throwIfAborted();
    await remove(id, undefined);
  }
  await onCursor?.(cursor);
  return cursor;
}

type End = "caught up" | "gone" | "gone after progress";

async function follow(mirror: Mirror, since: string): Promise<End> {
  const { store, remove, onCursor } = mirror.options;
  let hasProgress = false;
  const saved = (cursor: string) => {
    hasProgress = true;
    return onCursor?.(cursor);
  };
  try {
    for await (const change of changesAfter(mirror, since, saved)) {
      await (change.Operation === "delete" ? remove(change.ID, change.Cursor) : store(change.Record, change.Cursor));
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
