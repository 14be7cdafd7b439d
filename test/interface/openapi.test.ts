// The OpenAPI document and the schemas. Any response in a test that they don't allow fails that test, as checked below.

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import { committedDocuments } from "../../scripts/build/committed.ts";
import { publicResources, type Resource } from "../../src/model/resource.ts";
import type { Schema } from "../../src/reference/json-schema.ts";
import { toOpenapi } from "../../src/reference/openapi/document.ts";
import { allResources } from "../../src/resources/all.ts";
import { createConformance } from "../support/http/conformance.ts";
import { startTestServer } from "../support/http/server.ts";
import { createXmlReader } from "../support/http/xml-reader.ts";

const served = publicResources(allResources);
const server = await startTestServer();
afterAll(() => server.stop());

describe("the OpenAPI document", () => {
  test("has every operation in both formats", async () => {
    const { paths } = (await server.call("GET", "/openapi.json")).json;
    const methods = (path: string) => Object.keys(paths[path]).join(" ");
    for (const ext of ["json", "xml"]) {
      for (const { path, access } of served) {
        const expected = access === "read" ? "get head options" : "get head post put patch delete options";
        expect(methods(`/restapi/${path}.${ext}`)).toBe(expected);
        expect(methods(`/restapi/${path}/{id}.${ext}`)).toBe(expected);
      }
    }
    for (const ext of ["json", "xml"]) {
      for (const path of ["changes", "key"]) expect(methods(`/restapi/${path}.${ext}`)).toBe("get head options");
      for (const path of ["batch", "undo"]) expect(methods(`/restapi/${path}.${ext}`)).toBe("post options");
    }
    expect(Object.keys(paths)).toHaveLength(served.length * 4 + 2 + 4 + 2 + 2 * 8);
  });

  test("is the same in YAML", async () => {
    const yaml = await server.call("GET", "/openapi.yaml");
    expect(yaml.headers.get("Content-Type")).toBe("application/yaml; charset=utf-8");
    expect(Bun.YAML.parse(yaml.text)).toEqual((await server.call("GET", "/openapi.json")).json);
  });

  test("has an example for every body, and the XSD allows the XML ones", () => {
    const read = createXmlReader(allResources);
    const contents = contentsIn(toOpenapi(served));
    expect(contents.length).toBeGreaterThan(50);
    for (const [type, content] of contents) {
      const prefix = type.endsWith("xml") ? "x-" : "";
      const examples = content[`${prefix}examples`];
      const all = examples ? Object.values(examples).map(({ value }) => value) : [content[`${prefix}example`]];
      for (const one of all) {
        expect(typeof one).toBe(type.endsWith("xml") ? "string" : "object");
        // The reader requires the ID and every field, but request bodies may omit some.
        if (type.endsWith("xml") && !type.startsWith("request")) read(one as string);
      }
    }
  });

  test("describes a list as an array of whole records, which every generator supports", () => {
    const { paths } = toOpenapi(served) as {
      paths: Record<string, { get: { responses: Record<string, Schema> } }>;
    };
    const others = /\{id\}|\/(?:changes|batch|undo|key|webhooks)\./;
    const lists = Object.entries(paths).filter(([path]) => !others.test(path));
    expect(lists).toHaveLength(2 * served.length);
    for (const [path, { get }] of lists) {
      const [content] = Object.values(get.responses[200]?.content as Record<string, { schema: Schema }>);
      const resource = served.find((one) => path.startsWith(`/restapi/${one.path}.`));
      expect(content?.schema).toMatchObject({
        type: "array",
        items: { $ref: `#/components/schemas/${resource?.element}` },
      });
      expect(content?.schema).not.toHaveProperty("anyOf");
      expect(get.responses[200]?.description).toContain("`fields`");
    }
  });

  test("and all other generated files are committed as generated", async () => {
    for (const [path, text] of await committedDocuments()) {
      const stale = readFileSync(join(import.meta.dir, "..", "..", path), "utf8") !== text;
      expect(stale ? `${path} is stale: run \`npm run openapi\`` : "").toBe("");
    }
  });
});

describe("checking a response against OpenAPI", () => {
  const conformance = createConformance(allResources);
  const request = { method: "GET", path: "/restapi/orderstatuses/1.json" };
  const record = { ID: 1, Name: "Dispatched" };
  const headers = {
    "Cache-Control": "no-cache, no-store, must-revalidate",
    Pragma: "no-cache",
    Expires: "-1",
    "Access-Control-Allow-Origin": "*",
    "X-Content-Type-Options": "nosniff",
    "X-Request-Id": "x1",
    "Content-Type": "application/json; charset=utf-8",
    ETag: '"a.1.json"',
  };
  const check = (change: { status?: number; headers?: Record<string, string>; body?: unknown }, to = request) =>
    conformance.check(to, {
      status: change.status ?? 200,
      headers: new Headers({ ...headers, ...change.headers }),
      text: typeof change.body === "string" ? change.body : JSON.stringify(change.body ?? record),
    });

  test("passes if the document allows it", () => check({}));

  const faults: [string, Parameters<typeof check>[0]][] = [
    ["another status", { status: 202 }],
    ["an unknown header", { headers: { "X-Other": "1" } }],
    ["a header with another value", { headers: { Pragma: "cache" } }],
    ["another content type", { headers: { "Content-Type": "text/plain" } }],
    ["a field of the wrong type", { body: { ...record, ID: "1" } }],
    ["a missing field", { body: { ID: 1 } }],
    ["an extra field", { body: { ...record, Colour: "red" } }],
  ];
  for (const [what, change] of faults) {
    test(`fails with ${what}`, () => expect(check(change)).rejects.toThrow("is not as the OpenAPI document says"));
  }

  const part = { path: "/restapi/brands.json?fields=Name,Address.Town", method: "GET" };
  const parts: [string, unknown, string | undefined][] = [
    ["just those fields", { ID: 1, Name: "x", Address: { Town: "y" } }, undefined],
    ["too few fields in a group", { ID: 1, Name: "x", Address: {} }, "Town"],
    ["a missing group", { ID: 1, Name: "x" }, "Address"],
    ["no ID", { Name: "x", Address: { Town: "y" } }, "ID"],
    ["too many fields", { ID: 1, Name: "x", AccountNumber: "1", Address: { Town: "y" } }, "additional"],
    ["too many fields in a group", { ID: 1, Name: "x", Address: { Town: "y", County: "z" } }, "additional"],
  ];
  test.each(parts)("of a list with `fields` that contains %s", async (_, body, says) => {
    const checked = check({ headers: { "X-Total-Count": "1" }, body: [body] }, part);
    if (says === undefined) await checked;
    else await expect(checked).rejects.toThrow(says);
  });

  describe("checking a webhook event against OpenAPI", () => {
    const headers = {
      "webhook-id": "evt_1_a_1_1_b",
      "webhook-timestamp": "1763756100",
      "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
      "content-type": "application/json",
    };
    const event = {
      type: "storefront.gone",
      timestamp: "2026-11-21T20:15:00.124Z",
      data: { Site: "shop", Since: "a.1", Next: "a.2" },
    };
    const checkEvent = (changed: object = {}, changedHeaders: Record<string, string> = {}) =>
      conformance.checkEvent({
        headers: { ...headers, ...changedHeaders },
        body: JSON.stringify({ ...event, ...changed }),
      });

    test("passes if the document allows it", () => checkEvent());

    const eventFaults: [string, Parameters<typeof checkEvent>][] = [
      ["another type", [{ type: "storefront.other" }]],
      ["a missing member", [{ timestamp: undefined }]],
      ["a missing member of `data`", [{ data: { Site: "shop", Next: "a.2" } }]],
      ["an extra member of `data`", [{ data: { ...event.data, Changes: [] } }]],
      ["another signature", [{}, { "webhook-signature": "v2,x" }]],
      ["another time", [{}, { "webhook-timestamp": "now" }]],
      ["another content type", [{}, { "content-type": "text/plain" }]],
    ];
    test.each(eventFaults)("fails with %s", (_, changes) =>
      expect(() => checkEvent(...changes)).toThrow("is not as the OpenAPI document says"));
  });

  const xml = { "Content-Type": "application/xml; charset=utf-8" };
  const declaration = '<?xml version="1.0" encoding="utf-8"?>\n';
  const bodies: [string, string, string][] = [
    ["another root", "<Status ID='1'><Name>x</Name></Status>", "No matching global declaration"],
    ["a repeated element", "<OrderStatus ID='1'><Name>x</Name><Name>x</Name></OrderStatus>", "not expected"],
    ["an invalid ID", "<OrderStatus ID='0'><Name>x</Name></OrderStatus>", "minInclusive"],
    ["a missing field", "<OrderStatus ID='1'/>", "Name"],
  ];
  for (const [what, body, says] of bodies) {
    test(`fails with ${what} in XML`, async () => {
      const change = { headers: xml, body: declaration + body };
      const checked = check(change, { method: "GET", path: "/restapi/orderstatuses/1.xml" });
      await expect(checked).rejects.toThrow(says);
    });
  }
});

describe("JSON Schema", () => {
  for (const resource of served) {
    test(`of ${resource.plural} is served, accepts the example, and rejects it without any one of its fields`, async () => {
      const response = await server.call("GET", `/schemas/${resource.name}.json`);
      expect(response.headers.get("Content-Type")).toBe("application/schema+json; charset=utf-8");
      const validate = new Ajv2020({ strictTypes: false }).compile(response.json);
      const example = exampleOf(resource);
      expect(validate(example)).toBe(true);
      for (const name of Object.keys(example)) expect(validate({ ...example, [name]: undefined })).toBe(false);
      expect(validate({ ...example, Name: "x".repeat(256) })).toBe(false);
    });
  }
});

test("JSON Schema of the feed accepts a page and nothing else", async () => {
  await server.call("POST", "/restapi/orderstatuses.json", { body: { Name: "Sent" } });
  const validate = new Ajv2020({ strict: false, formats: { "date-time": true } }).compile(
    (await server.call("GET", "/schemas/changes.json")).json,
  );
  const page = (await server.call("GET", "/restapi/changes.json")).json;
  expect(validate(page)).toBe(true);
  const [change] = page.Changes;
  const wrongs = [{ Resource: "brands" }, { Resource: "keys" }, { Record: {} }, { Operation: "put" }, { ID: 0 }];
  const wrongVersions = [
    { Revision: 0 },
    { Revision: "1" },
    { Revision: 2 ** 53 },
    { Revision: undefined },
    { ETag: 1 },
  ];
  for (const wrong of [...wrongs, ...wrongVersions])
    expect([wrong, validate({ ...page, Changes: [{ ...change, ...wrong }] })]).toEqual([wrong, false]);
  expect(validate({ ...page, Next: undefined })).toBe(false);
});

describe("XSD", () => {
  test("allows a page of the feed and nothing else", () => {
    const read = createXmlReader(allResources);
    const page = (change: string) =>
      `<?xml version="1.0" encoding="utf-8"?>\n<Changes Next="a.1" More="false">${change}</Changes>`;
    const start = '<Change Cursor="a.1" Revision="1" Time="2026-11-21T20:15:00.123Z" Operation';
    const rest = 'ID="1"';
    expect(read(page(`${start}="delete" Resource="brands" ${rest}/>`))).toMatchObject({
      Changes: [{ Revision: 1, ETag: null, Record: null }],
    });
    for (const wrong of [
      `${start}="put" Resource="brands" ${rest}/>`,
      `${start}="delete" Resource="keys" ${rest}/>`,
      `${start}="delete" Resource="brands"/>`,
      `${start}="delete" Resource="brands" ${rest}/>`.replace(' Revision="1"', ""),
      `${start}="delete" Resource="brands" ${rest}/>`.replace('"1"', '"0"'),
      '<Brand ID="1"><Name>x</Name></Brand>',
    ])
      expect(() => read(page(wrong))).toThrow();
  });

  test("is served with the one it imports, and allows a list only if every record has its own ID", async () => {
    const type = "application/xml; charset=utf-8";
    expect((await server.call("GET", "/schemas/storefront.xsd")).headers.get("Content-Type")).toBe(type);
    expect((await server.call("GET", "/schemas/problem.xsd")).headers.get("Content-Type")).toBe(type);
    const read = createXmlReader(allResources);
    const list = (...ids: string[]) =>
      `<?xml version="1.0" encoding="utf-8"?>\n<Results>${ids.map((id) => `<Brand ${id}><Name>x</Name></Brand>`).join("")}</Results>`;
    expect(read(list('ID="1"', 'ID="2"'))).toHaveLength(2);
    expect(() => read(list('ID="1"', 'ID="1"'))).toThrow("key");
    expect(() => read(list(""))).toThrow("key");
  });

  test("has an anonymous type for each document, which generators such as JAXB's turn into a root element", async () => {
    const { text: schema } = await server.call("GET", "/schemas/storefront.xsd");
    expect(schema.match(/^ {2}<xs:complexType|^ {2}<xs:element[^>]* type=.*/gm)).toBeNull();
    expect(schema.match(/^ {2}<xs:element name="\w+">\n {4}<xs:complexType>/gm)?.length).toBeGreaterThan(7);
  });
});

function exampleOf(resource: Resource): Record<string, unknown> {
  const { paths } = toOpenapi(served) as {
    paths: Record<string, { get: { responses: Record<string, Schema> } }>;
  };
  const ok = paths[`/restapi/${resource.path}/{id}.json`]?.get.responses[200];
  return (ok?.content as Record<string, { example: Record<string, unknown> }>)["application/json"]?.example ?? {};
}

type Examples = Readonly<Record<string, { readonly value: unknown }>>;
interface Content {
  readonly example?: unknown;
  readonly examples?: Examples;
  readonly "x-example"?: unknown;
  readonly "x-examples"?: Examples;
}

/** Every body in the document with its media type, prefixed with `request ` for request bodies. */
function contentsIn(value: unknown, place = ""): [string, Content][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]): [string, Content][] => {
    if (name !== "content") return contentsIn(inner, name === "requestBody" ? "request " : place);
    return Object.entries(inner as Record<string, Content>).map(([type, content]) => [place + type, content]);
  });
}
