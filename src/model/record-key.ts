/** Identifies a record within its site. */
export interface RecordKey {
  readonly resource: string;
  readonly id: number;
}

/** Returns the key as text, for maps and sets. */
export function toKeyText({ resource, id }: { readonly resource: string; readonly id?: number | undefined }): string {
  return `${resource}/${id}`;
}
