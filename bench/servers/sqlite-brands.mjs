// The storage of the servers written by hand for Node: brands in SQLite, one commit per write.
// FILE is the database, KEY the valid key, SEED a file with the brands to store first.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import Database from "better-sqlite3";

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

/** Returns the site of the key; undefined for an unknown key. */
export function siteOf(key = "") {
  return keyOf.get(digest(key))?.site;
}

export function listBrands(site) {
  return all.all(site).map(toBrand);
}

/** Returns undefined if the brand does not exist. */
export function findBrand(site, id) {
  const row = one.get(site, id);
  return row && toBrand(row);
}

export function createBrand(site, brand) {
  const { lastInsertRowid } = insert.run(site, JSON.stringify(brand));
  return { ID: Number(lastInsertRowid), ...brand };
}

/** Returns undefined if the brand does not exist. */
export function updateBrand(site, id, changes) {
  const brand = findBrand(site, id);
  if (!brand) return undefined;
  const { ID, ...body } = { ...brand, ...changes };
  change.run(JSON.stringify(body), site, id);
  return { ID, ...body };
}

function toBrand({ id, body }) {
  return { ID: id, ...JSON.parse(body) };
}

export const readHeaders = {
  "Cache-Control": "no-cache, no-store, must-revalidate",
  Pragma: "no-cache",
  Expires: "-1",
  "Access-Control-Allow-Origin": "*",
};
