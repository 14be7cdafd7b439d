import type { Resource } from "./resource.ts";

/** How records are encoded. A snapshot needs no more of a format than this. */
export interface Encoding {
  /** Identifies the encoding: `json`. */
  readonly name: string;
  /** The text before the record in a document with one record. */
  readonly documentStart: string;
  /** Returns a record as an item of a list. @param json the record as declared (`toDeclaredJson`) */
  item(resource: Resource, json: string): string;
  readonly listStart: string;
  readonly separator: string;
  readonly listEnd: string;
}

/** The encoding in which snapshots store records. Look-ups and lists send the same bytes. */
export const storedEncoding: Encoding = {
  name: "json",
  documentStart: "",
  item: (_resource, json) => json,
  listStart: "[",
  separator: ",",
  listEnd: "]",
};

/** Returns a document with one record. @param json as for `Encoding.item` */
export function documentOf(encoding: Encoding, resource: Resource, json: string): string {
  const { documentStart } = encoding;
  const item = encoding.item(resource, json);
  // If `documentStart` is empty, do not concatenate: the runtime would create a joined text, and copy it to send it.
  return documentStart === "" ? item : documentStart + item;
}
