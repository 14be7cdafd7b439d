// A small server written by hand with Hono and bun:sqlite. It has no XML, journal, conditional requests or field errors.
// FILE is the database; see brands.ts for the other settings.

import { Database } from "bun:sqlite";
import { Hono } from "hono";
import { openBrands, readHeaders } from "./brands.ts";

const database = new Database(process.env.FILE as string, { create: true });
const brands = openBrands(database, (key) => new Bun.CryptoHasher("sha256").update(key).digest("hex"));

const app = new Hono<{ Variables: { site: number } }>();
app.use(async (context, next) => {
  const site = brands.siteOf(context.req.header("X-API-AUTH"));
  if (site === undefined) return context.json({ error: "unauthorized" }, 401);
  context.set("site", site);
  await next();
  for (const [name, value] of Object.entries(readHeaders)) context.header(name, value);
});
app.get("/restapi/brands.json", (context) => context.json(brands.list(context.get("site"))));
app.get("/restapi/brands/:id{[0-9]+\\.json}", (context) => {
  const brand = brands.find(context.get("site"), Number.parseInt(context.req.param("id"), 10));
  return brand ? context.json(brand) : context.json({ error: "not found" }, 404);
});
app.post("/restapi/brands.json", async (context) => {
  const body = await context.req.json();
  if (typeof body.Name !== "string" || body.Name === "") return context.json({ error: "Name" }, 400);
  return context.json(brands.create(context.get("site"), body), 201);
});
app.put("/restapi/brands.json", async (context) => {
  const brand = brands.update(context.get("site"), await context.req.json());
  return brand ? context.json(brand) : context.json({ error: "not found" }, 404);
});

const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: app.fetch });
console.log(server.url.href.replace(/\/$/, ""));
