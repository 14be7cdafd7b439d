// The client of the storefront interface, for browsers, Node, Bun and Deno. It depends on nothing.

import { WriteCollection } from "./collection.ts";
import { type ClientOptions, toSettings } from "./options.ts";
import { type Collections, paths } from "./records.ts";
import { createSend } from "./send.ts";

export type {
  AllOptions,
  IfNoneMatch,
  List,
  Part,
  ReadCollection,
  Target,
  UpdateOptions,
  WriteCollection,
  WriteOptions,
} from "./collection.ts";
export { type FailureReason, type Fault, StorefrontFailure, StorefrontProblem } from "./errors.ts";
export { etagOf } from "./etag.ts";
export type { ClientOptions, RateLimit, ResponseInfo, RetryInfo } from "./options.ts";
export type { Filter, FilterValue, Query } from "./query.ts";
export type * from "./records.ts";
export type { CallOptions } from "./send.ts";

/** A client of one website. Throws a TypeError for options that cannot work, such as a `url` that is no address. */
export function createClient(options: ClientOptions): Collections {
  const send = createSend(toSettings(options));
  const collections = Object.entries(paths).map(([name, path]) => [name, new WriteCollection(send, path)]);
  return Object.fromEntries(collections);
}
