import type { Database } from "bun:sqlite";
import type { Amend, StoredSystem } from "../../model/amend.ts";
import type { DumpedRow } from "../../model/dump.ts";
import { requireAmended, selectKeyChanges, selectSystem, toKeyChanges, toStoredSystem } from "../amend.ts";
import { FoundRecords } from "../found-records.ts";
import { type TableSet, tableNameIn } from "../refill.ts";
import type { TableName } from "../tables.ts";
import { setWebhookSecrets } from "./webhook-writes.ts";
import { decideAndWrite } from "./writer.ts";
import { writerStatements } from "./writer-statements.ts";

/** Amends the restored system site, in the transaction that has put it in use. @param set the replaced tables */
export function amendSystem(database: Database, set: TableSet, amend: Amend): void {
  const nameOf = (table: TableName) => tableNameIn(set, table);
  const replaced = readStored(database, nameOf);
  const restored = readStored(database, (table) => table);
  const changes = readRows(database, selectKeyChanges(nameOf, amend.keyChangesAfter(replaced.head)));
  const { intents, webhooks } = amend.decide({ replaced, restored, keyChanges: toKeyChanges(changes) });
  if (intents.length > 0) requireAmended(decideAndWrite(writerStatements(database), intents, new FoundRecords(), true));
  for (const { key, secrets } of webhooks) setWebhookSecrets(database, key, secrets);
}

function readStored(database: Database, nameOf: (table: TableName) => string): StoredSystem {
  return toStoredSystem(selectSystem(nameOf).map((text) => readRows(database, text)));
}

function readRows(database: Database, text: string): DumpedRow["row"][] {
  return database.query<DumpedRow["row"], []>(text).all();
}
