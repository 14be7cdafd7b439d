// A typed client without dependencies, for browsers, Node, Bun, Deno and React Native. `createClient` validates the options, and returns an object with a
// collection per resource (record-collection.ts; record-types.ts has the generated types of the records). Each method builds a `ClientRequest`, which
// `createSend` (send.ts) sends over HTTP, with headers, a time limit, retries (wait.ts) and errors. All of a client's requests share one queue, which
// keeps to the key's rate limit (request-queue.ts).
// batch.ts sends many writes in one request, and sync.ts makes the records equal to a list. changes.ts follows the feed, and mirror.ts uses it to keep a copy in sync.
// webhook-collection.ts manages the site's webhooks, and webhook.ts verifies what they deliver.

import { sendBatch, undoRun } from "./batch.ts";
import { followChanges } from "./changes.ts";
import { mirrorResource } from "./mirror.ts";
import { type ClientOptions, toSettings } from "./options.ts";
import { WriteCollection } from "./record-collection.ts";
import { type Collections, paths } from "./record-types.ts";
import { RequestQueue } from "./request-queue.ts";
import { createSend, type ParsedResponse } from "./send.ts";
import type { StorefrontClient, StorefrontKey } from "./storefront-client.ts";
import { WebhookCollection } from "./webhook-collection.ts";

export type {
  BatchOperation,
  BatchOptions,
  BatchOutcome,
  BatchRejection,
  BatchSuccess,
  UndoOutcome,
  UpsertOptions,
  UpsertOutcome,
  UpsertProgress,
  WrittenResource,
} from "./batch.ts";
export type { ChangesOptions, FeedResource, FollowOptions, StorefrontChange } from "./changes.ts";
export { etagOf } from "./etag.ts";
export type { Filter, FilterValue, Query } from "./list-query.ts";
export type { MirrorOptions, RecordVersion } from "./mirror.ts";
export type { ClientOptions, RateLimit, ResponseInfo, RetryInfo } from "./options.ts";
export type {
  AllOptions,
  FieldList,
  IfNoneMatch,
  PartialRecord,
  ReadCollection,
  RecordList,
  RecordOrId,
  SelectedRecord,
  UpdateOptions,
  WriteCollection,
  WriteOptions,
} from "./record-collection.ts";
export type * from "./record-types.ts";
export type { CallOptions } from "./send.ts";
export type { StorefrontClient, StorefrontKey } from "./storefront-client.ts";
export {
  type FailureReason,
  type FieldError,
  StorefrontError,
  StorefrontFailure,
  StorefrontGone,
  StorefrontProblem,
} from "./storefront-errors.ts";
export type { SyncOptions, SyncOutcome } from "./sync.ts";
export {
  StorefrontWebhookError,
  verifyWebhook,
  type WebhookChanges,
  type WebhookErrorReason,
  type WebhookEvent,
  type WebhookGone,
  type WebhookOptions,
  type WebhookRequest,
  type WebhookTest,
} from "./webhook.ts";
export type { WebhookCollection, WebhookWithSecret } from "./webhook-collection.ts";

/**
 * Creates a client for one site. Throws a TypeError for invalid options, such as a malformed `url`.
 * @example
 * const client = createClient({ url: "https://shop.example", key: process.env.STOREFRONT_KEY });
 * const brands = await client.brands.list({ sort: "Name", limit: 25 });
 */
export function createClient(options: ClientOptions): StorefrontClient {
  const settings = toSettings(options);
  const queue = new RequestQueue();
  const send = createSend(settings, queue);
  const maxRateLimitWait = settings.maxRateLimitWait && Number.POSITIVE_INFINITY;
  const follow = createSend({ ...settings, retries: Number.POSITIVE_INFINITY, maxRateLimitWait }, queue);
  const collections = Object.entries(paths).map(([name, path]) => [name, new WriteCollection(send, path)]);
  return {
    ...(Object.fromEntries(collections) as Collections),
    webhooks: new WebhookCollection(send, createSend({ ...settings, retries: 0 }, queue)),
    key: async (calling = {}) =>
      ((await send({ method: "GET", path: "key.json", ...calling })) as ParsedResponse).body as StorefrontKey,
    batch: (operations: readonly object[], options = {}) => sendBatch(send, operations, options) as Promise<never>,
    undo: (run, options = {}) => undoRun(send, run, options),
    changes: (following) => followChanges(follow, following),
    mirror: (resource, mirroring) =>
      mirrorResource(follow, resource, mirroring as Parameters<typeof mirrorResource>[2]),
  };
}
