// Names a record of a site.

/** A record of a site, by the name of its resource and its ID. */
export interface RecordKey {
  readonly resource: string;
  readonly id: number;
}

/** Returns the key as a text, for maps and sets. */
export function toKeyText({ resource, id }: { readonly resource: string; readonly id?: number | undefined }): string {
  return `${resource}/${id}`;
}
