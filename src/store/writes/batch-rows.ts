// The rows that a batch reads and stores. An engine adds the rows it has locked and read. Each decision (batch.ts) updates them, so that the next
// intent sees its effect.

import type { JournalEntry, Operation } from "../../model/change.ts";

export type JournalRow = JournalEntry & { readonly site_id: number };

/** The response to the first write with an idempotency key. */
export interface StoredResponse {
  readonly digest: string;
  readonly at: number;
  readonly operation: Operation;
  readonly id: number;
  readonly revision: number;
  readonly body: string;
}

export type ResponseRow = StoredResponse & {
  readonly site_id: number;
  readonly key_id: number;
  readonly name: string;
};

/** A record's row as of the last decided intent. */
export interface BatchRow {
  readonly site_id: number;
  readonly resource: string;
  readonly id: number;
  revision: number;
  /** The record as JSON; null if it was deleted. */
  body: string | null;
}

type RowsOfResources = Map<string, Map<number, BatchRow>>;

/** Rows by site, resource and ID. Three levels of maps, because building and hashing a joined key for every access would be slower. */
export class BatchRows {
  readonly #sites = new Map<number, RowsOfResources>();

  find(site: number, resource: string, id: number): BatchRow | undefined {
    return this.#sites.get(site)?.get(resource)?.get(id);
  }

  /** Brings a row up to the state after a journal entry, or adds one. @param row undefined for a new record */
  upsertFromEntry(
    row: BatchRow | undefined,
    { site_id, resource, id, revision, operation, body }: JournalRow,
  ): BatchRow {
    const bodyAfter = operation === "delete" ? null : body;
    if (row) {
      row.revision = revision;
      row.body = bodyAfter;
      return row;
    }
    const added = { site_id, resource, id, revision, body: bodyAfter };
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
