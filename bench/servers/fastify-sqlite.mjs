// A small server written by hand with Fastify and node:sqlite, with schemas for bodies. FILE is the database; see brands.ts for the other settings.

import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import Fastify from "fastify";
import { openBrands, readHeaders } from "./brands.ts";

const digest = (key) => createHash("sha256").update(key).digest("hex");
const brands = openBrands(new DatabaseSync(process.env.FILE), digest);

const text = { type: "string" };
const texts = (...names) => object(Object.fromEntries(names.map((name) => [name, text])));
const object = (properties) => ({ type: "object", properties, additionalProperties: false });
const fields = {
  Name: { type: "string", minLength: 1, maxLength: 255 },
  AccountNumber: text,
  Telephone: texts("Daytime", "Evening", "Mobile"),
  Address: texts(
    "Title",
    "Firstname",
    "Surname",
    "AddressLine1",
    "AddressLine2",
    "Town",
    "County",
    "Postcode",
    "Country",
  ),
};
const brand = object({ ID: { type: "integer" }, ...fields });
const list = { type: "array", items: brand };
const newBrand = { ...object(fields), required: ["Name"] };
const changed = { ...brand, required: ["ID"] };

const app = Fastify();
app.decorateRequest("site", 0);
app.addHook("onRequest", async (request, response) => {
  const site = brands.siteOf(request.headers["x-api-auth"]);
  if (site === undefined) return response.code(401).send({ error: "unauthorized" });
  request.site = site;
  response.headers(readHeaders);
});

app.get("/restapi/brands.json", { schema: { response: { 200: list } } }, async ({ site }) => brands.list(site));
app.get("/restapi/brands/:id(^[0-9]+).json", { schema: { response: { 200: brand } } }, async (request, response) => {
  return brands.find(request.site, Number(request.params.id)) ?? missing(response);
});
app.post(
  "/restapi/brands.json",
  { schema: { body: newBrand, response: { 201: brand } } },
  async (request, response) => {
    return response.code(201).send(brands.create(request.site, request.body));
  },
);
app.put("/restapi/brands.json", { schema: { body: changed, response: { 200: brand } } }, async (request, response) => {
  return brands.update(request.site, request.body) ?? missing(response);
});

function missing(response) {
  return response.code(404).send({ error: "not found" });
}

console.log(await app.listen({ port: 0, host: "127.0.0.1" }));
