// What takes as long as the database is large: each on a connection of its own, and with time.

import type { DumpedRow } from "../../model/engine.ts";
import { randomText } from "../../model/key.ts";
import { type TableName, tables } from "../tables.ts";
import type { Connection } from "./connection.ts";
import { fromPostgres, unavailable } from "./errors.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";

const pageSize = 1000;

/** Milliseconds for one step of something that is as long as the database is large. */
const patience = 15 * 60_000;

const orders: Record<TableName, string> = {
  sites: "id",
  records: "site_id, resource, id",
  journal: "site_id, revision",
  idempotency: "site_id, key_id, name",
  key_uses: "key_id",
};

const texts = new Set(["epoch", "counters", "resource", "body", "actor", "operation", "name", "digest"]);

/** Every row of every table as of one moment, read on a connection of its own. */
export async function* dumpRows(primary: Primary): AsyncGenerator<DumpedRow> {
  const connection = await connected(primary);
  try {
    await step(connection, connection.script(sql.beginRead));
    for (const table of Object.keys(tables) as TableName[]) {
      const text = `select ${tables[table].join(", ")} from ${table} order by ${orders[table]}`;
      const pages = connection.pages(text, pageSize);
      for (;;) {
        const page = await step(connection, pages.next());
        if (page.done) break;
        for (const row of page.value) yield { table, row };
      }
    }
  } finally {
    await connection.close();
  }
}

/**
 * Replaces the content of every table by `rows` in one transaction; every site starts a new epoch. When the first row is
 * asked for, whoever writes waits, and a dump still gives what was there.
 */
export async function refillTables(primary: Primary, rows: AsyncIterable<DumpedRow>): Promise<void> {
  const connection = await connected(primary);
  try {
    await step(connection, connection.script(`begin; ${sql.lockAllSites}`));
    for (const table of Object.keys(tables)) await step(connection, connection.script(`delete from ${table}`));
    let page: DumpedRow[] = [];
    for await (const row of rows) {
      if (page.length === pageSize || (page[0] && page[0].table !== row.table)) {
        await step(connection, insert(connection, page));
        page = [];
      }
      page.push(row);
    }
    if (page.length > 0) await step(connection, insert(connection, page));
    await step(connection, connection.script(sql.commit));
  } finally {
    await connection.close();
  }
}

/** Removes everything of a site. */
export async function dropSite(primary: Primary, site: number): Promise<void> {
  const connection = await connected(primary);
  try {
    await step(connection, connection.script(`begin; ${sql.dropSite(site)}; ${sql.commit}`));
  } finally {
    await connection.close();
  }
}

function insert(connection: Connection, page: readonly DumpedRow[]): Promise<unknown> {
  const { table } = page[0] as DumpedRow;
  const columns = tables[table as TableName].map((column) => ({ column, type: texts.has(column) ? "text" : "bigint" }));
  const names = columns.map(({ column }) => column).join(", ");
  const typed = columns.map(({ column, type }) => `${column} ${type}`).join(", ");
  const values = page.map(({ row }) => ("epoch" in row ? { ...row, epoch: randomText(8) } : row));
  // Servers go on noting when keys were used; their note is as good.
  const unless = table === "key_uses" ? " on conflict (key_id) do nothing" : "";
  return connection.query(
    `insert into ${table} (${names}) select ${names} from json_to_recordset($1::json) as r (${typed})${unless}`,
    values,
  );
}

async function connected(primary: Primary): Promise<Connection> {
  try {
    return await primary.connect();
  } catch (error) {
    throw fromPostgres(error);
  }
}

/** Waits for one step, and not for ever. */
async function step<T>(connection: Connection, work: Promise<T>): Promise<T> {
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(unavailable(`the database did not answer within ${patience} ms`)), patience);
  work.catch(() => {});
  connection.onLost(reject);
  try {
    return await Promise.race([work, passed]);
  } catch (error) {
    throw fromPostgres(error);
  } finally {
    connection.onLost(undefined);
    clearTimeout(timer);
  }
}
