// Follows the changes of a website: one request after another, each of which may wait on the server for the next change.

import { checkedMembers } from "./list-query.ts";
import { checkedInteger, shown } from "./options.ts";
import type { FeedRecords } from "./record-types.ts";
import type { CallOptions, Send } from "./send.ts";
import { StorefrontFailure } from "./storefront-errors.ts";
import { pause } from "./wait.ts";

/** The name of a resource in the feed: the last segment of its path, such as `orderstatuses`. */
export type FeedResource = keyof FeedRecords;

interface AnyChange<Name extends FeedResource> {
  /** The cursor after this change. Store it once you have processed the change. */
  readonly Cursor: string;
  /** When the change was made, such as `2026-11-21T20:15:00.123Z`. */
  readonly Time: string;
  readonly Resource: Name;
  /** The ID of the record. */
  readonly ID: number;
}

interface StoredChange<Name extends FeedResource> extends AnyChange<Name> {
  readonly Operation: "create" | "update";
  /** The record after the change. */
  readonly Record: FeedRecords[Name];
}

interface DeletedChange<Name extends FeedResource> extends AnyChange<Name> {
  readonly Operation: "delete";
  readonly Record: null;
}

/** A change. `Operation` and `Resource` tell the type of its `Record`. */
export type StorefrontChange<Name extends FeedResource = FeedResource> = {
  [N in Name]: StoredChange<N> | DeletedChange<N>;
}[Name];

export interface FollowOptions extends CallOptions {
  /** The most changes of one request, 1 to 1000. */
  readonly limit?: number;
  /**
   * How long the server may hold a request until there is a change, 0 to 55 seconds. Default: 25. With 0, following ends once it has
   * caught up.
   */
  readonly wait?: number;
  /**
   * Called with the cursor to store, once everything before it has been processed: after the last change of each response, and when
   * only changes of other resources were made. It may be asynchronous.
   */
  readonly onCursor?: ((cursor: string) => unknown) | undefined;
}

export interface ChangesOptions<Name extends FeedResource = FeedResource> extends FollowOptions {
  /** A stored cursor; `now`: from the next change; null or undefined: from the first change. */
  readonly since?: string | null | undefined;
  /** The resources to follow. Default: all. */
  readonly resources?: readonly Name[];
  /** Of several changes to one record in a response, returns only the last. */
  readonly collapse?: boolean;
}

interface ChangesPage<Name extends FeedResource> {
  readonly Changes: readonly StorefrontChange<Name>[];
  readonly Next: string;
  readonly More: boolean;
}

/** Milliseconds between two requests if the server does not wait, such as one that is being stopped. */
const idlePause = 1000;

const members = ["since", "resources", "collapse", "limit", "wait", "signal", "timeout", "onCursor"];

/** See `StorefrontClient`. @param send must retry without end */
export function followChanges<Name extends FeedResource>(
  send: Send,
  options: ChangesOptions<Name> = {},
): AsyncGenerator<StorefrontChange<Name>, void, undefined> {
  checkedMembers(options, members);
  const { wait = 25, since } = options;
  checkedInteger("wait", wait, 0, 55);
  return follow(createReader(send, options, wait), since ?? undefined, wait, options);
}

/** Requests the changes after a cursor, or after the beginning. */
type PageReader<Name extends FeedResource> = (since: string | undefined) => Promise<ChangesPage<Name>>;

async function* follow<Name extends FeedResource>(
  read: PageReader<Name>,
  start: string | undefined,
  wait: number,
  { signal, onCursor }: FollowOptions,
): AsyncGenerator<StorefrontChange<Name>, void, undefined> {
  for (let since = start; ; ) {
    const started = performance.now();
    const { Changes: changes, Next: next, More: isMore } = await read(since);
    const isIdle = changes.length === 0 && since !== "now" && (!isMore || next === since);
    for (const change of changes) {
      signal?.throwIfAborted();
      yield change;
    }
    if (next !== since) await onCursor?.(next);
    if (wait === 0 && !isMore) return;
    // Half of the pause is chance, so that the clients of a server that starts again do not all return at the same moment.
    const rest = idlePause * (0.5 + Math.random()) - (performance.now() - started);
    if (isIdle && rest > 0) await pause(rest, signal);
    since = next;
  }
}

/** @throws TypeError for an invalid option, before the first request */
function createReader<Name extends FeedResource>(
  send: Send,
  options: ChangesOptions<Name>,
  wait: number,
): PageReader<Name> {
  const fixed = toParameters(options, wait);
  checkedSince(options.since);
  return (since) => {
    const search = new URLSearchParams(since === undefined ? fixed : { since, ...fixed });
    return readPage(send, `changes.json?${search}`, wait * 1000, options);
  };
}

function toParameters({ resources, collapse, limit }: ChangesOptions, wait: number): Record<string, string> {
  if (resources !== undefined && !(Array.isArray(resources) && resources.length > 0)) {
    throw new TypeError(`\`resources\` must be a list of names such as \`brands\`, not ${shown(resources)}`);
  }
  return {
    ...(resources && { resource: resources.join() }),
    ...(collapse && { collapse: "1" }),
    ...(limit !== undefined && { limit: String(checkedInteger("limit", limit, 1, 1000)) }),
    ...(wait > 0 && { wait: String(wait) }),
  };
}

/** @throws TypeError for an empty cursor, because it could mean the beginning or the end */
function checkedSince(since: unknown): void {
  if (since === undefined || since === null || (typeof since === "string" && since !== "")) return;
  throw new TypeError(`\`since\` must be a cursor, \`now\`, null or undefined, not ${shown(since)}`);
}

async function readPage<Name extends FeedResource>(
  send: Send,
  path: string,
  held: number,
  { signal, timeout }: CallOptions,
): Promise<ChangesPage<Name>> {
  const response = await send({ method: "GET", path, held, signal, ...(timeout === undefined ? {} : { timeout }) });
  const page = response?.body as ChangesPage<Name> | undefined;
  if (Array.isArray(page?.Changes) && typeof page.Next === "string" && page.Next !== "") return page;
  throw new StorefrontFailure("unreadable", "the response is not a page of changes");
}

/** The cursor of this moment. */
export async function readCursor(send: Send, options: CallOptions): Promise<string> {
  return (await readPage(send, "changes.json?since=now", 0, options)).Next;
}
