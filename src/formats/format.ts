import type { Encoding } from "../model/encoding.ts";
import type { Fault } from "../model/errors.ts";
import type { StorefrontRecord } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { Problem } from "./problem.ts";

/** What a body said, in the shape of a record but not yet believed, and what is wrong with its form. */
export interface Decoded {
  readonly input: unknown;
  readonly faults: readonly Fault[];
}

/** A format of the wire: everything that JSON and XML do differently. Its name is the suffix of the path. */
export interface Format extends Encoding {
  readonly contentType: string;
  readonly problemType: string;
  /** Reads a request body. @throws Refusal `bad-request` or `unsupported-media-type` */
  decode(resource: Resource, body: Uint8Array): Decoded;
  /** A record, or a part of its fields, as it stands in a list. */
  part(resource: Resource, record: Partial<StorefrontRecord>): string;
  problem(problem: Problem): string;
}
