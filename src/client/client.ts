// The client of the storefront interface, for browsers, Node, Bun and Deno. It depends on nothing.

import { WriteCollection } from "./collection.ts";
import { type Collections, paths } from "./records.ts";
import { type ClientOptions, createSend } from "./send.ts";

export type {
  AllOptions,
  List,
  Part,
  Query,
  ReadCollection,
  Target,
  UpdateOptions,
  WriteCollection,
} from "./collection.ts";
export { type Fault, StorefrontProblem } from "./problem.ts";
export type * from "./records.ts";
export type { CallOptions, ClientOptions } from "./send.ts";

/** A client of one website. Throws when `url` is no address. */
export function createClient(options: ClientOptions): Collections {
  const send = createSend(options);
  const collections = Object.entries(paths).map(([name, path]) => [name, new WriteCollection(send, path)]);
  return Object.fromEntries(collections);
}
