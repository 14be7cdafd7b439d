// A server that does nothing, or with DATABASE, only runs one statement on that PostgreSQL server. How long a client waits for it is the noise of the machine
// and the database.
//   bun idle-server.ts [DATABASE]

import postgres from "postgres";

const [database] = process.argv.slice(2);
const sql = database === undefined ? undefined : postgres(database, { fetch_types: false });

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch() {
    if (sql) await sql`select 1`;
    return new Response("{}");
  },
});
console.log(server.url.href);
