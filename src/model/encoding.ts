import type { Resource } from "./resource.ts";

/** How records are encoded: all that a snapshot needs to know about a format. */
export interface Encoding {
  /** A name such as `json`. */
  readonly name: string;
  /** What comes before the record in a document with a single one. */
  readonly documentStart: string;
  /** Returns a record as a list item. @param json the record as declared (`toDeclaredJson`) */
  item(resource: Resource, json: string): string;
  readonly listStart: string;
  readonly separator: string;
  readonly listEnd: string;
}

/** How snapshots store records. Look-ups and lists send these same bytes. */
export const storedEncoding: Encoding = {
  name: "json",
  documentStart: "",
  item: (_resource, json) => json,
  listStart: "[",
  separator: ",",
  listEnd: "]",
};

/** Returns a document with a single record. @param json as for `Encoding.item` */
export function documentOf(encoding: Encoding, resource: Resource, json: string): string {
  const { documentStart } = encoding;
  const item = encoding.item(resource, json);
  // Concatenating an empty text would make the runtime build a rope, and copy it to send it.
  return documentStart === "" ? item : documentStart + item;
}
