// OpenAPI, the JSON Schema and the XSD describe batch requests and undo exactly as the server accepts and answers them.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";
import { XmlDocument, XsdValidator } from "libxml2-wasm";
import { publicResources } from "../../src/model/resource.ts";
import { toXsd } from "../../src/reference/xsd.ts";
import { allResources } from "../../src/resources/all.ts";
import { startTestServer } from "../support/http/server.ts";
import { createXmlReader } from "../support/http/xml-reader.ts";

const server = await startTestServer();
afterAll(() => server.stop());

const name = { Name: "x" };
const post = { Method: "POST", Resource: "orderstatuses", Record: name };
const put = { Method: "PUT", Resource: "brands", ID: 1, IfMatch: "*", Record: { AccountNumber: "1" } };
const remove = { Method: "DELETE", Resource: "brands", ID: 1 };

describe("the JSON Schema", () => {
  let ajv: Ajv2020;
  let request: ValidateFunction;
  beforeAll(async () => {
    ajv = new Ajv2020({ strict: false, formats: { uri: true, "uri-reference": true } });
    const response = await server.call("GET", "/schemas/batch.json");
    expect(response.headers.get("Content-Type")).toBe("application/schema+json; charset=utf-8");
    ajv.addSchema(response.json, "batch");
    request = ajv.getSchema("batch") as ValidateFunction;
  });

  test.each<[string, unknown]>([
    ["no operation", []],
    ["an operation of each method", [post, put, { ...put, Method: "PATCH" }, remove]],
    ["an update without an ID, for `match`", [{ Method: "PUT", Resource: "brands", Record: name }]],
  ])("accepts %s", (_, operations) => {
    expect(request({ Operations: operations })).toBe(true);
  });

  test.each<[string, unknown]>([
    ["no list", post],
    ["an operation without a resource", [{ Method: "POST", Record: name }]],
    ["another method", [{ ...post, Method: "GET" }]],
    ["a resource that can only be read", [{ ...post, Resource: "locations" }]],
    ["an ID that is a string", [{ ...remove, ID: "1" }]],
    ["an unknown member", [{ ...remove, Id: 1 }]],
    ["an unknown field", [{ ...post, Record: { Nmae: "x" } }]],
  ])("rejects %s, as the server does", async (_, operations) => {
    const body = { Operations: operations };
    expect(request(body)).toBe(false);
    expect((await server.call("POST", "/restapi/batch.json?dryRun=1", { body })).status).toBe(400);
  });

  test("accepts what the server sends, and nothing else", async () => {
    const results = ajv.getSchema("batch#/$defs/BatchResults") as ValidateFunction;
    const undone = ajv.getSchema("batch#/$defs/Undone") as ValidateFunction;
    const missing = { ...remove, ID: 999 };
    const batch = await server.call("POST", "/restapi/batch.json?atomic=0", { body: { Operations: [post, missing] } });
    expect([batch.status, batch.json.Results.map(({ Status }: { Status: number }) => Status)]).toEqual([
      200,
      [201, 404],
    ]);
    expect(results(batch.json)).toBe(true);
    expect(results({ ...batch.json, Run: undefined })).toBe(false);
    const body = { Run: batch.json.Run };
    const dry = await server.call("POST", "/restapi/undo.json?dryRun=1", { body });
    expect([dry.json.Run, undone(dry.json)]).toEqual([null, true]);
    const real = await server.call("POST", "/restapi/undo.json", { body });
    expect([real.json.Deleted, undone(real.json)]).toEqual([1, true]);
    expect(undone({ ...real.json, Skipped: [{ ID: 1 }] })).toBe(false);
  });

  test("allows an operation number in the errors of a problem", async () => {
    const problem = ajv.getSchema("batch#/$defs/Problem") as ValidateFunction;
    const body = { Operations: [post, { ...post, Record: {} }] };
    const { status, json } = await server.call("POST", "/restapi/batch.json", { body });
    expect([status, json.errors]).toEqual([
      400,
      [{ operation: 2, field: "Name", code: "required", detail: "a value is required" }],
    ]);
    expect(problem(json)).toBe(true);
  });
});

describe("the XSD", () => {
  const validator = XsdValidator.fromDoc(
    XmlDocument.fromString(toXsd(publicResources(allResources)), { url: "memory:/schemas/storefront.xsd" }),
  );
  const isAllowed = (text: string) => {
    const document = XmlDocument.fromString(text);
    try {
      validator.validate(document);
      return true;
    } catch {
      return false;
    } finally {
      document.dispose();
    }
  };
  createXmlReader(allResources);

  test.each<[boolean, string]>([
    [true, "<Batch/>"],
    [
      true,
      '<Batch><Operation Method="POST" Resource="orderstatuses"><OrderStatus><Name>x</Name></OrderStatus></Operation></Batch>',
    ],
    [true, '<Batch><Operation Method="DELETE" Resource="brands" ID="1" IfMatch="*"/></Batch>'],
    [true, '<Undo Run="k3J9aZ0q-18-3"/>'],
    [false, '<Batch><Operation Method="DELETE" Resource="locations" ID="1"/></Batch>'],
    [false, '<Batch><Operation Method="GET" Resource="brands" ID="1"/></Batch>'],
    [false, '<Batch><Operation Method="DELETE" Resource="brands" ID="0"/></Batch>'],
    [false, '<Batch><Operation Method="POST" Resource="brands"><Brand/><Brand/></Operation></Batch>'],
    [false, "<Batch><Operation/></Batch>"],
    [false, "<Undo/>"],
  ])("returns %p for %s", (allowed, text) => {
    expect(isAllowed(text)).toBe(allowed);
  });

  test("allows what the server sends", async () => {
    const body = `<Batch>
      <Operation Method="POST" Resource="orderstatuses"><OrderStatus><Name>x</Name></OrderStatus></Operation>
      <Operation Method="DELETE" Resource="brands" ID="999"/></Batch>`;
    const batch = await server.call("POST", "/restapi/batch.xml?atomic=0", { body });
    expect(batch.status).toBe(200);
    expect(isAllowed(batch.text)).toBe(true);
    const run = /Run="([^"]+)"/.exec(batch.text)?.[1];
    const undone = await server.call("POST", "/restapi/undo.xml", { body: `<Undo Run="${run}"/>` });
    expect([undone.status, isAllowed(undone.text)]).toEqual([200, true]);
    const problem = await server.call("POST", "/restapi/batch.xml", {
      body: '<Batch><Operation Method="POST"/></Batch>',
    });
    expect([problem.status, problem.text]).toEqual([400, expect.stringContaining("<i><operation>1</operation>")]);
  });
});

test("OpenAPI examples: a dry run accepts the batch, and OpenAPI 3.0 has both documents", async () => {
  for (const version of ["3.1", "3.0"]) {
    const { paths } = (await server.call("GET", `/openapi.json?openapi=${version}`)).json;
    for (const [format, type, member] of [
      ["json", "application/json", "examples"],
      ["xml", "application/xml", "x-examples"],
    ] as const) {
      const { creates } = paths[`/restapi/batch.${format}`].post.requestBody.content[type][member];
      const { status, text } = await server.call("POST", `/restapi/batch.${format}?dryRun=1`, { body: creates.value });
      expect([status, text.includes("201")]).toEqual([200, true]);
    }
  }
});
