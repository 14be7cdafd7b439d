import type { DumpedRow } from "../../model/engine.ts";
import { type DumpOptions, tablesWith } from "../database/tables.ts";
import { openConnection, step } from "./long-connections.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";

/** Rows read by each step of a dump. */
const pageSize = 1000;

/** Reads the rows of a dump (`tablesWith`) as of one moment, on a connection of its own. */
export async function* dumpRows(
  primary: Primary,
  { nameOf = (table) => table, existing, site }: DumpOptions = {},
): AsyncGenerator<DumpedRow> {
  const connection = await openConnection(primary);
  try {
    await step(connection, connection.script(sql.beginRead));
    for (const table of tablesWith(site)) {
      if (existing && !existing.includes(table)) continue;
      const pages = connection.pages(sql.dump(table, nameOf(table), site), pageSize);
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
