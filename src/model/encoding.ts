import type { Resource } from "./resource.ts";

/** How stored records become the text of a list: all that a snapshot needs to know of a format. */
export interface Encoding {
  /** Tells encodings apart: `json`. */
  readonly name: string;
  /** What stands before the one record of a document. */
  readonly documentStart: string;
  /** A record as it stands in a list. `json` is the record as it is declared (`toDeclared`). */
  item(resource: Resource, json: string): string;
  readonly listStart: string;
  readonly separator: string;
  readonly listEnd: string;
}

/** The encoding that records are kept in: their bytes are there once, for look-ups and for the list. */
export const storedEncoding: Encoding = {
  name: "json",
  documentStart: "",
  item: (_resource, json) => json,
  listStart: "[",
  separator: ",",
  listEnd: "]",
};
