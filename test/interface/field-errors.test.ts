// Field errors have a code with its parameters, in both formats, and doing what they say works. The test client checks every problem against OpenAPI and
// the XSD.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { parseMapping } from "../../src/formats/csv-mapping.ts";
import { type FaultCode, faultCodes, faultParameters, type ProblemError } from "../../src/model/errors.ts";
import { parseHostname } from "../../src/model/hostname.ts";
import { parseRecordChanges } from "../../src/model/record.ts";
import { idGivenError } from "../../src/operator/import/matcher.ts";
import { brand } from "../../src/resources/brand.ts";
import { key } from "../../src/resources/key.ts";
import { location } from "../../src/resources/location.ts";
import { site } from "../../src/resources/site.ts";
import { webhook } from "../../src/resources/webhook.ts";
import { callTool } from "../support/http/mcp.ts";
import { startTestServer, type TestServer } from "../support/http/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  for (const Name of ["One", "Twin", "Twin"]) await server.call("POST", "/restapi/brands.json", { body: { Name } });
});
afterAll(() => server.stop());

/** A request with an error, and the request that its detail asks for. */
interface Correction {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly wrong: string;
  readonly right: string;
}

const inJson = (wrong: string, right: string, more: object = {}): Correction => ({ wrong, right, ...more });
const inXml = (wrong: string, right: string, more: object = {}): Correction => ({
  wrong: `<Brand>${wrong}</Brand>`,
  right: `<Brand>${right}</Brand>`,
  ...more,
});
const put = { method: "PUT", path: "brands/1" };
const byName = { path: "batch", query: "?match=Name" };
const inBatch = (...operations: string[]) => `{"Operations":[${operations.join()}]}`;
const inBatchXml = (...operations: string[]) => `<Batch>${operations.join("")}</Batch>`;
const rename = (name: string) => `{"Method":"PUT","Resource":"brands","Record":{"Name":"${name}"}}`;
const renameXml = (name: string) =>
  `<Operation Method="PUT" Resource="brands"><Brand><Name>${name}</Name></Brand></Operation>`;
const methods = { choices: ["POST", "PUT", "PATCH", "DELETE"] };

type Case = [code: FaultCode, parameters: object, json: Correction | undefined, xml: Correction | undefined];

const cases: Case[] = [
  ["required", {}, inJson("{}", '{"Name":"x"}'), inXml("<Name/>", "<Name>x</Name>")],
  ["unknown-field", {}, inJson('{"Nmae":"x"}', '{"Name":"x"}', put), inXml("<Nmae>x</Nmae>", "<Name>x</Name>", put)],
  [
    "duplicate-field",
    {},
    inJson('{"Name":"x","Name":"y"}', '{"Name":"y"}'),
    inXml("<Name>x</Name><Name>y</Name>", "<Name>y</Name>"),
  ],
  [
    "read-only",
    {},
    inJson('{"ID":7,"Name":"x"}', '{"Name":"x"}'),
    { wrong: '<Brand ID="7"><Name>x</Name></Brand>', right: "<Brand><Name>x</Name></Brand>" },
  ],
  [
    "wrong-type",
    { expected: "string" },
    inJson('{"Name":7}', '{"Name":"7"}'),
    inXml("<Name>a<b/></Name>", "<Name>a&lt;b/></Name>"),
  ],
  [
    "too-long",
    { max: 32 },
    inJson(`{"Address":{"Postcode":"${"1".repeat(33)}"}}`, '{"Address":{"Postcode":"1"}}', put),
    inXml(`<Address><Title>${"x".repeat(33)}</Title></Address>`, "<Address><Title>x</Title></Address>", put),
  ],
  [
    "too-many",
    { max: 1000 },
    inJson(`{"Name":"x","a":[${"1,".repeat(1000)}1]}`, '{"Name":"x"}'),
    inXml("<Name>x</Name>".repeat(1001), "<Name>x</Name>"),
  ],
  [
    "invalid-id",
    {},
    inJson('{"ID":"1","AccountNumber":"x"}', '{"ID":1,"AccountNumber":"x"}', { method: "PUT" }),
    {
      method: "PUT",
      wrong: '<Brand ID="01"><AccountNumber>x</AccountNumber></Brand>',
      right: '<Brand ID="1"><AccountNumber>x</AccountNumber></Brand>',
    },
  ],
  [
    "invalid-choice",
    methods,
    inJson(inBatch(rename("One").replace("PUT", "PTU")), inBatch(rename("One")), byName),
    { ...byName, wrong: inBatchXml(renameXml("One").replace("PUT", "PTU")), right: inBatchXml(renameXml("One")) },
  ],
  [
    "invalid-country",
    { suggestion: "GB" },
    inJson('{"Address":{"Country":"Britain"}}', '{"Address":{"Country":"GB"}}', put),
    inXml("<Address><Country>Großbritannien</Country></Address>", "<Address><Country>GB</Country></Address>", put),
  ],
  ["invalid-character", {}, inJson('{"Name":"a\\u0007b"}', '{"Name":"ab"}'), undefined],
  ["stray-text", {}, undefined, inXml("x<Name>a</Name>", "<Name>a</Name>")],
  ["syntax", {}, inJson('{"Name":"x",}', '{"Name":"x"}'), inXml("<Name>A & B</Name>", "<Name>A &amp; B</Name>")],
  [
    "several-matches",
    { count: 2 },
    inJson(inBatch(rename("Twin")), inBatch(rename("Twin").replace("{", '{"ID":2,')), byName),
    {
      ...byName,
      wrong: inBatchXml(renameXml("Twin")),
      right: inBatchXml(renameXml("Twin").replace(" ", ' ID="2" ')),
    },
  ],
  [
    "duplicate-value",
    {},
    inJson(inBatch(rename("One"), rename("One")), inBatch(rename("One")), byName),
    { ...byName, wrong: inBatchXml(renameXml("One"), renameXml("One")), right: inBatchXml(renameXml("One")) },
  ],
  [
    "invalid",
    {},
    undefined,
    inXml('<Name>x</Name><AccountNumber xsi:nil="true"/>', "<Name>x</Name><AccountNumber></AccountNumber>"),
  ],
];

for (const format of ["json", "xml"] as const)
  test.each(
    cases.filter((one) => one[format === "json" ? 2 : 3]),
  )(`${format}: %s`, async (code, parameters, ...both) => {
    const {
      method = "POST",
      path = "brands",
      query = "",
      wrong,
      right,
    } = both[format === "json" ? 0 : 1] as Correction;
    const send = (body: string) => server.call(method, `/restapi/${path}.${format}${query}`, { body });
    const response = await send(wrong);
    expect(response.status).toBe(400);
    if (format === "json") {
      const error = response.json.errors.find((one: { code: string }) => one.code === code);
      expect(error).toMatchObject({ code, ...parameters });
      expect(faultParameters.filter((name) => name in error)).toEqual([...faultCodes[code].parameters]);
    } else {
      const values = Object.entries(parameters).map(([name, value]) => {
        const items = Array.isArray(value) ? value.map((item) => `<i>${item}</i>`).join("") : value;
        return `<${name}>${items}</${name}>`;
      });
      expect(response.text).toContain(`<code>${code}</code>${values.join("")}</i>`);
    }
    expect((await send(right)).status).toBeLessThan(300);
  });

const elsewhere: [FaultCode, object, () => unknown][] = [
  ["invalid-email", {}, () => parseRecordChanges(location, { Email: "x" })],
  ["invalid-time", {}, () => parseRecordChanges(key, { Expires: "x" })],
  ["bad-pattern", { pattern: "^https?://[!-~]+$" }, () => parseRecordChanges(webhook, { URL: "x" })],
  ["invalid-choice", { choices: ["yes"] }, () => parseRecordChanges(site, { Default: "x" })],
  ["invalid-hostname", {}, () => parseHostname("a b")],
  ["invalid", {}, () => parseMapping(brand, '{"fields": {"Name": {}}}')],
];
test.each(elsewhere)("for operators: %s", (code, parameters, parse) => {
  let problem: unknown;
  try {
    parse();
  } catch (error) {
    problem = error;
  }
  expect((problem as ProblemError).fieldErrors).toEqual([
    { field: expect.any(String), code, ...parameters, detail: expect.stringMatching(/./) },
  ]);
});

test("an ID that was given during an import is taken", () => {
  expect(idGivenError(7)).toMatchObject({ field: "", code: "taken", detail: expect.stringContaining("the ID 7") });
});

test("a number for an agent's tool is out of range", async () => {
  const { data } = await callTool(server, "list", { resource: "brands", limit: 201 });
  expect(data.errors).toEqual([
    { field: "limit", code: "out-of-range", min: 1, max: 200, detail: "use a whole number from 1 to 200" },
  ]);
});

test("an operation that fails as a whole has the code of its problem", async () => {
  const body = { Operations: [{ Method: "DELETE", Resource: "brands", ID: 999 }] };
  const { json } = await server.call("POST", "/restapi/batch.json", { body });
  expect(json.errors).toMatchObject([{ operation: 1, field: "", code: "not-found" }]);
});

test("every code is in a case", () => {
  const tested = new Set([...cases, ...elsewhere].map(([code]) => code));
  expect(Object.keys(faultCodes).filter((code) => !tested.has(code as FaultCode))).toEqual(["out-of-range", "taken"]);
});
