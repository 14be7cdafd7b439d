// A small server written by hand, with Express and better-sqlite3. It looks up the digest of the key.

import express from "express";
import { createBrand, findBrand, listBrands, readHeaders, siteOf, updateBrand } from "./sqlite-brands.mjs";

const app = express();
app.disable("x-powered-by");
app.use((request, response, next) => {
  const site = siteOf(request.get("X-API-AUTH"));
  if (site === undefined) return response.status(401).json({ error: "unauthorized" });
  response.locals.site = site;
  response.set(readHeaders);
  next();
});
app.use(express.json({ limit: "1mb" }));

app.get("/restapi/brands.json", (_request, response) => {
  response.json(listBrands(response.locals.site));
});
app.get("/restapi/brands/:id.json", (request, response) => {
  const brand = findBrand(response.locals.site, Number(request.params.id));
  if (!brand) return response.status(404).json({ error: "not found" });
  response.json(brand);
});
app.post("/restapi/brands.json", (request, response) => {
  const { Name } = request.body;
  if (typeof Name !== "string" || Name === "") return response.status(400).json({ error: "Name" });
  response.status(201).json(createBrand(response.locals.site, request.body));
});
app.put("/restapi/brands.json", (request, response) => {
  const { ID, ...changes } = request.body;
  const brand = updateBrand(response.locals.site, ID, changes);
  if (!brand) return response.status(404).json({ error: "not found" });
  response.json(brand);
});

const server = app.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
