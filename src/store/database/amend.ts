// What the engines share about the amendments of a refill (model/amend.ts): the statements, and their rows.

import type { KeyChange, StoredSystem, StoredSystemRecord } from "../../model/amend.ts";
import type { Outcome } from "../../model/change.ts";
import type { DumpedRow } from "../../model/engine.ts";
import { keyResourceName, systemSite } from "../../model/limits.ts";
import { operationColumn } from "./site-state.ts";
import type { TableName } from "./tables.ts";
import { fromSecretRows } from "./webhook-state.ts";

/** The name that a table has in the database. */
type NameOf = (table: TableName) => string;
type Row = DumpedRow["row"];

/** The statements of every engine that read the system site: its head, its records, and the secrets of webhooks. */
export function selectSystem(nameOf: NameOf): readonly [string, string, string] {
  const deletion = `deleted.site_id = ${systemSite} and deleted.revision = stored.revision and stored.body is null`;
  return [
    `select revision, epoch from ${nameOf("sites")} where id = ${systemSite}`,
    `select stored.resource, stored.id, stored.revision, stored.body, deleted.body as deleted_body, deleted.at, deleted.run
from ${nameOf("records")} as stored left join ${nameOf("journal")} as deleted on ${deletion} where stored.site_id = ${systemSite}`,
    `select site_id, webhook_id, secret, created_at, until from ${nameOf("webhook_secrets")} order by created_at desc`,
  ];
}

/** Selects the changes of keys after a revision. */
export function selectKeyChanges(nameOf: NameOf, after: number): string {
  return `select revision, id, ${operationColumn}, run, at from ${nameOf("journal")}
where site_id = ${systemSite} and revision > ${after} and resource = '${keyResourceName}' order by revision`;
}

/** @param rows of the statements of `selectSystem` */
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

/** Asserts that all intents of an amendment were carried out: they are decided on what nobody else can change. */
export function requireAmended(outcomes: readonly Outcome[]): void {
  const refused = outcomes.find((outcome) => outcome.kind === "refused");
  if (refused) throw new Error(`an amendment was refused: ${refused.why}`);
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
