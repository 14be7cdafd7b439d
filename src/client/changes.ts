// Follows a site's changes, one request at a time. The server may hold each request until the next change (long poll).

import { checkMembers } from "./list-query.ts";
import { checkInteger, formatValue } from "./options.ts";
import type { FeedRecords } from "./record-types.ts";
import type { CallOptions, Send } from "./send.ts";
import { StorefrontFailure } from "./storefront-errors.ts";
import { pause, throwIfAborted } from "./wait.ts";

/** A resource in the feed, named by the last segment of its path, such as `orderstatuses`. */
export type FeedResource = keyof FeedRecords;

interface AnyChange<Name extends FeedResource> {
  /** The cursor after this change. Store it once you've processed the change. */
  readonly Cursor: string;
  /** Increases with every change to the site. After a `StorefrontGone`, discard any revisions you've stored. */
  readonly Revision: number;
  /** When the change was made, such as `2026-11-21T20:15:00.123Z`. */
  readonly Time: string;
  readonly Resource: Name;
  readonly ID: number;
  /** The run of the batch request or undo that made this change, and stored all its changes together. Undefined for other changes. */
  readonly Run?: string;
}

/** A change that created or updated a record. */
export interface StoredChange<Name extends FeedResource> extends AnyChange<Name> {
  readonly Operation: "create" | "update";
  /** The record's `ETag` after the change, for `ifMatch`. */
  readonly ETag: string;
  /** The record after the change. */
  readonly Record: FeedRecords[Name];
}

interface DeletedChange<Name extends FeedResource> extends AnyChange<Name> {
  readonly Operation: "delete";
  readonly ETag: null;
  readonly Record: null;
}

/** A change. Check `Operation` and `Resource` to narrow the type of `Record`. */
export type StorefrontChange<Name extends FeedResource = FeedResource> = {
  [N in Name]: StoredChange<N> | DeletedChange<N>;
}[Name];

/** Options that `changes` and `mirror` share. */
export interface FollowOptions extends CallOptions {
  /** Maximum number of changes per response, 1 to 1000. */
  readonly limit?: number;
  /**
   * How long the server may hold a request while there are no changes, 0 to 55 seconds. Default: 25. With 0, following ends after the last change.
   */
  readonly wait?: number;
  /**
   * Called, and awaited, with a cursor to store once you've processed every change before it: after the last change of each response, and also when
   * only other resources have changed.
   */
  readonly onCursor?: ((cursor: string) => unknown) | undefined;
}

/** Options of `changes`. */
export interface ChangesOptions<Name extends FeedResource = FeedResource> extends FollowOptions {
  /** Where to start: after the cursor you stored, at the next change (`now`), or at the first change (null or undefined). */
  readonly since?: string | null | undefined;
  /** The resources to follow. Default: all. */
  readonly resources?: readonly Name[];
  /** If true, several changes to one record in the same response are reduced to the last one. */
  readonly collapse?: boolean;
}

interface ChangesPage<Name extends FeedResource> {
  readonly Changes: readonly StorefrontChange<Name>[];
  readonly Next: string;
  readonly More: boolean;
}

/** Average milliseconds between requests when the server responds at once without changes, for example because it's shutting down. */
const idlePauseMs = 1000;

const members = ["since", "resources", "collapse", "limit", "wait", "signal", "timeout", "onCursor"];

/** Implements `changes` of `StorefrontClient`. @param send must retry indefinitely */
export function followChanges<Name extends FeedResource>(
  send: Send,
  options: ChangesOptions<Name> = {},
): AsyncGenerator<StorefrontChange<Name>, void, undefined> {
  checkMembers(options, members);
  const { wait = 25, since } = options;
  checkInteger("wait", wait, 0, 55);
  return follow(createReader(send, options, wait), since ?? undefined, wait, options);
}

/** Requests the page of changes after `since`, or the first page if it's undefined. */
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
      throwIfAborted(signal);
      yield change;
    }
    if (next !== since) await onCursor?.(next);
    if (wait === 0 && !isMore) return;
    // Randomized (0.5 to 1.5 seconds), so that clients of a restarted server don't all come back at the same moment.
    const rest = idlePauseMs * (0.5 + Math.random()) - (performance.now() - started);
    if (isIdle && rest > 0) await pause(rest, signal);
    since = next;
  }
}

/** Validates the options, and returns a function that requests pages. @throws TypeError for an invalid option */
function createReader<Name extends FeedResource>(
  send: Send,
  options: ChangesOptions<Name>,
  wait: number,
): PageReader<Name> {
  const fixed = toParameters(options, wait);
  checkSince(options.since);
  return (since) => {
    const search = new URLSearchParams(since === undefined ? fixed : { since, ...fixed });
    return readPage(send, `changes.json?${search}`, wait * 1000, options);
  };
}

function toParameters({ resources, collapse, limit }: ChangesOptions, wait: number): Record<string, string> {
  if (resources !== undefined && !(Array.isArray(resources) && resources.length > 0)) {
    throw new TypeError(`\`resources\` must be an array of names such as \`brands\`, not ${formatValue(resources)}`);
  }
  return {
    ...(resources && { resource: resources.join() }),
    ...(collapse && { collapse: "1" }),
    ...(limit !== undefined && { limit: String(checkInteger("limit", limit, 1, 1000)) }),
    ...(wait > 0 && { wait: String(wait) }),
  };
}

/** @throws TypeError for another type, or for an empty string, which could mean either end of the feed */
function checkSince(since: unknown): void {
  if (since === undefined || since === null || (typeof since === "string" && since !== "")) return;
  throw new TypeError(`\`since\` must be a cursor, \`now\`, null or undefined, not ${formatValue(since)}`);
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
  throw new StorefrontFailure("unreadable", "the response isn't a page of changes");
}

/** Returns the current cursor, which comes before any later change. */
export async function readCursor(send: Send, options: CallOptions): Promise<string> {
  return (await readPage(send, "changes.json?since=now", 0, options)).Next;
}
