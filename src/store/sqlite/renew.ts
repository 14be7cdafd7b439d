import type { Database } from "bun:sqlite";
import { randomText } from "../../lib/text.ts";
import { systemSite } from "../../model/limits.ts";
import { isLiveEpoch } from "../database/site-state.ts";
import { runInTransaction, withSqliteErrors } from "./database.ts";

/** Implements `Engine.renewEpochs`, on a connection that `open` opens. */
export function renewHistories(open: () => Database): number {
  const database = open();
  try {
    return withSqliteErrors(() => runInTransaction(database, () => renewAll(database)));
  } finally {
    database.close();
  }
}

function renewAll(database: Database): number {
  const sites = database.query<{ id: number; epoch: string }, []>("select id, epoch from sites").all();
  const renewed = sites.filter(({ epoch }) => isLiveEpoch(epoch));
  const update = database.query("update sites set epoch = ? where id = ?");
  for (const { id } of renewed) update.run(randomText(8), id);
  return renewed.filter(({ id }) => id !== systemSite).length;
}
