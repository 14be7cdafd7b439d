// Lets writes to a database wait, as a long transaction of another process does.

import { Database } from "bun:sqlite";
import postgres from "postgres";

/** Makes writes to the database at `url` wait; on PostgreSQL, only writes to `site`. Returns a function that ends this. */
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
