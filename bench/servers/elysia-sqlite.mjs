// The same as hono-sqlite.ts, with Elysia, and a schema for the bodies of creates.

import { Database } from "bun:sqlite";
import { Elysia, t } from "elysia";
import { openBrands, readHeaders } from "./brands.ts";

const database = new Database(process.env.FILE, { create: true });
const brands = openBrands(database, (key) => new Bun.CryptoHasher("sha256").update(key).digest("hex"));
const newBrand = t.Object({ Name: t.String({ minLength: 1 }) }, { additionalProperties: true });

const app = new Elysia()
  .headers(readHeaders)
  .resolve(({ headers, status }) => {
    const site = brands.siteOf(headers["x-api-auth"]);
    return site === undefined ? status(401, { error: "unauthorized" }) : { site };
  })
  .get("/restapi/brands.json", ({ site }) => brands.list(site))
  .get("/restapi/brands/:file", ({ site, params, status }) => {
    return brands.find(site, Number.parseInt(params.file, 10)) ?? status(404, { error: "not found" });
  })
  .post("/restapi/brands.json", ({ site, body, status }) => status(201, brands.create(site, body)), { body: newBrand })
  .put("/restapi/brands.json", ({ site, body, status }) => {
    return brands.update(site, body) ?? status(404, { error: "not found" });
  })
  .listen({ port: 0, hostname: "127.0.0.1" });

console.log(app.server.url.href.replace(/\/$/, ""));
