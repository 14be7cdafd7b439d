// Makes writes to a database wait, like another process's long transaction.

import { Database } from "bun:sqlite";
import postgres from "postgres";

/** Blocks writes to the database at `url`, or on PostgreSQL only writes to `site`, until the returned function is called. */
export async function blockWrites(url: string, site: number): Promise<() => Promise<void>> {
  if (url.startsWith("sqlite:")) {
    const database = new Database(url.replace("sqlite:", ""));
    database.run("begin immediate");
    return async () => database.close();
  }
  const connection = postgres(url.replace(/\?.*/, ""), { max: 1, fetch_types: false, onnotice: () => {} });
  await connection.unsafe(`begin; select 1 from sites where id = ${site} for update`);
  return () => connection.end();
}
