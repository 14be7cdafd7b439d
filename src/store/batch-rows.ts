import type { JournalEntry } from "../model/change.ts";

/** An entry of the journal to store. */
export type JournalRow = JournalEntry & { readonly site_id: number };

/** A record that a batch names, as it is after the intents that were decided. A row to store. */
export interface BatchRow {
  readonly site_id: number;
  readonly resource: string;
  readonly id: number;
  revision: number;
  /** The record as JSON text; null when it was deleted. */
  body: string | null;
}

type RowsOfResources = Map<string, Map<number, BatchRow>>;

/** Records by site, resource and ID. They are not joined to one text, which would have to be made and hashed for each look-up. */
export class BatchRows {
  readonly #sites = new Map<number, RowsOfResources>();

  get(site: number, resource: string, id: number): BatchRow | undefined {
    return this.#sites.get(site)?.get(resource)?.get(id);
  }

  /** The row of a record after `change`. @param row before it; undefined for a new record */
  put(row: BatchRow | undefined, { site_id, resource, id, revision, operation, body }: JournalRow): BatchRow {
    const stored = operation === "delete" ? null : body;
    if (row) {
      row.revision = revision;
      row.body = stored;
      return row;
    }
    const added = { site_id, resource, id, revision, body: stored };
    this.add(added);
    return added;
  }

  add(row: BatchRow): void {
    const resources: RowsOfResources = this.#sites.get(row.site_id) ?? new Map();
    const records = resources.get(row.resource) ?? new Map();
    records.set(row.id, row);
    resources.set(row.resource, records);
    this.#sites.set(row.site_id, resources);
  }
}
