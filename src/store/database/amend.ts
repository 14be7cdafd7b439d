// Reads and decides the amendments of a restore. A restore amends the restored system site in the transaction that puts it in use: for example, keys
// that were revoked since the backup stay revoked (model/amend.ts).

import type { Amend, Amendment, StoredSystem, StoredSystemRecord } from "../../model/amend.ts";
import type { Outcome } from "../../model/change.ts";
import { systemSite } from "../../model/system-site.ts";
import { carryRestrictions, readRestrictions } from "./restrictions.ts";
import { type TableSet, tableNameIn } from "./table-swap.ts";
import type { TableName } from "./tables.ts";
import { query, type Row, type Transaction } from "./transaction.ts";
import { fromSecretRows } from "./webhook-state.ts";

/** Returns the name of a table in the database. */
type NameOf = (table: TableName) => string;

/**
 * Carries the recorded restrictions over, and decides the amendments from both system sites, in the transaction that has swapped the tables.
 * @param replaced the replaced tables
 */
export function* decideAmendments(replaced: TableSet, amend: Amend): Transaction<Amendment> {
  const backedUp = yield* readRestrictions();
  yield* carryRestrictions(replaced);
  return amend({
    backedUp,
    restored: yield* readStoredSystem((table) => table),
    replaced: yield* readStoredSystem((table) => tableNameIn(replaced, table)),
    restrictions: yield* readRestrictions(),
  });
}

/** Reads records of the system site, and the secrets of webhooks. */
function* readStoredSystem(nameOf: NameOf): Transaction<StoredSystem> {
  const records = yield* query(
    `select resource, body from ${nameOf("records")} where site_id = ${systemSite} and body is not null order by id`,
  );
  const secrets = yield* query(
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

/** Asserts that no intent of an amendment was rejected. The intents were decided from rows that nobody else can change. */
export function requireAmended(outcomes: readonly Outcome[]): void {
  const rejected = outcomes.find((outcome) => outcome.kind === "rejected");
  if (rejected) throw new Error(`an amendment was rejected: ${rejected.rejectionReason}`);
}
