// A small server written by hand with Fastify and better-sqlite3. It looks up the key's digest, commits each write, and has schemas for bodies.
// FILE is the database, KEY the only valid key, and SEED a file with the brands to store first.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import Database from "better-sqlite3";
import Fastify from "fastify";

const database = new Database(process.env.FILE);
database.pragma("journal_mode = wal");
database.pragma("synchronous = full");
database.exec("create table if not exists keys (digest text primary key, site integer)");
database.exec("create table if not exists brands (id integer primary key, site integer, body text)");
const digest = (key) => createHash("sha256").update(key).digest("hex");
database.prepare("insert or replace into keys values (?, 1)").run(digest(process.env.KEY));

const keyOf = database.prepare("select site from keys where digest = ?");
const one = database.prepare("select id, body from brands where site = ? and id = ?");
const all = database.prepare("select id, body from brands where site = ? order by id");
const insert = database.prepare("insert into brands (site, body) values (?, ?)");
const change = database.prepare("update brands set body = ? where site = ? and id = ?");

database.transaction((brands) => {
  for (const { ID: _, ...body } of brands) insert.run(1, JSON.stringify(body));
})(JSON.parse(readFileSync(process.env.SEED, "utf8")));

function siteOf(key = "") {
  return keyOf.get(digest(key))?.site;
}

function listBrands(site) {
  return all.all(site).map(toBrand);
}

/** Returns undefined if there's no such brand. */
function findBrand(site, id) {
  const row = one.get(site, id);
  return row && toBrand(row);
}

function createBrand(site, brand) {
  const { lastInsertRowid } = insert.run(site, JSON.stringify(brand));
  return { ID: Number(lastInsertRowid), ...brand };
}

/** Returns undefined if there's no such brand. */
function updateBrand(site, id, changes) {
  const brand = findBrand(site, id);
  if (!brand) return undefined;
  const { ID, ...body } = { ...brand, ...changes };
  change.run(JSON.stringify(body), site, id);
  return { ID, ...body };
}

function toBrand({ id, body }) {
  return { ID: id, ...JSON.parse(body) };
}

const readHeaders = {
  "Cache-Control": "no-cache, no-store, must-revalidate",
  Pragma: "no-cache",
  Expires: "-1",
  "Access-Control-Allow-Origin": "*",
};

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
