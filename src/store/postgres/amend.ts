import type { Amend, StoredSystem } from "../../model/amend.ts";
import { requireAmended, selectKeyChanges, selectSystem, toKeyChanges, toStoredSystem } from "../amend.ts";
import { type TableSet, tableNameIn } from "../refill.ts";
import type { TableName } from "../tables.ts";
import { step } from "./bulk.ts";
import { decideAndWrite } from "./commit.ts";
import type { PostgresConnection } from "./postgres-connection.ts";
import { setWebhookSecrets } from "./webhooks.ts";

/** Amends the restored system site, in the transaction that has put it in use. @param set the replaced tables */
export async function amendSystem(connection: PostgresConnection, set: TableSet, amend: Amend): Promise<void> {
  const nameOf = (table: TableName) => tableNameIn(set, table);
  const replaced = await readStored(connection, nameOf);
  const restored = await readStored(connection, (table) => table);
  const after = amend.keyChangesAfter(replaced.head);
  const [changes = []] = await step(connection, connection.script(selectKeyChanges(nameOf, after)));
  const { intents, webhooks } = amend.decide({ replaced, restored, keyChanges: toKeyChanges(changes) });
  if (intents.length > 0) requireAmended(await step(connection, decideAndWrite(connection, intents)));
  for (const { key, secrets } of webhooks) await step(connection, setWebhookSecrets(connection, key, secrets));
}

async function readStored(connection: PostgresConnection, nameOf: (table: TableName) => string): Promise<StoredSystem> {
  return toStoredSystem(await step(connection, connection.script(selectSystem(nameOf).join("; "))));
}
