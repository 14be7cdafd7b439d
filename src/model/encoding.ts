import type { Resource } from "./resource.ts";

/** How records are encoded: all that a snapshot needs to know of a format. */
export interface Encoding {
  /** Identifies the encoding: `json`. */
  readonly name: string;
  /** The text before the record in a document with one record. */
  readonly documentStart: string;
  /** A record as an item of a list. `json` is the record as declared (`toDeclared`). */
  item(resource: Resource, json: string): string;
  readonly listStart: string;
  readonly separator: string;
  readonly listEnd: string;
}

/** The encoding in which snapshots keep records: the same bytes serve look-ups and lists. */
export const storedEncoding: Encoding = {
  name: "json",
  documentStart: "",
  item: (_resource, json) => json,
  listStart: "[",
  separator: ",",
  listEnd: "]",
};

/** A record as a document. @param json as for `Encoding.item` */
export function documentOf(encoding: Encoding, resource: Resource, json: string): string {
  const { documentStart } = encoding;
  const item = encoding.item(resource, json);
  // Even with an empty text, the runtime would make a joined text, and copy it to send it.
  return documentStart === "" ? item : documentStart + item;
}
