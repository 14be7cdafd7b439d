// Amends the system site during a restore, in the transaction that swaps it in. For example, keys revoked since the backup stay revoked
// (model/amend.ts).

import type { Amend, StoredSystem, StoredSystemRecord } from "../../model/amend.ts";
import { systemSite } from "../../model/system-site.ts";
import { carryRestrictions, readRestrictions } from "../database/restrictions.ts";
import { type TableSet, tableNameIn } from "../database/table-swap.ts";
import type { TableName } from "../database/tables.ts";
import { query, type Row, type Transaction, upsert } from "../database/transaction.ts";
import { amendWebhook, fromSecretRows } from "../database/webhook-state.ts";
import { BatchTransaction } from "./batch-transaction.ts";
import { commitBatch } from "./commit-batch.ts";

type NameOf = (table: TableName) => string;

/**
 * Carries the recorded restrictions over and amends the system site. Runs in the transaction that has swapped the tables.
 * @param replaced the replaced tables
 */
export function* amendSystem(replaced: TableSet, amend: Amend | undefined): Transaction<void> {
  const backedUp = yield* readRestrictions();
  yield* carryRestrictions(replaced);
  if (!amend) return;
  const { intents, webhooks, restrictions } = amend({
    backedUp,
    restored: yield* readStoredSystem((table) => table),
    replaced: yield* readStoredSystem((table) => tableNameIn(replaced, table)),
    restrictions: yield* readRestrictions(),
  });
  if (intents.length > 0) {
    const { outcomes } = yield* commitBatch(intents, new BatchTransaction(), { atomic: true, isAmendment: true });
    // The rows behind this decision can't have changed, so this would be a bug.
    const rejected = outcomes.find((outcome) => outcome.kind === "rejected");
    if (rejected) throw new Error(`an amendment was rejected: ${rejected.rejectionReason}`);
  }
  for (const { key, secrets } of webhooks) yield* amendWebhook(key, secrets);
  yield upsert("restrictions", restrictions);
}

function* readStoredSystem(nameOf: NameOf): Transaction<StoredSystem> {
  const records = yield query(
    `select resource, body from ${nameOf("records")} where site_id = ${systemSite} and body is not null order by id`,
  );
  const secrets = yield query(
    `select site_id, webhook_id, secret, created_at, until from ${nameOf("webhook_secrets")} order by created_at desc`,
  );
  return {
    records: records as unknown as readonly StoredSystemRecord[],
    secrets: fromSecretRows(secrets).map((secret, n) => {
      const { site_id, webhook_id } = secrets[n] as Row;
      return { ...secret, site: Number(site_id), webhook: Number(webhook_id) };
    }),
  };
}
