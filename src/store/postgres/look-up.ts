import type { PostgresConnection, ResultRow } from "./postgres-connection.ts";
import { sql } from "./statements.ts";

/** Runs one statement whose plan must be a look-up by keys, whatever the number of rows, in a transaction of its own and one round trip. */
export async function lookUp(
  connection: PostgresConnection,
  ...statement: Parameters<PostgresConnection["query"]>
): Promise<ResultRow[]> {
  const [, rows] = await Promise.all([
    connection.script(sql.beginLookUp),
    connection.query(...statement),
    connection.script(sql.endRead),
  ]);
  return rows;
}
