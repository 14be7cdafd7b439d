// Entity tags of records and lists: `"<version>.<representation>"` (RFC 9110 section 8.8.3).
//
// The version is the epoch and the revision of the record or list. It changes with the data. The representation is the digest of the
// resource's shape (`Shape.digest`), the format and, if the body is compressed, the content coding. It changes with the bytes that the same data are
// sent as. An example is `"mhZb3kQx.7.1c9e04ab-json"`.

import { versionOf } from "./change.ts";
import type { Resource, Shape } from "./resource.ts";

/** Returns the tag of a record after its change `revision`, as in the response to a look-up. @param format such as `json` */
export function recordEtag(resource: Resource, format: string, epoch: string, revision: number): string {
  return `"${versionOf(epoch, revision)}${etagEnding(resource, format)}`;
}

/** The ends of the tags after the version, by format. */
const endings = new WeakMap<Shape, Map<string, string>>();

/**
 * Returns the end of a tag after the version, with its double quote.
 * @param format the format and the content coding, such as `json` or `xml-gzip`
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
