// The typed client of the storefront interface, for browsers, Node, Bun and Deno, without dependencies. `createClient` checks the options
// and returns an object with a collection per resource (record-collection.ts; the types of the records are generated, record-types.ts). Each
// method makes a `ClientRequest`, and `createSend` (send.ts) turns it into HTTP: header fields, time limit, retries (wait.ts), errors.

import { type ClientOptions, toSettings } from "./options.ts";
import { WriteCollection } from "./record-collection.ts";
import { paths, type StorefrontClient } from "./record-types.ts";
import { createSend } from "./send.ts";

export { etagOf } from "./etag.ts";
export type { Filter, FilterValue, Query } from "./list-query.ts";
export type { ClientOptions, RateLimit, ResponseInfo, RetryInfo } from "./options.ts";
export type {
  AllOptions,
  IfNoneMatch,
  PartialRecord,
  ReadCollection,
  RecordList,
  RecordOrId,
  UpdateOptions,
  WriteCollection,
  WriteOptions,
} from "./record-collection.ts";
export type * from "./record-types.ts";
export type { CallOptions } from "./send.ts";
export { type FailureReason, type ProblemFault, StorefrontFailure, StorefrontProblem } from "./storefront-errors.ts";

/** A client of one website. Throws a TypeError for invalid options, such as a `url` that is not a URL. */
export function createClient(options: ClientOptions): StorefrontClient {
  const send = createSend(toSettings(options));
  const collections = Object.entries(paths).map(([name, path]) => [name, new WriteCollection(send, path)]);
  return Object.fromEntries(collections);
}
