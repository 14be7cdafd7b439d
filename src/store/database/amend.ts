// Reads and decides the amendments of a restore. A restore amends the restored system site in the transaction that puts it in use: for example, keys
// that were revoked since the backup stay revoked (model/amend.ts).

import type { Amend, KeyChange, StoredSystem, StoredSystemRecord } from "../../model/amend.ts";
import type { Outcome } from "../../model/change.ts";
import { keyResourceName, systemSite } from "../../model/system-site.ts";
import { type TableSet, tableNameIn } from "./table-swap.ts";
import type { TableName } from "./tables.ts";
import { query, type Row, type Transaction } from "./transaction.ts";
import { fromSecretRows } from "./webhook-state.ts";

/** Returns the name of a table in the database. */
type NameOf = (table: TableName) => string;

/** Reads both system sites and decides the amendments, in the transaction that has swapped the tables. @param replaced the replaced tables */
export function* decideAmendments(replaced: TableSet, amend: Amend): Transaction<ReturnType<Amend["decide"]>> {
  const nameOf = (table: TableName) => tableNameIn(replaced, table);
  const before = yield* readStoredSystem(nameOf);
  const restored = yield* readStoredSystem((table) => table);
  const keyChanges = yield* readKeyChanges(nameOf, amend.keyChangesAfter(before.head));
  return amend.decide({ replaced: before, restored, keyChanges });
}

/** Reads the changes of keys after a revision of the system site. */
function* readKeyChanges(nameOf: NameOf, after: number): Transaction<readonly KeyChange[]> {
  const rows = yield* query(`select revision, id, operation, run, at from ${nameOf("journal")}
where site_id = ${systemSite} and revision > ${after} and resource = '${keyResourceName}' order by revision`);
  return rows as unknown as readonly KeyChange[];
}

/** Reads the system site: its head, its records, and the secrets of webhooks. */
function* readStoredSystem(nameOf: NameOf): Transaction<StoredSystem> {
  const deletion = `deleted.site_id = ${systemSite} and deleted.revision = stored.revision and stored.body is null`;
  const [head] = yield* query(`select revision, epoch from ${nameOf("sites")} where id = ${systemSite}`);
  const records =
    yield* query(`select stored.resource, stored.id, stored.revision, stored.body, deleted.body as deleted_body, deleted.at, deleted.run
from ${nameOf("records")} as stored left join ${nameOf("journal")} as deleted on ${deletion} where stored.site_id = ${systemSite}`);
  const secrets = yield* query(
    `select site_id, webhook_id, secret, created_at, until from ${nameOf("webhook_secrets")} order by created_at desc`,
  );
  return {
    head: { revision: Number(head?.revision ?? 0), epoch: String(head?.epoch ?? "") },
    records: records.map(toStoredRecord),
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

function toStoredRecord({ resource, id, revision, body, deleted_body, at, run }: Row): StoredSystemRecord {
  const isKnown = typeof deleted_body === "string";
  return {
    resource: String(resource),
    id: Number(id),
    revision: Number(revision),
    body: body as string | null,
    deleted: isKnown ? { body: deleted_body, at: Number(at), run: (run ?? null) as string | null } : null,
  };
}
