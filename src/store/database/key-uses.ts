// The database operations on the last uses of API keys.

import { query, type Transaction, upsert } from "./transaction.ts";

export function* saveKeyUses(uses: ReadonlyMap<number, number>): Transaction<void> {
  const rows = [...uses].map(([key_id, at]) => ({ key_id, at }));
  // The order prevents two processes from waiting for each other's rows.
  rows.sort((a, b) => a.key_id - b.key_id);
  yield* upsert("key_uses", rows, "excluded.at > key_uses.at");
}

export function* readLastKeyUses(): Transaction<ReadonlyMap<number, number>> {
  const rows = yield* query("select key_id, at from key_uses");
  return new Map(rows.map(({ key_id, at }) => [Number(key_id), Number(at)]));
}
