// Adding a resource takes nothing but its declaration.

import { afterAll, expect, test } from "bun:test";
import { group, matching, text } from "../../src/model/field.ts";
import { defineResource } from "../../src/model/resource.ts";
import { exportRecords } from "../../src/operator/records/export-records.ts";
import { allResources } from "../../src/resources/all.ts";
import { startTestServer } from "../support/http/server.ts";

const supplier = defineResource({
  name: "supplier",
  path: "suppliers",
  element: "Supplier",
  singular: "supplier",
  plural: "suppliers",
  description: "A supplier of goods.",
  access: "written",
  fields: {
    Name: text({ max: 20, required: true, description: "Name.", example: "Smith & Co" }),
    Currency: matching("^(?:[A-Z]{3})?$", "must be a currency code", {
      max: 3,
      description: "Currency.",
      example: "EUR",
    }),
    Bank: group("The bank account.", {
      Account: group("The account.", { Number: text({ max: 34, description: "IBAN.", example: "GB33" }) }),
    }),
  },
});

const server = await startTestServer({ resources: [...allResources, supplier] });
afterAll(() => server.stop());

test("a new resource gets every operation, in JSON and XML", async () => {
  const body = { Name: "Smith & Co", Bank: { Account: { Number: "GB33" } } };
  const created = await server.call("POST", "/restapi/suppliers.json", { body });
  expect([created.status, created.json]).toEqual([
    201,
    { ID: 1, Name: "Smith & Co", Currency: "", Bank: { Account: { Number: "GB33" } } },
  ]);
  const asXml = await server.call("GET", "/restapi/suppliers/1.xml");
  const record =
    '<Supplier ID="1"><Name>Smith &amp; Co</Name><Currency></Currency><Bank><Account><Number>GB33</Number></Account></Bank></Supplier>';
  expect(asXml.text).toBe(`<?xml version="1.0" encoding="utf-8"?>\n${record}`);
  const updated = await server.call("PUT", "/restapi/suppliers.xml", { body: record.replace("GB33", "GB44") });
  expect([updated.status, updated.text.includes("GB44")]).toEqual([200, true]);
  expect(
    (await server.call("GET", "/restapi/suppliers.json?filter[Bank.Account.Number]=GB44&fields=Bank")).json,
  ).toEqual([{ ID: 1, Bank: { Account: { Number: "GB44" } } }]);
  expect((await server.call("DELETE", "/restapi/suppliers/1.json")).status).toBe(200);
  expect((await server.call("GET", "/restapi/suppliers.json")).json).toEqual([]);
});

test("a new resource's records are checked by the same rules", async () => {
  const response = await server.call("POST", "/restapi/suppliers.json", {
    body: { Currency: "euro", Bank: { Acount: {} } },
  });
  expect(response.json.errors).toEqual([
    { field: "Name", code: "required", detail: "a value is required" },
    { field: "Currency", code: "too-long", max: 3, detail: "use 3 characters or fewer, such as EUR (this has 4)" },
    { field: "Bank.Acount", code: "unknown-field", detail: "unknown field; did you mean `Bank.Account`?" },
  ]);
  expect((await server.call("GET", "/restapi/supplier.json")).json.detail).toContain("`/restapi/suppliers.json`");
});

test("a new resource is exported with a column for each field", async () => {
  await server.call("POST", "/restapi/suppliers.json", { body: { Name: "a,b" } });
  const lines = [];
  for await (const piece of exportRecords(server.engine, server.site.ID, supplier, "csv")) lines.push(piece);
  expect(lines.join("")).toBe('ID,Name,Currency,Bank.Account.Number\r\n2,"a,b",,\r\n');
});
