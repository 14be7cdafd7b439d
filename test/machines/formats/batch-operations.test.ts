// A batch's operations (src/formats/batch-operation.ts): each record is decoded like a body with one record, errors have their position and the operation's
// number, and no step takes long.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ReadOperation, SentOperation } from "../../../src/formats/batch-operation.ts";
import { type Decoded, type Format, formats } from "../../../src/formats/format.ts";
import { json } from "../../../src/formats/json.ts";
import { xml } from "../../../src/formats/xml.ts";
import { type FieldError, maxFieldErrors, ProblemError } from "../../../src/model/errors.ts";
import { text } from "../../../src/model/field.ts";
import { parseNewRecord, parseRecordChanges } from "../../../src/model/record.ts";
import { defineResource, publicResources } from "../../../src/model/resource.ts";
import { allResources } from "../../../src/resources/all.ts";
import { brand } from "../../../src/resources/brand.ts";
import { retainedBytes } from "../../support/memory.ts";

const resources = publicResources(allResources);
const readOnly = resources.find(({ access }) => access === "read");

function readAll(format: Format, body: string | Uint8Array): ReadOperation[] {
  return [...format.batch.operations(Buffer.from(body), resources)].filter((sent) => sent !== undefined);
}

function operationsIn(format: Format, body: string | Uint8Array): SentOperation[] {
  return readAll(format, body).filter((sent) => "record" in sent);
}

/** Returns the faults of the operation with a number: those of its envelope, or the error that ends the body there. */
function faultsOf(format: Format, body: string, number: number): readonly FieldError[] {
  try {
    const read = readAll(format, body).find((one) => one.number === number);
    return read && "faults" in read ? read.faults : [];
  } catch (error) {
    if (error instanceof ProblemError) return error.fieldErrors.filter(({ operation }) => operation === number);
    throw error;
  }
}

/** Returns the error of a body. */
function errorOf(format: Format, body: string | Uint8Array): ProblemError {
  try {
    operationsIn(format, body);
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
  throw new Error("the body is accepted");
}

/** Returns what `decode` returns, or its error: in a form that can be compared. */
function told(decode: () => Decoded | undefined): string {
  try {
    const { input, fieldErrors } = decode() as Decoded;
    return JSON.stringify({ input, fieldErrors: fieldErrors.slice(0, maxFieldErrors) });
  } catch (error) {
    if (error instanceof ProblemError) return withoutPosition(error.message);
    throw error;
  }
}

function withoutPosition(message: string): string {
  return message.replace(/line \d+, column \d+/, "line, column");
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

const space = fc.constantFrom("", "", " ", "\n", "\r\n\t");

/** Records as clients send them: many valid, others with unknown, repeated or nested members. */
const recordTexts = fc.oneof(
  fc.constantFrom(
    "{}",
    "null",
    "[]",
    '"x"',
    '{"Name":"a","Name":"b"}',
    '{"Name":"a","\\u004eame":"b"}',
    `{"Name":${"[".repeat(8)}${"]".repeat(8)}}`,
    `{"Name":${"[".repeat(9)}${"]".repeat(9)}}`,
    `{"Name":[${"1,".repeat(1100)}1]}`,
    '{"Name":"\\ud800"}',
    '{"Name":"\\u0000"}',
    '{"Name":"a}]\\"{"}',
    '{"Name":NaN}',
    '{"Name":"a"',
    '{"Name":"a",}',
    "{\"Name\":'a'}",
    '{"Name":"a\tb"}',
    `{"Name":"${"é".repeat(20_000)}"}`,
  ),
  fc
    .record(
      { ID: fc.nat(), Name: fc.string({ unit: "binary" }), AccountNumber: fc.string(), Address: fc.jsonValue() },
      { requiredKeys: [] },
    )
    .chain((record) => fc.constantFrom(0, 2, "\t").map((indent) => JSON.stringify(record, null, indent))),
);

describe("JSON", () => {
  test("records: decoded like single bodies, whatever the members' order and white space", () => {
    const operation = fc.tuple(recordTexts, fc.constantFrom("POST", "PUT"), space, fc.nat(2));
    const property = fc.property(fc.array(operation, { minLength: 1, maxLength: 4 }), (list) => {
      const texts = list.map(([record, method, between, first]) => {
        const members = [`"Method":"${method}"`, `"Resource"${between}:"brands"`, `"Record":${between}${record}`];
        const turned = [...members.slice(first), ...members.slice(0, first)];
        return `{${turned.join(`${between},${between}`)}${between}}`;
      });
      const wanted = list.map(([record]) => told(() => json.decode(brand, Buffer.from(record))));
      const wrong = wanted.findIndex((one) => !one.startsWith("{"));
      const body = `{"Operations":[${texts.join(",")}]}`;
      if (wrong === -1) expect(operationsIn(json, body).map(({ record }) => told(() => record))).toEqual(wanted);
      else expect(errorOf(json, body).fieldErrors[0]?.operation).toBe(wrong + 1);
    });
    fc.assert(property, { numRuns: 1000 });
  });

  test("canonical record: valid, and stored like a validated one", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "é", '"'), maxLength: 3 });
    const some = { requiredKeys: [] };
    const address = fc.record({ Title: text, Town: text, Country: fc.constantFrom("", "GB", "GBR", "1") }, some);
    const record = fc.record(
      {
        ID: fc.integer({ min: 1 }),
        Name: text,
        AccountNumber: text,
        Telephone: fc.record({ Evening: text }, some),
        Address: address,
      },
      some,
    );
    const elementsOf = (values: object): string =>
      Object.entries(values)
        .map(([name, value]) => `<${name}>${typeof value === "object" ? elementsOf(value) : value}</${name}>`)
        .join("");
    const toXml = ({ ID, ...others }: { ID?: number }) =>
      `<Brand${ID === undefined ? "" : ` ID="${ID}"`}>${elementsOf(others)}</Brand>`;
    const counts = { compact: 0, indented: 0, xml: 0 };
    const forms = fc.constantFrom<keyof typeof counts>("compact", "indented", "xml");
    const property = fc.property(record, fc.constantFrom("POST", "PUT"), forms, (values, Method, form) => {
      const operation = { Method, Resource: "brands", Record: values };
      const body = JSON.stringify({ Operations: [operation] }, undefined, form === "indented" ? 1 : 0);
      const element = `<Operation Method="${Method}" Resource="brands">${toXml(values)}</Operation>`;
      const [sent] = form === "xml" ? operationsIn(xml, `<Batch>${element}</Batch>`) : operationsIn(json, body);
      if (!sent?.canonical) return;
      counts[form]++;
      const { input } = sent.record as Decoded;
      const validated = Method === "POST" ? { values: parseNewRecord(brand, input) } : parseRecordChanges(brand, input);
      expect(sent.canonical).toEqual({ id: values.ID, valuesJson: JSON.stringify(validated.values) });
    });
    fc.assert(property, { numRuns: 2000 });
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(30);
  });

  test("canonical new record: only with all required fields, including in groups", () => {
    const required = text({ max: 9, required: true, description: "", example: "" });
    const group = {
      kind: "group" as const,
      description: "",
      fields: { Inner: required, Other: { ...required, required: false } },
    };
    const fields = { Name: required, Group: group };
    const resource = defineResource({ ...brand, name: "thing", path: "things", element: "Thing", fields });
    const canonicalOf = (record: string) => {
      const body = `{"Operations":[{"Method":"POST","Resource":"things","Record":${record}}]}`;
      const [sent] = [...json.batch.operations(Buffer.from(body), [resource])] as SentOperation[];
      return sent?.canonical?.valuesJson;
    };
    expect(canonicalOf('{"Name":"a","Group":{"Inner":"b"}}')).toBe('{"Name":"a","Group":{"Inner":"b","Other":""}}');
    for (const record of ["{}", '{"Name":"a"}', '{"Name":"a","Group":{}}', '{"Name":"a","Group":{"Other":"c"}}'])
      expect([record, canonicalOf(record)]).toEqual([record, undefined]);
  });

  test.each<[string, maxBytes: number, Format, (n: number) => string]>([
    ["unknown names", 20e6, json, (n) => `{${numbers(50).map((i) => `"u${n}x${i}":""`)}}`],
    ["values of another type", 20e6, json, () => `{"Name":[${"{},".repeat(500)}{}]}`],
    ["elements in a text", 10e6, xml, () => `<Brand><Name>${"x<a/>".repeat(100)}</Name></Brand>`],
  ])("records with %s don't keep their values in memory", async (_, maxBytes, format, recordOf) => {
    const texts = numbers(4000).map(recordOf);
    const body =
      format === json
        ? `{"Operations":[${texts.map((text) => `{"Method":"POST","Resource":"brands","Record":${text}}`)}]}`
        : `<Batch>${texts.map((text) => `<Operation Method="POST" Resource="brands">${text}</Operation>`).join("")}</Batch>`;
    const bytes = Buffer.from(body);
    const before = await retainedBytes();
    const operations = readAll(format, bytes);
    const kept = (await retainedBytes()) - before;
    expect(operations).toHaveLength(4000);
    // About the text of the body. The values would take 34 MB, 128 MB and 18 MB.
    expect(kept).toBeLessThan(maxBytes);
  });

  test("members: all read", () => {
    const body = `\ufeff { "Operations" : [
      {"Method":"POST","Resource":"brands","Record":{"Name":"A"}},
      {"Record":{"ID":3}, "IfMatch":"\\"a\\", *", "ID":12,"Resource":"brands","\\u004dethod":"PATCH"},
      {"Method":"DELETE","Resource":"orderstatuses","ID":9007199254740991} ] } `;
    const [create, update, remove] = operationsIn(json, body) as [SentOperation, SentOperation, SentOperation];
    expect(create).toMatchObject({ method: "create", resource: brand, id: undefined, ifMatch: undefined });
    expect(update).toMatchObject({ method: "update", resource: brand, id: 12, ifMatch: '"a", *' });
    expect(update.record?.input).toEqual({ ID: 3 });
    expect(remove).toMatchObject({ method: "delete", id: Number.MAX_SAFE_INTEGER, record: undefined });
    expect(remove.resource.path).toBe("orderstatuses");
  });

  const list = (...operations: string[]) => `{"Operations":[${operations.join(",")}]}`;
  const form = 'the body must be `{"Operations": [...]}`';
  const good = '{"Method":"DELETE","Resource":"brands","ID":1}';

  test.each<[string, string]>([
    ["", 'the body is empty; send `{"Operations": [...]}`'],
    [" \n", 'the body is empty; send `{"Operations": [...]}`'],
    ["{}", form],
    [`[${good}]`, form],
    ['{"Operations":null}', form],
    ['{"Operations":"[{}]"}', "`Operations`: send an array, not a string; remove the quotes around it"],
    ["<Batch/>", `${form}; send XML to \`batch.xml\``],
    ['{"operations":[]}', `${form}: \`operations\`: unknown field; did you mean \`Operations\`?`],
    ['{"DryRun":1,"Operations":[]}', `${form}: \`DryRun\`: unknown field`],
    ['{"Operations":[],"Operations":[]}', `${form}: \`Operations\`: send it only once`],
    [`{"${"x".repeat(100_000)}":1}`, `${form}: \`${"x".repeat(100)}\`: unknown field`],
    ["?", "the body isn't valid JSON: line 1, column 1: expected a value, not `?`"],
    [
      "{Operations:[]}",
      'line 1, column 2: expected a name in double quotes, not `O`; names need double quotes: write `"Operations"`',
    ],
    ['{"Operations', "line 1, column 2: unterminated string"],
    ['{"Oper\\ations":[]}', "line 1, column 7: `\\a` isn't a JSON escape"],
    ['{"Operations" []}', "line 1, column 15: expected `:` after the name, not `[`"],
    ['{"Operations":[]', "line 1, column 17: expected `,` or `}`, not the end of the text"],
    ['{"Operations":[]}\n}', "line 2, column 1: `}` follows the end of the value"],
    [`{"Operations":[${good} ${good}]}`, "line 1, column 63: expected `,` or `]`, not `{`"],
    [`{"Operations":[${good}`, "expected `,` or `]`, not the end of the text"],
    ['{"Operations":[', "expected a value, not the end of the text"],
    [`{"Operations":[${good},`, "expected a value, not the end of the text"],
  ])("%j is rejected", (body, message) => {
    const error = errorOf(json, body);
    expect([error.code, error.message]).toEqual(["bad-request", expect.stringContaining(message)]);
  });

  test.each<[string, string, string]>([
    ["1", "", "send an object, not a number"],
    ["[]", "", "send an object, not an empty array; send `{}`"],
    ["", "", "expected a value, not `]`; remove the comma before it"],
    ["{}", "Method", "a value is required: POST, PUT, PATCH or DELETE"],
    [
      '{"Method":"put","Resource":"brands"}',
      "Method",
      "use POST, PUT, PATCH or DELETE, not `put`; did you mean `PUT`?",
    ],
    ['{"Method":"GET","Resource":"brands"}', "Method", "use POST, PUT, PATCH or DELETE, not `GET`"],
    ['{"Method":1,"Resource":"brands"}', "Method", "send a string, not a number"],
    ['{"Method":"POST"}', "Resource", "a value is required: brands or orderstatuses"],
    [
      '{"Method":"POST","Resource":"brand"}',
      "Resource",
      "use brands or orderstatuses, not `brand`; did you mean `brands`?",
    ],
    ['{"Method":"POST","Resource":"sites"}', "Resource", "use brands or orderstatuses, not `sites`"],
    [`{"Method":"POST","Resource":"${readOnly?.path}"}`, "Resource", `${readOnly?.plural} can only be read`],
    ['{"Method":"PUT","Resource":"brands","ID":"1"}', "ID", 'use a whole number, 1 or more, not "1"'],
    ['{"Method":"PUT","Resource":"brands","ID":0}', "ID", "use a whole number, 1 or more, not 0"],
    ['{"Method":"PUT","Resource":"brands","ID":1.5}', "ID", "use a whole number, 1 or more, not 1.5"],
    ['{"Method":"PUT","Resource":"brands","ID":null}', "ID", "use a whole number, 1 or more, not null"],
    ['{"Method":"PUT","Resource":"brands","IfMatch":["*"]}', "IfMatch", "send a string, not an array"],
    ['{"Method":"PUT","Resource":"brands","record":{}}', "record", "unknown field; did you mean `Record`?"],
    [
      '{"Method":"POST","Resource":"brands","Body":{}}',
      "Body",
      "unknown field; use Method, Resource, ID, IfMatch or Record",
    ],
    ['{"Method":"PUT","Resource":"brands","Method":"PUT"}', "Method", "send it only once"],
    ['{"Method":"PUT","Resource":"brands","Record":{},"Record":{}}', "Record", "send it only once"],
    [
      '{"Method":"PUT","Resource":"brands","ID":NaN}',
      "",
      "expected a value, not `N`; `NaN` isn't JSON; leave the field out",
    ],
    ['{"Method":"PUT","Resource":"brands","ID":01}', "", "expected `,` or `}`, not `1`"],
    ['{"Method":"PUT" "Resource":"brands"}', "", 'expected `,` or `}`, not `"`'],
    ['{"Method" "PUT"}', "", 'expected `:` after the name, not `"`'],
    ['{"Method":}', "", "expected a value, not `}`; the value is missing"],
    ["{'Method':1}", "", "expected a name in double quotes, not `'`; JSON takes double quotes only"],
    ['{"Method":"PUT","Resource":"brands","Record":{"Name":"a"]}', "", "expected `,` or `}`, not `]`"],
    ['{"Method":"PUT","Resource":"brands","Record":{"Name":"a"}', "", "expected `,` or `}`, not `]`"],
    ['{"Method":"PUT","Resource":"brands","Record":{"Name":"a}', "", "unterminated string"],
    ['{"Method":"PUT","Resource":"bra\nnds"}', "", "a string must not contain U+000A (line feed) as it is"],
  ])("the second operation %j is rejected", (operation, field, detail) => {
    const [fault] = faultsOf(json, list(good, operation), 2);
    expect(fault).toMatchObject({ field, detail: expect.stringContaining(detail) });
  });

  test("invalid operation: all errors found, up to 20 unknown members, and later ones are read", () => {
    const several = '{"method":"POST","Resource":"x","ID":"a","IfMatch":1,"Record":[1]}';
    const many = `{${Array.from({ length: 1000 }, (_, index) => `"m${index}":1`).join(",")}}`;
    const body = list(several, "[1, 2]", many, good, '{"Method":"POST","Resource":"brands","Record":3,"x":{}}');
    const read = readAll(json, body);
    expect(read.map((one) => ("faults" in one ? one.faults.map(({ field }) => field) : one.id))).toEqual([
      ["method", "Method", "Resource", "ID", "IfMatch", "Record"],
      [""],
      Array.from({ length: 20 }, (_, index) => `m${index}`),
      1,
      ["x", "Record"],
    ]);
    expect(read.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
  });

  test("error position: line and column in the whole body", () => {
    const body = `${list(good, `\r\n${good}`, '\r  {"Method":"POST","Resource":"brands","Record":{"Name":"😀é"x}}')}`;
    const [fault] = errorOf(json, body).fieldErrors as [FieldError];
    expect(fault).toMatchObject({
      operation: 3,
      line: 3,
      column: 3 + '{"Method":"POST","Resource":"brands",'.length + 21,
    });
  });

  test("rejected: an operation too long, one too many, or bytes that aren't UTF-8", () => {
    const long = errorOf(json, list(good, `{"Record":{"Name":"${"x".repeat(1 << 20)}"}}`, good));
    expect([long.code, long.message]).toEqual([
      "too-large",
      "operation 2 is longer than 1048576 bytes; its end may be missing",
    ]);
    expect(long.fieldErrors[0]?.operation).toBe(2);
    const fitting = `{"Method":"POST","Resource":"brands","Record":{"Name":"${"x".repeat((1 << 20) - 58)}"}}`;
    expect(operationsIn(json, list(fitting, good))).toHaveLength(2);
    expect(errorOf(json, list(good, fitting.replace("x", "é"))).code).toBe("too-large");
    expect(operationsIn(json, list(...Array(10_000).fill(good)))).toHaveLength(10_000);
    const many = errorOf(json, list(...Array(10_001).fill(good)));
    expect([many.code, many.message]).toEqual([
      "too-large",
      "a batch can have up to 10,000 operations; split this one",
    ]);
    const bytes = Buffer.from(list(good.replace("brands", "\u00e9")), "latin1");
    const invalid = { field: "", line: 1, column: bytes.indexOf(0xe9) + 1 };
    expect(errorOf(json, bytes).fieldErrors).toEqual([expect.objectContaining(invalid)]);
    expect(errorOf(json, Buffer.from(list(good), "utf16le")).code).toBe("bad-request");
    // A long body is decoded in parts, and a part may end within a character.
    for (const length of [1 << 19, 700_000]) {
      for (const cut of ["\xe9", "\xc3", "\xf0\x9f\x98", "\xe9\x80\x80\xff"].map((text) =>
        Buffer.from(text, "latin1"),
      )) {
        for (const lead of [0, 1, 2, 3]) {
          const valid = `${'{"Operations":['.padEnd(20)}\n${" ".repeat(length - 21 - lead)}`;
          const [fault] = errorOf(
            json,
            Buffer.concat([Buffer.from(valid), cut, Buffer.from(" ".repeat(10))]),
          ).fieldErrors;
          const offset = cut.length === 4 ? 1 : 0;
          expect(fault).toMatchObject({ line: 2, column: length - 21 - lead + 1 + offset });
        }
      }
    }
  });
});

describe("XML", () => {
  const texts = fc.string({
    unit: fc.constantFrom("a", "é", "😀", "&amp;", "&lt;", "\n", "\r", " ", "<!-- > -->"),
    maxLength: 4,
  });
  const recordElements = fc.oneof(
    fc.constantFrom(
      "<Brand/>",
      '<Brand ID="3"/>',
      '<Brand ID="x"><ID>4</ID></Brand>',
      "<Brand><Name>a</Name><Name>b</Name></Brand>",
      "<Brand><Address><Town>York</Town></Address></Brand>",
      "<Brand><Name><![CDATA[</Operation>]]></Name></Brand>",
      "<Brand><Operation>1</Operation><Name a='>'>x</Name></Brand>",
      "<Brand>stray</Brand>",
      `<Brand>${"<Name/>".repeat(1100)}</Brand>`,
      `<Brand>${"<a>".repeat(8)}${"</a>".repeat(8)}</Brand>`,
      `<Brand>${"<a>".repeat(9)}${"</a>".repeat(9)}</Brand>`,
      "<Brand><Name>&x;</Name></Brand>",
      "<Brand><Name>a</Brand>",
      '<Brand a="1" a="2"/>',
      "<Brand><Name>\u0001</Name></Brand>",
    ),
    texts.map((name) => `<Brand><Name>${name}</Name></Brand>`),
  );

  test("records: decoded like single documents, whatever is between them", () => {
    const operation = fc.tuple(recordElements, fc.constantFrom("", "\r\n ", "<!-- </Operation> -->", "<?x > ?>"));
    const property = fc.property(fc.array(operation, { minLength: 1, maxLength: 4 }), (list) => {
      const elements = list.map(
        ([record, between]) =>
          `${between}<Operation Method="POST" Resource='brands'>${between}${record}${between}</Operation >`,
      );
      const wanted = list.map(([record]) => told(() => xml.decode(brand, Buffer.from(record))));
      const wrong = wanted.findIndex((one) => !one.startsWith("{"));
      const body = `<?xml version="1.0"?>\n<Batch xmlns:a="b">${elements.join("")}\n</Batch><!-- -->`;
      if (wrong === -1) expect(operationsIn(xml, body).map(({ record }) => told(() => record))).toEqual(wanted);
      else {
        const error = errorOf(xml, body);
        expect(error.fieldErrors[0]?.operation).toBe(wrong + 1);
        expect(withoutPosition(error.message)).toBe(wanted[wrong] as string);
      }
    });
    fc.assert(property, { numRuns: 1000 });
  });

  test("attributes: all read", () => {
    const body = `<Batch><Operation IfMatch="&quot;a&quot;, *" ID="12" Resource="brands" Method="PATCH"/>
      <Operation xmlns:x="y" Method="DELETE" Resource="orderstatuses" ID="3"><OrderStatus ID="3"/></Operation></Batch>`;
    const [update, remove] = operationsIn(xml, body) as [SentOperation, SentOperation];
    expect(update).toMatchObject({ method: "update", resource: brand, id: 12, ifMatch: '"a", *', record: undefined });
    expect(remove).toMatchObject({ method: "delete", id: 3, ifMatch: undefined });
    expect(remove.record?.input).toEqual({ ID: 3 });
  });

  const form = "`<Batch><Operation ...>...</Operation></Batch>`";

  test.each<[string, string]>([
    [" ", `the body is empty; send ${form}`],
    ['{"Operations":[]}', `the body must be ${form}; send JSON to \`batch.json\``],
    ["foo", "line 1, column 1: expected an element, not `f`"],
    ["<batch/>", "the root element must be <Batch>, not <batch>"],
    ["<x:Batch/>", "the root element must be <Batch>, not <x:Batch>"],
    ['<Batch xmlns="x"/>', "<Batch>: `xmlns`: unknown field; elements have no namespace here"],
    ['<Batch Atomic="1"/>', "<Batch>: `Atomic`: unknown field"],
    ['<Batch xsi:nil="true"/>', "<Batch>: `xsi:nil` isn't supported; leave out the element"],
    ["<Batch>foo</Batch>", '<Batch> must hold <Operation> only; stray text: "foo"'],
    ["<Batch><![CDATA[x]]></Batch>", '<Batch> must hold <Operation> only; stray text: "x"'],
    ["<Batch></Batch>\nx", "line 2, column 1: expected an element, not `x`"],
    ["<Batch/><Batch/>", "line 1, column 9: this is a second root element"],
    ["<Batch>\n<!-- \u0001 --></Batch>", "line 2, column 6: XML can't contain U+0001"],
    ["<Batch><!-- ", "line 1, column 8: unterminated comment"],
    ["<Batch>", "`</Batch>` is missing"],
    ["<Batch></Batches>", "expected `</Batch>`, not `</Batches>`"],
    ["<!DOCTYPE Batch [<!ENTITY a 'b'>]><Batch/>", "a DOCTYPE isn't allowed"],
    ["<Batch><!DOCTYPE x></Batch>", "a DOCTYPE isn't allowed"],
  ])("%j is rejected", (body, message) => {
    const error = errorOf(xml, body);
    expect([error.code, error.message]).toEqual(["bad-request", expect.stringContaining(message)]);
  });

  const good = '<Operation Method="DELETE" Resource="brands" ID="1"/>';

  test.each<[string, string, string]>([
    ["<Brand/>", "Brand", "unknown field; send <Operation>"],
    ["<x:Operation/>", "x:Operation", "unknown field; send <Operation>"],
    ["<Brand>", "", "expected `</Brand>`, not `</Batch>`"],
    ["<Operation/>", "Method", "a value is required: POST, PUT, PATCH or DELETE"],
    ['<Operation Method="PUT" Resource="brands" ID="a"/>', "ID", 'use a whole number, 1 or more, not "a"'],
    ['<Operation Method="PUT" Resource="brands" ID="01"/>', "ID", 'use a whole number, 1 or more, not "01"'],
    ['<Operation method="PUT" Resource="brands"/>', "method", "unknown field; did you mean `Method`?"],
    [`<Operation Method="PUT" Resource="${readOnly?.path}"/>`, "Resource", `${readOnly?.plural} can only be read`],
    [
      '<Operation Method="PUT" Resource="brands"><OrderStatus/></Operation>',
      "OrderStatus",
      "unknown field; send <Brand>",
    ],
    [
      '<Operation Method="PUT" Resource="brands"><Brand/><Brand/></Operation>',
      "Brand",
      "send at most 1 record per operation",
    ],
    ["<Operation><ID>2</ID><Brand/></Operation>", "ID", "unknown field; send it as an attribute of <Operation>"],
    ["<Operation><Method>PUT</Method></Operation>", "Method", "unknown field; send it as an attribute of <Operation>"],
    ['<Operation Method="PUT" Resource="brands">x<Brand/></Operation>', "Operation", 'remove the text "x"'],
    ['<Operation xsi:nil="true"/>', "", "`xsi:nil` isn't supported; leave out the element"],
    ['<Operation Method="PUT" Method="PUT"/>', "", "the attribute `Method` appears more than once"],
    ['<Operation Method="PUT" Resource="brands"><Brand></Operation>', "", "expected `</Brand>`, not `</Operation>`"],
    ['<Operation Method="PUT" Resource="brands"><Brand/>', "", "expected `</Operation>`, not `</Batch>`"],
    ['<Operation Method="PUT', "", "unterminated attribute value"],
    ["<Operation><!DOCTYPE x></Operation>", "", ""],
  ])("the second operation %j is rejected", (operation, field, detail) => {
    const body = `<Batch>${good}\n${operation}</Batch>`;
    if (detail === "") expect(errorOf(xml, body).message).toStartWith("a DOCTYPE isn't allowed");
    else expect(faultsOf(xml, body, 2)[0]).toMatchObject({ field, detail: expect.stringContaining(detail) });
  });

  test("invalid operation: all errors found, and later ones are read", () => {
    const several =
      '<Operation method="PUT" Resource="brands" ID="a">x<OrderStatus><Name>a</Name></OrderStatus><Brand/></Operation>';
    const read = readAll(xml, `<Batch>${several}<Brand><Brand/></Brand>${good}<Operation Method="PUT"/></Batch>`);
    expect(read.map((one) => ("faults" in one ? one.faults.map(({ field }) => field) : one.id))).toEqual([
      ["method", "Brand", "Operation", "Method", "ID", "OrderStatus"],
      ["Brand"],
      1,
      ["Resource"],
    ]);
  });

  test("error position: line and column in the whole body", () => {
    const body = `<Batch>\r\n${good}\r<!-- 😀 -->${good}\n <Operation Method="POST" Resource="brands"><Brand><Name>é&x;`;
    const [fault] = errorOf(xml, body).fieldErrors as [FieldError];
    const column = 2 + '<Operation Method="POST" Resource="brands"><Brand><Name>é'.length;
    expect(fault).toMatchObject({ operation: 3, line: 4, column });
  });

  test("rejected: an operation too long, one too many, or another encoding", () => {
    const long = errorOf(
      xml,
      `<Batch>${good}<Operation><Brand><Name>${"x".repeat(1 << 20)}</Name></Brand></Operation>${good}`,
    );
    expect([long.code, long.fieldErrors[0]?.operation]).toEqual(["too-large", 2]);
    expect(operationsIn(xml, `<Batch>${good.repeat(10_000)}</Batch>`)).toHaveLength(10_000);
    const many = errorOf(xml, `<Batch>${good.repeat(10_001)}</Batch>`);
    expect([many.code, many.message]).toEqual([
      "too-large",
      "a batch can have up to 10,000 operations; split this one",
    ]);
    for (const body of [
      Buffer.from(`\ufeff<Batch>${good}</Batch>`, "utf16le"),
      '<?xml version="1.0" encoding="latin1"?><Batch/>',
    ]) {
      expect(errorOf(xml, body).code).toBe("unsupported-media-type");
    }
  });
});

/** Returns the number of yields until the end or the error of a body of 8 MiB that repeats `piece`. */
function stepsOf(format: Format, start: string, piece: string): number {
  const length = Math.floor(((8 << 20) - start.length) / piece.length);
  const steps = format.batch.operations(Buffer.from(start + piece.repeat(length)), resources);
  let count = 0;
  try {
    for (const _ of steps) count++;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
  }
  return count;
}

test.each<[Format, string, string]>([
  [json, "", " "],
  [json, '{"Operations":[', "\n"],
  [json, '{"Operations":[]}', "\r\n"],
  [xml, "", " "],
  [xml, "<Batch>", "\r\n"],
  [xml, "<Batch/>", " "],
  [xml, "<Batch><!--", "x"],
  [xml, "<Batch>", "<!---->"],
  [xml, "<Batch>", "<?a?>"],
])("8 MiB of white space or comments: read in many steps", (format, start, piece) => {
  expect(stepsOf(format, start, piece)).toBeGreaterThan(start.endsWith("<!--") ? 15 : 100);
});

const resultsInJson = `{"Run":"r-1-2","Results":[${[
  '{"Status":201,"Changed":true,"ETag":"\\"e.1.f\\"","Record":{"ID":1,"Name":"A&B"}}',
  '{"Status":200,"Changed":true,"Record":{"ID":1,"Name":"A&B"}}',
  '{"Status":404,"Problem":{"type":"/docs/problems/x","title":"t","status":404,"detail":"a \\"b\\" <c>","instance":"i","errors":[{"operation":3,"field":"Name","code":"required","detail":"d"}]}}',
].join(",")}]}`;

const resultsInXml = `<?xml version="1.0" encoding="utf-8"?>
<BatchResults Run="r-1-2">${[
  '<Result Status="201" Changed="true" ETag="&quot;e.1.f&quot;"><Brand ID="1"><Name>A&amp;B</Name></Brand></Result>',
  '<Result Status="200" Changed="true"><Brand ID="1"><Name>A&amp;B</Name></Brand></Result>',
  '<Result Status="404"><problem xmlns="urn:ietf:rfc:7807"><type>/docs/problems/x</type><title>t</title><status>404</status><detail>a "b" &lt;c&gt;</detail><instance>i</instance>',
].join(
  "",
)}<errors><i><operation>3</operation><field>Name</field><detail>d</detail><code>required</code></i></errors></problem></Result></BatchResults>`;

describe.each(formats)("the documents of undo and of results in $name", ({ name, batch }) => {
  const isJson = name === "json";
  const undoText = (run: string) =>
    isJson ? JSON.stringify({ Run: run }) : `<?xml version="1.0"?>\n<Undo Run="${run}"/>\n`;

  test("undo: the run is read", () => {
    expect(batch.undo(Buffer.from(undoText("k3J9aZ0q-18-3")))).toEqual({ run: "k3J9aZ0q-18-3" });
  });

  test.each<[string, string, string]>([
    ["", "<!---->", isJson ? "the body is empty" : "the document has no element"],
    ["{}", "<Undo/>", "`Run`: a value is required"],
    ["[]", "<undo/>", isJson ? "the body must be" : "the root element must be <Undo>, not <undo>"],
    ['{"run":"a"}', '<Undo run="a"/>', "`run`: unknown field; did you mean `Run`?"],
    ["{}", '<Undo xsi:nil="true"/>', isJson ? "" : "`Undo`: `xsi:nil` isn't supported"],
    [
      '{"Run":1}',
      "<Undo Run='a'><Run/></Undo>",
      isJson ? "send a string, not a number" : "`Undo`: remove the text and elements in it",
    ],
    ['{"Run":"a","Run":"b"}', "<Undo Run='a' Run='b'/>", isJson ? "send it only once" : "appears more than once"],
    ['{"Run":"a"', "<Undo Run='a'>", "line 1, column"],
  ])("%j and %j are rejected", (asJson, asXml, message) => {
    const undo = () => batch.undo(Buffer.from(isJson ? asJson : asXml));
    expect(undo).toThrow(ProblemError);
    expect(undo).toThrow(message);
  });

  test("results: written in order", () => {
    const problem = { type: "/docs/problems/x", title: "t", status: 404, detail: 'a "b" <c>', instance: "i" };
    const stored = { status: 201, changed: true, etag: '"e.1.f"', resource: brand, record: '{"ID":1,"Name":"A&B"}' };
    const { etag: _, ...deleted } = { ...stored, status: 200 };
    const results = [
      stored,
      deleted,
      {
        status: 404,
        problem: { ...problem, errors: [{ operation: 3, field: "Name", code: "required" as const, detail: "d" }] },
      },
    ];
    const body = batch.start("r-1-2") + results.map(batch.result).join(batch.separator) + batch.end;
    expect(body).toBe(isJson ? resultsInJson : resultsInXml);
    expect(batch.start(null) + batch.end).toBe(
      isJson ? '{"Run":null,"Results":[]}' : '<?xml version="1.0" encoding="utf-8"?>\n<BatchResults></BatchResults>',
    );
  });

  test("undo: written", () => {
    const skipped = [{ resource: brand, id: 12, revision: 31 }];
    const undone = { run: null, deleted: 2, restored: 5, unchanged: 0, skipped };
    expect(batch.undone(undone)).toBe(
      isJson
        ? '{"Run":null,"Deleted":2,"Restored":5,"Unchanged":0,"Skipped":[{"Resource":"brands","ID":12,"Revision":31}]}'
        : '<?xml version="1.0" encoding="utf-8"?>\n<Undone Deleted="2" Restored="5" Unchanged="0"><Skipped Resource="brands" ID="12" Revision="31"/></Undone>',
    );
    expect(batch.undone({ ...undone, run: "k3J9aZ0q-18-3" })).toContain(
      isJson ? '"Run":"k3J9aZ0q-18-3"' : ' Run="k3J9aZ0q-18-3"',
    );
  });
});
