// The rows that the intents of a run name, looked up before the transaction that locks the site. So other writers do not wait for the look-ups.

import type { Intent, RecordChange } from "../../model/change.ts";
import type { SiteState } from "../database/site-state.ts";
import { type BatchState, keysOfBatch } from "../writes/batch.ts";
import type { BatchRow } from "../writes/batch-rows.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import { sql } from "./statements.ts";
import { awaitAll } from "./transaction.ts";

/** Maximum changes of others between the look-up and the transaction. After more of them, the transaction looks the rows up itself. */
const maxChanges = 2000;

export interface RowsBefore {
  readonly site: number;
  /** The head of the site as of which the rows were read. */
  readonly head: { readonly revision: number; readonly epoch: string };
  readonly rows: readonly BatchRow[];
}

/** Looks up the rows that `batches` name, as of one moment. Returns undefined if they name none, or if the site was never written to. */
export async function readRowsBefore(
  connection: PostgresConnection,
  batches: readonly (readonly Intent[])[],
): Promise<RowsBefore | undefined> {
  const keys = batches.map((intents) => keysOfBatch(intents).records).filter(({ length }) => length > 0);
  const site = keys[0]?.[0]?.site_id;
  if (site === undefined) return undefined;
  const [sites, found] = await awaitAll<[ResultRow[][], ResultRow[][], unknown]>([
    connection.script(sql.beginReadByKeys(site)),
    awaitAll(keys.map((some) => connection.query(sql.rowsByKeys("records"), some))),
    connection.script(sql.endRead),
  ]);
  const row = sites[0]?.[0];
  return row && { site, head: { revision: row.revision, epoch: row.epoch }, rows: found.flat() as BatchRow[] };
}

/**
 * Adds the rows to the state of a transaction that has locked the site. Reads the changes since then, and applies them. If the site has another epoch, or
 * if changes are too many or were pruned, adds nothing.
 */
export async function addRowsBefore(
  connection: PostgresConnection,
  { site, head, rows }: RowsBefore,
  state: BatchState,
): Promise<void> {
  const { revision, epoch } = state.sites.get(site) as SiteState;
  const count = revision - head.revision;
  if (epoch !== head.epoch || count < 0 || count > maxChanges) return;
  const since = { site, revision: head.revision, limit: maxChanges };
  const [changes = []] = count > 0 ? await connection.script(sql.lastChanges(since)) : [];
  if (changes.length !== count) return;
  for (const row of rows) state.rows.add(row);
  for (const { resource, id, revision: last, operation, body } of changes.toReversed() as RecordChange[]) {
    const row = state.rows.find(site, resource, id);
    if (row) Object.assign(row, { revision: last, body: operation === "delete" ? null : body });
  }
}
