// A small server written by hand, with Fastify and better-sqlite3. It looks up the digest of the key, and has schemas for bodies.

import Fastify from "fastify";
import { createBrand, findBrand, listBrands, readHeaders, siteOf, updateBrand } from "./sqlite-brands.mjs";

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
  const site = siteOf(request.headers["x-api-auth"]);
  if (site === undefined) return response.code(401).send({ error: "unauthorized" });
  request.site = site;
  response.headers(readHeaders);
});

app.get("/restapi/brands.json", { schema: { response: { 200: list } } }, async ({ site }) => listBrands(site));
app.get("/restapi/brands/:id(^[0-9]+).json", { schema: { response: { 200: brand } } }, async (request, response) => {
  return findBrand(request.site, Number(request.params.id)) ?? missing(response);
});
app.post(
  "/restapi/brands.json",
  { schema: { body: newBrand, response: { 201: brand } } },
  async (request, response) => {
    return response.code(201).send(createBrand(request.site, request.body));
  },
);
app.put("/restapi/brands.json", { schema: { body: changed, response: { 200: brand } } }, async (request, response) => {
  const { ID, ...changes } = request.body;
  return updateBrand(request.site, ID, changes) ?? missing(response);
});

function missing(response) {
  return response.code(404).send({ error: "not found" });
}

console.log(await app.listen({ port: 0, host: "127.0.0.1" }));
