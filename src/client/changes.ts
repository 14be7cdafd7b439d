// Follows the changes of a site. Sends one request after the other; the server may hold each request until the next change (long poll).

import { checkedMembers } from "./list-query.ts";
import { checkedInteger, shown } from "./options.ts";
import type { FeedRecords } from "./record-types.ts";
import type { CallOptions, Send } from "./send.ts";
import { StorefrontFailure } from "./storefront-errors.ts";
import { pause } from "./wait.ts";

/** The name of a resource in the feed: the last segment of its path, such as `orderstatuses`. */
export type FeedResource = keyof FeedRecords;

/** The members that all changes have. */
interface AnyChange<Name extends FeedResource> {
  /** The cursor after this change. Store it once you have processed the change. */
  readonly Cursor: string;
  /** The number of the change. A later change of the site has a higher one. After a `StorefrontGone`, forget the numbers that you have stored. */
  readonly Revision: number;
  /** When the change was made, such as `2026-11-21T20:15:00.123Z`. */
  readonly Time: string;
  readonly Resource: Name;
  /** The ID of the record. */
  readonly ID: number;
  /** The run of the batch request or undo that made the change. All its changes were stored together. Undefined for another change. */
  readonly Run?: string;
}

/** A change after which the record exists. */
export interface StoredChange<Name extends FeedResource> extends AnyChange<Name> {
  readonly Operation: "create" | "update";
  /** The `ETag` of the record after the change, for `ifMatch`. */
  readonly ETag: string;
  /** The record after the change. */
  readonly Record: FeedRecords[Name];
}

interface DeletedChange<Name extends FeedResource> extends AnyChange<Name> {
  readonly Operation: "delete";
  readonly ETag: null;
  readonly Record: null;
}

/** A change. `Operation` and `Resource` tell the type of its `Record`. */
export type StorefrontChange<Name extends FeedResource = FeedResource> = {
  [N in Name]: StoredChange<N> | DeletedChange<N>;
}[Name];

/** Options for following changes, by `changes` or `mirror`. */
export interface FollowOptions extends CallOptions {
  /** Maximum number of changes in one response, 1 to 1000. */
  readonly limit?: number;
  /**
   * Maximum time that the server holds a request until there is a change, 0 to 55 seconds. Default: 25. With 0, following ends after the last
   * change.
   */
  readonly wait?: number;
  /**
   * Called with the cursor to store when all changes before it were processed: after the last change of each response, and when
   * only changes of other resources were made. May be asynchronous.
   */
  readonly onCursor?: ((cursor: string) => unknown) | undefined;
}

/** Options of `changes`. */
export interface ChangesOptions<Name extends FeedResource = FeedResource> extends FollowOptions {
  /** Where to begin: after a stored cursor; `now`: with the next change; null or undefined: with the first change. */
  readonly since?: string | null | undefined;
  /** The resources to follow. Default: all. */
  readonly resources?: readonly Name[];
  /** If true, a response with several changes to one record contains only the last of them. */
  readonly collapse?: boolean;
}

interface ChangesPage<Name extends FeedResource> {
  readonly Changes: readonly StorefrontChange<Name>[];
  readonly Next: string;
  readonly More: boolean;
}

/** Mean milliseconds between two requests if the server responds without waiting, for example because it is being stopped. */
const idlePauseMs = 1000;

const members = ["since", "resources", "collapse", "limit", "wait", "signal", "timeout", "onCursor"];

/** Implements `changes` of `StorefrontClient`. @param send must retry without end */
export function followChanges<Name extends FeedResource>(
  send: Send,
  options: ChangesOptions<Name> = {},
): AsyncGenerator<StorefrontChange<Name>, void, undefined> {
  checkedMembers(options, members);
  const { wait = 25, since } = options;
  checkedInteger("wait", wait, 0, 55);
  return follow(createReader(send, options, wait), since ?? undefined, wait, options);
}

/** Requests a page of the changes after a cursor, or from the first change on if `since` is undefined. */
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
    // The pause is random (0.5 to 1.5 seconds), so that not all clients of a restarted server return at the same moment.
    const rest = idlePauseMs * (0.5 + Math.random()) - (performance.now() - started);
    if (isIdle && rest > 0) await pause(rest, signal);
    since = next;
  }
}

/** Checks the options, and creates the function that requests pages. @throws TypeError for an invalid option, before the first request */
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

/** Checks `since`. @throws TypeError for another type, or for an empty text, which could mean the beginning or the end */
function checkedSince(since: unknown): void {
  if (since === undefined || since === null || (typeof since === "string" && since !== "")) return;
  throw new TypeError(`\`since\` must be a cursor, \`now\`, null or undefined, not ${shown(since)}`);
}

async function readPage<Name extends FeedResource>(
  send: Send,
  path: string,
  serverWaitMs: number,
  { signal, timeout }: CallOptions,
): Promise<ChangesPage<Name>> {
  const response = await send({
    method: "GET",
    path,
    serverWaitMs,
    signal,
    ...(timeout === undefined ? {} : { timeout }),
  });
  const page = response?.body as ChangesPage<Name> | undefined;
  if (Array.isArray(page?.Changes) && typeof page.Next === "string" && page.Next !== "") return page;
  throw new StorefrontFailure("unreadable", "the response is not a page of changes");
}

/** Reads the cursor of the present moment: later changes come after it. */
export async function readCursor(send: Send, options: CallOptions): Promise<string> {
  return (await readPage(send, "changes.json?since=now", 0, options)).Next;
}
