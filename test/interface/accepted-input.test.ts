// Unusual but valid bodies. Text always comes back exactly as sent, in either format.

import { afterAll, describe, expect, test } from "bun:test";
import { XML } from "bun";
import fc from "fast-check";
import { escapeText } from "../../src/formats/xml-elements.ts";
import { readRows } from "../../src/operator/import/file-rows.ts";
import { brand } from "../../src/resources/brand.ts";
import { startTestServer } from "../support/http/server.ts";

const server = await startTestServer();
afterAll(() => server.stop());

/** Reads the text of <Name> with a parser that isn't ours. */
function nameIn(xml: string): string {
  return (XML.parse(xml) as unknown as { Brand: { Name: string } }).Brand.Name;
}

async function roundTrip(name: string): Promise<void> {
  const viaJson = await server.call("POST", "/restapi/brands.json", { body: { Name: name } });
  expect(viaJson.json.Name).toBe(name);
  const { ID } = viaJson.json;
  const asXml = await server.call("GET", `/restapi/brands/${ID}.xml`);
  expect(nameIn(asXml.text)).toBe(name);
  const copy = asXml.text.replace(` ID="${ID}"`, "");
  const viaXml = await server.call("POST", "/restapi/brands.xml", { body: copy });
  expect(viaXml.status).toBe(201);
  expect(nameIn(viaXml.text)).toBe(name);
  const copyId = /ID="(\d+)"/.exec(viaXml.text)?.[1];
  expect((await server.call("GET", `/restapi/brands/${copyId}.json`)).json).toEqual({
    ...viaJson.json,
    ID: Number(copyId),
  });
}

test.each([
  "a\rb",
  "a\nb",
  "a\r\nb\n\r",
  "\ttab\t",
  "&amp;",
  "&amp;amp; & <b> > \" '",
  "]]>",
  "<![CDATA[x]]>",
  "<!-- x -->",
  "&#13;",
  "👨‍👩‍👧‍👦 family",
  "a     b",
  "   ",
  "e\u0301 and \u00e9",
  "\u200b\u200d\ufeff",
  "العربية",
  "日本語",
  "\u0085\u2028\u2029",
  "\ud83d\ude00",
  "x\u007f\u0080",
  "\\u0041 \\n",
  "%20+",
  "=1+1",
])("%j survives the round trip between JSON and XML", roundTrip);

test("text with any character XML can represent survives both formats", async () => {
  const text = fc
    .string({ unit: "binary", minLength: 1, maxLength: 40 })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML can't represent them
    .map((value) => value.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "x"));
  await fc.assert(fc.asyncProperty(text, roundTrip), { numRuns: 50 });
});

test("escaped text contains no markup", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (value) => !/[<>\r]|&(?!amp;|lt;|gt;|#13;)/.test(escapeText(value))),
  );
});

describe("in XML", () => {
  const create = async (body: string | Uint8Array) => {
    const response = await server.call("POST", "/restapi/brands.xml", { body });
    expect([response.status, response.text.slice(0, 1)]).toEqual([201, "<"]);
    return nameIn(response.text);
  };

  test.each<[string, string, string]>([
    ["CDATA is text", "<Brand><Name><![CDATA[<a> & b]]></Name></Brand>", "<a> & b"],
    [
      "comments and processing instructions are skipped",
      "<!-- x --><?y z?><Brand><!-- x --><Name>a<!-- x -->b<?y z?>c</Name></Brand>",
      "abc",
    ],
    [
      "blanks between elements are layout",
      "\n<Brand>\n  <Name>a</Name>\n\t<Address>\n <Town>b</Town> </Address>\r\n</Brand>\n",
      "a",
    ],
    ["blanks inside a field are its text", "<Brand><Name>  a  </Name></Brand>", "  a  "],
    ["character references are characters", "<Brand><Name>&#x1F600;&#65;&lt;</Name></Brand>", "😀A<"],
    ["a raw CR LF is a LF, as XML has it", "<Brand><Name>a\r\nb\rc</Name></Brand>", "a\nb\nc"],
  ])("%s", async (_, body, name) => {
    expect(await create(body)).toBe(name);
  });

  const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
  const xs = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"';

  /** Creates brands in one batch, undoes that batch, and returns both statuses and the first brand's name. */
  const createInBatch = async (body: string) => {
    const batch = await server.call("POST", "/restapi/batch.xml", { body });
    const run = /Run="([^"]*)"/.exec(batch.text)?.[1];
    const undo = `<Undo ${xsi} xsi:noNamespaceSchemaLocation="x" xml:lang="en" xmlns="" Run="${run}"/>`;
    const undone = await server.call("POST", "/restapi/undo.xml", { body: undo });
    return [batch.status, /<Name>(.*?)<\/Name>/.exec(batch.text)?.[1], undone.status];
  };

  const importNames = async (file: string) => {
    const rows = await Array.fromAsync(
      readRows(
        brand,
        (async function* () {
          yield Buffer.from(file);
        })(),
        "xml",
      ),
    );
    return rows.map(({ decoded: { input, fieldErrors } }) => [(input as { Name: string }).Name, ...fieldErrors]);
  };

  test.each<[string, string, string, string]>([
    ["UTF-8 in upper case", '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>', "", "é"],
    ["the encoding `utf8` in single quotes", "<?xml version='1.0' encoding='utf8'?>", "", "é"],
    ["the encoding `utf_8`", "<?xml version='1.0' encoding='utf_8'?>\n", "", "é"],
    ["the encoding `us-ascii`", "<?xml version='1.0' encoding='us-ascii'?>\n", "", "&#233;"],
    ["the encoding `ASCII`, with bytes that are UTF-8", "<?xml version='1.0' encoding='ASCII'?>\n", "", "é"],
    ["an unused prefix", "", xsi, "é"],
    ["xsi:schemaLocation", "", `${xsi} xsi:schemaLocation="urn:x http://127.0.0.1:1/x.xsd"`, "é"],
    ["xsi:noNamespaceSchemaLocation", "", `xsi:noNamespaceSchemaLocation="storefront.xsd" ${xsi}`, "é"],
    [
      "another prefix of the same namespace",
      "",
      `${xsi.replace("xsi", "i")} i:nil="false" i:schemaLocation="a b"`,
      "é",
    ],
    ["xml:lang, xml:space and xml:base", "", 'xml:lang="de-AT" xml:space="preserve" xml:base="http://x/"', "é"],
    ["no default namespace", "", 'xmlns=""', "é"],
  ])("%s is accepted in a record, a batch and an import file", async (_, declaration, attributes, name) => {
    const record = `<Brand ${attributes}><Name ${attributes}>${name}</Name><Address ${attributes}><Town ${attributes}/></Address></Brand>`;
    const operation = `<Operation ${attributes} Method="POST" Resource="brands">${record}</Operation>`;
    const list = `${declaration}<Results ${attributes}>${record}</Results>`;
    expect(await create(declaration + record)).toBe("é");
    expect(await createInBatch(`${declaration}<Batch ${attributes}>${operation}</Batch>`)).toEqual([200, "é", 200]);
    expect([await importNames(declaration + record), await importNames(list)]).toEqual([[["é"]], [["é"]]]);
  });

  test("a prefix may be declared on any enclosing element", async () => {
    const record = '<Brand><Name xsi:schemaLocation="a b" xsi:type="xs:string">é</Name></Brand>';
    const operation = `<Operation xsi:nil="0" Method="POST" Resource="brands">${record}</Operation>`;
    expect(await create(record.replace("Brand", `Brand ${xsi} ${xs} xsi:type="Brand"`))).toBe("é");
    expect(await createInBatch(`<Batch ${xsi} ${xs}>${operation}</Batch>`)).toEqual([200, "é", 200]);
    expect(await importNames(`<Results ${xsi} ${xs}>${record}${record}</Results>`)).toEqual([["é"], ["é"]]);
  });

  test.each(["utf8", "ASCII", "US-ASCII", "'utf-8'", '"UTF-8"', ""])("the charset %s is accepted", async (charset) => {
    const headers = { "Content-Type": `text/xml; charset=${charset}` };
    const body = "<Brand><Name>é</Name></Brand>";
    expect((await server.call("POST", "/restapi/brands.xml", { body, headers })).status).toBe(201);
  });

  test("a byte order mark is skipped", async () => {
    expect(await create('\ufeff<?xml version="1.0" encoding="utf-8"?><Brand><Name>a</Name></Brand>')).toBe("a");
  });

  test("the ID may be a child element", async () => {
    const { ID } = (await server.call("POST", "/restapi/brands.json", { body: { Name: "x" } })).json;
    for (const body of [
      `<Brand><ID>${ID}</ID><Name>y</Name></Brand>`,
      `<Brand ID="${ID}"><ID>${ID}</ID><Name>z</Name></Brand>`,
    ]) {
      expect((await server.call("PUT", "/restapi/brands.xml", { body })).status).toBe(200);
    }
  });
});

describe("in JSON", () => {
  test("a byte order mark and surrounding whitespace are skipped", async () => {
    const response = await server.call("POST", "/restapi/brands.json", { body: '\ufeff \n{ "Name" : "a" }\n ' });
    expect(response.status).toBe(201);
  });

  test("quotes, colons and braces inside strings are text", async () => {
    const name = '{"Name":"x","Name":["\\"]}';
    expect(
      (await server.call("POST", "/restapi/brands.json", { body: { Name: name, AccountNumber: '"Name":' } })).json.Name,
    ).toBe(name);
  });

  test("length limits count code points, not bytes or UTF-16 units", async () => {
    const response = await server.call("POST", "/restapi/brands.json", {
      body: { Name: "😀".repeat(255), Address: { Country: "gb" } },
    });
    expect([response.status, response.json.Address.Country]).toEqual([201, "gb"]);
  });
});

describe("an update", () => {
  test("keeps fields it omits and clears empty ones, even within groups", async () => {
    const body = { Name: "a", AccountNumber: "1", Address: { Town: "t", Country: "GB" }, Telephone: { Mobile: "m" } };
    const { ID } = (await server.call("POST", "/restapi/brands.json", { body })).json;
    const response = await server.call("PUT", "/restapi/brands.json", {
      body: { ID, AccountNumber: "", Address: { Town: "u" } },
    });
    expect(response.json).toMatchObject({
      Name: "a",
      AccountNumber: "",
      Address: { Town: "u", Country: "GB" },
      Telephone: { Mobile: "m" },
    });
  });

  test("that changes nothing gets a 200 and adds nothing to the journal", async () => {
    const { ID } = (await server.call("POST", "/restapi/brands.json", { body: { Name: "same" } })).json;
    const before = (await server.engine.readChangesSince(server.site.ID, 0))?.length;
    const response = await server.call("PUT", "/restapi/brands.json", { body: { ID, Name: "same" } });
    const empty = await server.call("PUT", `/restapi/brands/${ID}.json`, { body: {} });
    expect([response.status, empty.status]).toEqual([200, 200]);
    expect((await server.engine.readChangesSince(server.site.ID, 0))?.length).toBe(before as number);
  });
});

describe("a delete", () => {
  const create = async () => (await server.call("POST", "/restapi/brands.json", { body: { Name: "x" } })).json.ID;

  test.each([
    "",
    " \r\n",
    "[]",
    " [ ]\n",
    "{}",
    "null",
    '""',
    "\ufeff[]",
  ])("with the body %j deletes the record", async (body) => {
    for (const format of ["json", "xml"]) {
      const [id, other] = [await create(), await create()];
      expect((await server.call("DELETE", `/restapi/brands/${id}.${format}`, { body })).status).toBe(200);
      expect((await server.call("DELETE", `/restapi/brands.${format}?ID=${other}`, { body })).status).toBe(200);
      for (const deleted of [id, other])
        expect((await server.call("GET", `/restapi/brands/${deleted}.json`)).status).toBe(404);
    }
  });

  test.each(["[]", "null", '""'])("in a batch deletes the record if its body is %s", async (record) => {
    const id = await create();
    const body = `{"Operations":[{"Method":"DELETE","Resource":"brands","ID":${id},"Record":${record}}]}`;
    expect((await server.call("POST", "/restapi/batch.json", { body })).json.Results[0].Status).toBe(200);
  });

  test.each(["[1]", "0", "false", "x", "[[]]", '{"Nmae":""}'])("with the body %s is rejected", async (body) => {
    const id = await create();
    expect((await server.call("DELETE", `/restapi/brands/${id}.json`, { body })).status).toBe(400);
    expect((await server.call("GET", `/restapi/brands/${id}.json`)).status).toBe(200);
  });

  test.each(["[]", "null", "{}"])("with the body %s and no ID deletes nothing", async (body) => {
    const response = await server.call("DELETE", "/restapi/brands.json", { body });
    expect([response.status, response.json.type]).toEqual([400, "/docs/problems/ambiguous-id"]);
  });
});
