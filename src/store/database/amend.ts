// The statements and rows of amendments, shared by the engines. A restore amends the restored system site in the transaction that puts it in use:
// for example, keys that were revoked since the backup stay revoked (model/amend.ts).

import type { KeyChange, StoredSystem, StoredSystemRecord } from "../../model/amend.ts";
import type { Outcome } from "../../model/change.ts";
import type { DumpedRow } from "../../model/engine.ts";
import { keyResourceName, systemSite } from "../../model/limits.ts";
import type { TableName } from "./tables.ts";
import { fromSecretRows } from "./webhook-state.ts";

/** Returns the name of a table in the database. */
type NameOf = (table: TableName) => string;
type Row = DumpedRow["row"];

/** Returns statements for every engine that read the system site: its head, its records, and the secrets of webhooks. */
export function selectSystem(nameOf: NameOf): readonly [string, string, string] {
  const deletion = `deleted.site_id = ${systemSite} and deleted.revision = stored.revision and stored.body is null`;
  return [
    `select revision, epoch from ${nameOf("sites")} where id = ${systemSite}`,
    `select stored.resource, stored.id, stored.revision, stored.body, deleted.body as deleted_body, deleted.at, deleted.run
from ${nameOf("records")} as stored left join ${nameOf("journal")} as deleted on ${deletion} where stored.site_id = ${systemSite}`,
    `select site_id, webhook_id, secret, created_at, until from ${nameOf("webhook_secrets")} order by created_at desc`,
  ];
}

/** Returns a statement that reads the changes of keys after a revision of the system site. */
export function selectKeyChanges(nameOf: NameOf, after: number): string {
  return `select revision, id, operation, run, at from ${nameOf("journal")}
where site_id = ${systemSite} and revision > ${after} and resource = '${keyResourceName}' order by revision`;
}

/** Converts rows. @param rows the rows of each statement of `selectSystem` */
export function toStoredSystem([heads = [], records = [], secrets = []]: readonly (readonly Row[])[]): StoredSystem {
  const [head] = heads;
  return {
    head: { revision: Number(head?.revision ?? 0), epoch: String(head?.epoch ?? "") },
    records: records.map(toStoredRecord),
    secrets: fromSecretRows(secrets).map((secret, n) => {
      const { site_id, webhook_id } = secrets[n] as Row;
      return { ...secret, site: Number(site_id), webhook: Number(webhook_id) };
    }),
  };
}

export function toKeyChanges(rows: readonly Row[]): readonly KeyChange[] {
  return rows as unknown as readonly KeyChange[];
}

/** Asserts that no intent of an amendment was rejected. The intents were decided from rows that nobody else can change. */
export function requireAmended(outcomes: readonly Outcome[]): void {
  const rejected = outcomes.find((outcome) => outcome.kind === "rejected");
  if (rejected) throw new Error(`an amendment was refused: ${rejected.rejectionReason}`);
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
