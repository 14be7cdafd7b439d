// Entity tags of records and lists: `"<version>.<representation>"` (RFC 9110 section 8.8.3), such as `"mhZb3kQx.7.1c9e04ab-json"`.
//
// The version is the epoch and revision, and changes with the data. The representation changes with the bytes in which the same data is sent: it's
// the digest of the resource's shape (`Shape.digest`), the format and, if compressed, the content coding.

import { versionOf } from "./change.ts";
import type { Resource, Shape } from "./resource.ts";

/** Returns a record's tag after change `revision`, as a look-up would. @param format such as `json` */
export function recordEtag(resource: Resource, format: string, epoch: string, revision: number): string {
  return `"${versionOf(epoch, revision)}${etagEnding(resource, format)}`;
}

/** What follows the version in a tag, by format. */
const endings = new WeakMap<Shape, Map<string, string>>();

/**
 * Returns what follows the version in a tag, including the closing quote.
 * @param format the format and content coding, such as `json` or `xml-gzip`
 */
export function etagEnding({ shape }: Resource, format: string): string {
  const ofShape = endings.get(shape) ?? new Map<string, string>();
  let ending = ofShape.get(format);
  if (ending === undefined) {
    ending = `.${shape.digest}-${format}"`;
    endings.set(shape, ofShape.set(format, ending));
  }
  return ending;
}
