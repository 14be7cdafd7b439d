// A small server written by hand with Hono and bun:sqlite. It looks up the key's digest and commits each write. It has no XML, journal, conditional requests
// or field errors.

import { Database } from "bun:sqlite";
import { Hono } from "hono";

const database = new Database(process.env.FILE as string, { create: true });
database.run("pragma journal_mode = wal");
database.run("pragma synchronous = full");
database.run("create table if not exists keys (digest text primary key, site integer)");
database.run("create table if not exists brands (id integer primary key, site integer, body text)");
const digest = (key: string) => new Bun.CryptoHasher("sha256").update(key).digest("hex");
database.query("insert or replace into keys values (?, 1)").run(digest(process.env.KEY as string));
if (process.env.SEED) {
  const insert = database.query("insert or replace into brands (id, site, body) values (?, 1, ?)");
  database.transaction((rows: { ID: number }[]) => {
    for (const { ID, ...body } of rows) insert.run(ID, JSON.stringify(body));
  })(await Bun.file(process.env.SEED).json());
}

const keyOf = database.query<{ site: number }, [string]>("select site from keys where digest = ?");
const one = database.query<{ id: number; body: string }, [number, number]>(
  "select id, body from brands where site = ? and id = ?",
);
const all = database.query<{ id: number; body: string }, [number]>(
  "select id, body from brands where site = ? order by id",
);
const insert = database.query<{ id: number }, [number, string]>(
  "insert into brands (site, body) values (?, ?) returning id",
);
const update = database.query("update brands set body = ? where site = ? and id = ?");

const app = new Hono<{ Variables: { site: number } }>();
app.use(async (context, next) => {
  const key = keyOf.get(digest(context.req.header("X-API-AUTH") ?? ""));
  if (!key) return context.json({ error: "unauthorized" }, 401);
  context.set("site", key.site);
  await next();
  const headers = {
    "Cache-Control": "no-cache, no-store, must-revalidate",
    Pragma: "no-cache",
    Expires: "-1",
    "Access-Control-Allow-Origin": "*",
  };
  for (const [name, value] of Object.entries(headers)) context.header(name, value);
});
app.get("/restapi/brands.json", (context) => {
  return context.json(all.all(context.get("site")).map(({ id, body }) => ({ ID: id, ...JSON.parse(body) })));
});
app.get("/restapi/brands/:id{[0-9]+\\.json}", (context) => {
  const row = one.get(context.get("site"), Number.parseInt(context.req.param("id"), 10));
  return row ? context.json({ ID: row.id, ...JSON.parse(row.body) }) : context.json({ error: "not found" }, 404);
});
app.post("/restapi/brands.json", async (context) => {
  const body = await context.req.json();
  if (typeof body.Name !== "string" || body.Name === "") return context.json({ error: "Name" }, 400);
  const { id } = insert.get(context.get("site"), JSON.stringify(body)) as { id: number };
  return context.json({ ID: id, ...body }, 201);
});
app.put("/restapi/brands.json", async (context) => {
  const { ID, ...changes } = await context.req.json();
  const row = one.get(context.get("site"), ID);
  if (!row) return context.json({ error: "not found" }, 404);
  const body = { ...JSON.parse(row.body), ...changes };
  update.run(JSON.stringify(body), context.get("site"), ID);
  return context.json({ ID, ...body });
});

const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: app.fetch });
console.log(server.url.href.replace(/\/$/, ""));
