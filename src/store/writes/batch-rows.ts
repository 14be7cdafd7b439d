// The rows that a batch changes or checks, and the rows that it stores. An engine adds the rows that it has locked and read. Each decision (batch.ts)
// updates the row of a record, so that the next intent sees the effect.

import type { JournalEntry, Operation } from "../../model/change.ts";

/** A journal entry to store. */
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

/** The response for an idempotency key to store. */
export type ResponseRow = StoredResponse & {
  readonly site_id: number;
  readonly key_id: number;
  readonly name: string;
};

/** The row of a record that a batch names, after the intents that were decided so far. */
export interface BatchRow {
  readonly site_id: number;
  readonly resource: string;
  readonly id: number;
  revision: number;
  /** The record as JSON text; null when it was deleted. */
  body: string | null;
}

type RowsOfResources = Map<string, Map<number, BatchRow>>;

/** Rows by site, resource and ID. There are three levels of maps, because a joined key would have to be made and hashed for each access. */
export class BatchRows {
  readonly #sites = new Map<number, RowsOfResources>();

  find(site: number, resource: string, id: number): BatchRow | undefined {
    return this.#sites.get(site)?.get(resource)?.get(id);
  }

  /** Updates the row of a record to the state after a journal entry, or adds a row. Returns the row. @param row undefined for a new record */
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
