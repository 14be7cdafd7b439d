// Error messages give advice, and following it stores what the sender meant.

import { afterAll, describe, expect, test } from "bun:test";
import { callTool, sendMessage } from "../support/http/mcp.ts";
import { startTestServer, type TestResponse } from "../support/http/server.ts";
import { exchangeOnce, toRequest } from "../support/wire/client.ts";

const server = await startTestServer();
afterAll(() => server.stop());

type Body = string | Uint8Array;

/** The `detail` of a problem and of each field error. */
function textOf({ text }: TestResponse): string {
  if (!text.startsWith("<")) {
    const { detail, errors = [] } = JSON.parse(text);
    return [detail, ...errors.map((fault: { detail: string }) => fault.detail)].join("\n");
  }
  const parts = [...text.matchAll(/<detail>([^<]*)<\/detail>/g)].map(([, part = ""]) => part);
  return parts.join("\n").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** Two ways to send a brand: as a record, or in a batch. The format is the path's extension. */
const ways = {
  record: (format: string, record: Body) => server.call("POST", `/restapi/brands.${format}`, { body: record }),
  batch: (format: string, record: Body) => {
    const [before, after] =
      format === "json"
        ? ['{"Operations":[{"Method":"POST","Resource":"brands","Record":', "}]}"]
        : ['<Batch><Operation Method="POST" Resource="brands">', "</Operation></Batch>"];
    const body = Buffer.concat([before, record, after].map((part) => Buffer.from(part as string)));
    return server.call("POST", `/restapi/batch.${format}`, { body });
  },
};

/** Expects the error for `wrong` to contain `says`, and `right` to store a brand with `stored`, both as a record and in a batch. */
async function expectAdvice(format: string, wrong: Body, says: string, right: string, stored: object): Promise<void> {
  for (const send of [ways.record, ways.batch]) {
    const rejected = await send(format, wrong);
    expect([rejected.status, textOf(rejected)]).toEqual([400, expect.stringContaining(says)]);
    const created = await send(format, right);
    expect([200, 201]).toContain(created.status);
    const { json } = await server.call("GET", "/restapi/brands.json?sort=-ID&limit=1");
    expect(json[0]).toMatchObject(stored);
  }
}

describe("advice on JSON text", () => {
  test.each<[string, string, string, string]>([
    ["O\\'Neill", "write `'` without", "O'Neill", "O'Neill"],
    ["\\x41cme", "write `A`", "Acme", "Acme"],
    ["caf\\xe9", "write `é`", "café", "café"],
    ["caf\\xc3\\xa9", "`\\xc3\\xa9` isn't a JSON escape; write `é`", "café", "café"],
    ["\\xf0\\x9f\\x98\\x80", "write `😀`", "😀", "😀"],
    ["a\\x0ab", "write `\\n`", "a\\nb", "a\nb"],
    ["\\x22a", 'write `\\"`', '\\"a', '"a'],
    ["a\\x00", "U+0000 (NUL), which records can't contain; leave it out", "a", "a"],
    ["a\\0", "U+0000 (NUL), which records can't contain; leave it out", "a", "a"],
    ["a\\a", "U+0007 (bell), which records can't contain; leave it out", "a", "a"],
    ["a\\e[0m", "U+001B (escape), which records can't contain; leave it out", "a[0m", "a[0m"],
    ["a\\v", "or write `\\\\v` if you mean a literal backslash", "a\\\\v", "a\\v"],
    ["\\101cme", "write `A`", "Acme", "Acme"],
    ["\\u{1F600}", "write `😀`", "😀", "😀"],
    ["\\U0001F600", "write `😀`", "😀", "😀"],
    ["\\u{200B}x", "write `\\u200b`", "\\u200bx", "\u200bx"],
    ["\\ue9", "write `é`", "é", "é"],
    ["\\$5", "write `$` without the backslash", "$5", "$5"],
    ["5\\%", "or `\\\\%` if you mean a literal backslash", "5\\\\%", "5\\%"],
    ["C:\\temp\\dir", "write each literal backslash as `\\\\`", "C:\\\\temp\\\\dir", "C:\\temp\\dir"],
    ["C:\\Users\\ada", "write each literal backslash", "C:\\\\Users\\\\ada", "C:\\Users\\ada"],
    ["C:\\\\temp, it\\'s", "write `'` without", "C:\\\\temp, it's", "C:\\temp, it's"],
    ["C:\\apps", "write each literal backslash", "C:\\\\apps", "C:\\apps"],
    ["\\\\host\\share", "write each literal backslash", "\\\\\\\\host\\\\share", "\\\\host\\share"],
    ["\\d+\\b", "write each literal backslash", "\\\\d+\\\\b", "\\d+\\b"],
    ["a\\\nb", "write it as `\\n`", "a\\nb", "a\nb"],
    ["a\tb", "U+0009 (tab) as it is; write `\\t`", "a\\tb", "a\tb"],
    ["a\nb", "U+000A (line feed) as it is; write `\\n`", "a\\nb", "a\nb"],
    ["a\rb", "U+000D (carriage return) as it is; write `\\r`", "a\\rb", "a\rb"],
    ["a\r\nb", "write `\\r\\n`", "a\\r\\nb", "a\r\nb"],
    ["a\0b", "U+0000 (NUL); leave it out", "ab", "ab"],
    ["a\bb", "U+0008 (backspace); leave it out", "ab", "ab"],
    ["a\fb", "U+000C (form feed); leave it out", "ab", "ab"],
    ["a\u001bb", "U+001B (escape); leave it out", "ab", "ab"],
    ["a\\u0007b", "remove U+0007 (bell), which XML can't carry", "ab", "ab"],
    ["\\ud83d", "U+D83D (half of a surrogate pair), or send the whole character", "\\ud83d\\ude00", "😀"],
  ])("%j", async (wrong, says, right, stored) => {
    await expectAdvice("json", `{"Name":"${wrong}"}`, says, `{"Name":"${right}"}`, { Name: stored });
  });
});

describe("advice on a JSON value", () => {
  const absent = 'leave the field out, or send `""`';
  test.each<[string, string, string, string]>([
    ...["None", "undefined", "NaN", "-Infinity", "NULL", "nil", "null"].map(
      (word): [string, string, string, string] => [word, absent, '""', ""],
    ),
    ["", `the value is missing; ${absent}`, '""', ""],
    ["True", 'write `"True"`', '"True"', "True"],
    ["true", "put it in double quotes", '"true"', "true"],
    ["12", "put it in double quotes", '"12"', "12"],
    ["00123", 'write `"00123"`', '"00123"', "00123"],
    ["2026-01-31", 'write `"2026-01-31"`', '"2026-01-31"', "2026-01-31"],
    ["12:30:00", 'write `"12:30:00"`', '"12:30:00"', "12:30:00"],
    ["+44 20 7946", 'write `"+44 20 7946"`', '"+44 20 7946"', "+44 20 7946"],
    ["1,5", 'write `"1,5"`', '"1,5"', "1,5"],
    ["0x1F", 'write `"0x1F"`', '"0x1F"', "0x1F"],
    ["5 kg", 'write `"5 kg"`', '"5 kg"', "5 kg"],
    ["ACC 7", 'write `"ACC 7"`', '"ACC 7"', "ACC 7"],
    ["'a'", "double quotes only", '"a"', "a"],
    ["`a`", "not a backtick; JSON takes double quotes only", '"a"', "a"],
    ["u'a'", "without a letter before them", '"a"', "a"],
    ["“a”", '`“` (U+201C, a curly quote); use `"`', '"a"', "a"],
    ['"a”', "`”` (U+201D, a curly quote) doesn't end a string; write `\"`", '"a"', "a"],
    ['"the "big" one"', 'write a `"` inside a string as `\\"`', '"the \\"big\\" one"', 'the "big" one'],
    ['"the ""big"" one"', 'write a `"` inside a string as `\\"`', '"the \\"big\\" one"', 'the "big" one'],
    ['"a" + "b"', "write one string", '"ab"', "ab"],
    ['"a" // b', "no comments", '"a"', "a"],
    ['\u00a0"a"', "U+00A0 (no-break space); use a normal space", ' "a"', "a"],
    ['\u200b"a"', "U+200B (zero-width space); remove it", '"a"', "a"],
    ['\ufeff"a"', "U+FEFF (byte order mark); remove it", '"a"', "a"],
    ['"a"\u2028', "U+2028 (line separator); use a normal space", '"a" ', "a"],
    ['"a",', "remove the comma before it", '"a"', "a"],
    ['"a";', "not `;`; write a comma", '"a"', "a"],
    ['["a"]', "send the string alone", '"a"', "a"],
  ])("%s", async (wrong, says, right, stored) => {
    const [before, after] = ['{"Name":"x","AccountNumber":', "}"];
    await expectAdvice("json", before + wrong + after, says, before + right + after, { AccountNumber: stored });
  });
});

describe("advice on a JSON body", () => {
  const acme = '{"Name":"Acme","AccountNumber":"1"}';
  test.each<[string, string]>([
    ['{Name:"Acme","AccountNumber":"1"}', 'names need double quotes: write `"Name"`'],
    ['{\'Name\':"Acme","AccountNumber":"1"}', "double quotes only"],
    ['{“Name”:"Acme","AccountNumber":"1"}', '`“` (U+201C, a curly quote); use `"`'],
    ['{"Name"="Acme","AccountNumber":"1"}', "write `:`"],
    ['{"Name"："Acme","AccountNumber":"1"}', "`：` (U+FF1A, not `:`); use `:`"],
    ['{"Name":"Acme" "AccountNumber":"1"}', "a comma is missing before it"],
    ['{"Name":"Acme",,"AccountNumber":"1"}', "remove one of the commas"],
    ['{"Name":"Acme,\n"AccountNumber":"1"}', 'close the string with `"` before it'],
    ['{\\"Name\\":\\"Acme\\",\\"AccountNumber\\":\\"1\\"}', 'write `"` without the backslash'],
    ["{&quot;Name&quot;:&quot;Acme&quot;}", 'write `"` for `&quot;`'],
    ['{"Name":{{name}}}', "this placeholder wasn't filled in"],
  ])("%s", (wrong, says) => expectAdvice("json", wrong, says, acme, { Name: "Acme", AccountNumber: "1" }));

  test.each<[string, string]>([
    [`${acme}\0`, "U+0000 (NUL) follows the end of the value; remove it"],
    [`${acme}\ufeff`, "U+FEFF (byte order mark) follows the end of the value; remove it"],
    [`\u200b${acme}`, "U+200B (zero-width space); remove it"],
    [`${acme}}`, "`}` follows the end of the value; remove it"],
    [`${acme}\n${acme}`, "use a batch request (POST /restapi/batch.json)"],
    [acme.slice(0, -1), "the end is missing"],
    [`'${acme}'`, "remove the `'` around the body"],
    [JSON.stringify(acme), "your JSON was encoded twice"],
    [Buffer.from(acme).toString("base64"), "this looks like Base64; send it decoded"],
    [encodeURIComponent(acme), "this is percent-encoded; send the text itself"],
    ["Array\n(\n    [Name] => Acme\n)\n", "send the result of json_encode"],
    ["[object Object]", "send the result of JSON.stringify"],
    ["Name: Acme\n", "this looks like YAML"],
    ["Name,AccountNumber\nAcme,1\n", "this looks like CSV"],
    ["<!DOCTYPE html><html></html>", "this is an HTML page"],
  ])("sent as a record: %j", async (wrong, says) => {
    const response = await ways.record("json", wrong);
    expect([response.status, textOf(response)]).toEqual([400, expect.stringContaining(says)]);
    if (says.includes("HTML")) expect(textOf(response)).not.toContain("brands.xml");
  });
});

describe("advice on XML text", () => {
  test.each<[string, string, string, string]>([
    ["Smith & Sons", "write `&` as `&amp;`", "Smith &amp; Sons", "Smith & Sons"],
    ["Smith &amp Sons", "write `&amp;`, with the semicolon", "Smith &amp; Sons", "Smith & Sons"],
    ["Smith &AMP; Sons", "write `&amp;` in lower case", "Smith &amp; Sons", "Smith & Sons"],
    ["caf&eacute;", "write `é`, or `&#233;`", "caf&#233;", "café"],
    ["&Scaron;koda", "write `Š`, or `&#352;`", "Škoda", "Škoda"],
    ["&ccaron;", "write `č`", "č", "č"],
    ["a&nbsp;b", "write `&#160;` for U+00A0 (no-break space)", "a&#160;b", "a\u00a0b"],
    ["a&hellip;", "write `…`, or `&#8230;`", "a&#8230;", "a…"],
    ["&euro;5", "write `€`", "€5", "€5"],
    ["&lpar;a&rpar;", "write `(`", "(a)", "(a)"],
    ["caf&eacute", "or `&amp;eacute` for the literal text", "caf&amp;eacute", "caf&eacute"],
    ["&foo;", "or `&amp;foo;` for the literal text", "&amp;foo;", "&foo;"],
    ["?a=1&copy=2", "or `&amp;copy` for the literal text", "?a=1&amp;copy=2", "?a=1&copy=2"],
    ["&#xD83D;&#xDE00;", "write both halves as one: `😀`, or `&#x1F600;`", "&#x1F600;", "😀"],
    ["&#55357;&#56832;", "`&#x1F600;`", "&#x1F600;", "😀"],
    ["a&#xD83D;", "half of a surrogate pair; write the whole character, or leave it out", "a", "a"],
    ["a&#0;", "U+0000 (NUL), which XML can't contain; leave it out", "a", "a"],
    ["a&#x7;", "U+0007 (bell), which XML can't contain; leave it out", "a", "a"],
    ["a&#x110000;", "isn't a character", "a", "a"],
    ["caf&#XE9;", "write `&#xE9;`, with a lowercase x", "caf&#xE9;", "café"],
    ["caf&#233", "write `&#233;`, with the semicolon", "caf&#233;", "café"],
    ["caf&233;", "write `&#233;`", "caf&#233;", "café"],
    ["a\u0007b", "XML can't contain U+0007 (bell); leave it out", "ab", "ab"],
    ["1 < 2", "write a `<` in text as `&lt;`", "1 &lt; 2", "1 < 2"],
    ["a<3", "write a `<` in text as `&lt;`", "a&lt;3", "a<3"],
    ["a<b", "write a `<` in text as `&lt;`", "a&lt;b", "a<b"],
    ["a<br>b", "or write its `<` as `&lt;` if it is text", "a&lt;br>b", "a<br>b"],
    ["a<br/>b", "leave out the tag, or write its `<` as `&lt;`", "ab", "ab"],
    ["a]]>b", "write `]]&gt;`", "a]]&gt;b", "a]]>b"],
  ])("%j", async (wrong, says, right, stored) => {
    const of = (text: string) => `<Brand><Name>${text}</Name></Brand>`;
    await expectAdvice("xml", of(wrong), says, of(right), { Name: stored });
  });
});

describe("advice on an XML record", () => {
  const acme = "<Brand><Name>Acme</Name><Address><Town>Leeds</Town></Address></Brand>";
  test.each<[string, string]>([
    ['<Brand Name="Acme"><Address><Town>Leeds</Town></Address></Brand>', "write it as an element: <Name>...</Name>"],
    [
      '<Brand><Name>Acme</Name><Address Town="Leeds"/></Brand>',
      "write it as an element: <Address><Town>...</Town></Address>",
    ],
    ['<Brand Town="Leeds"><Name>Acme</Name></Brand>', "write it as an element: <Address><Town>...</Town></Address>"],
    ['<Brand><Name value="Acme"/></Brand>', "write the value as text: <Name>...</Name>"],
    ["<Brand><Name>Acme</Name><City>Leeds</City></Brand>", "did you mean <Town> in <Address>?"],
    ["<Brand><Name>Acme</Name><Address><City>Leeds</City></Address></Brand>", "did you mean <Town>?"],
    ["<Brand><Name>Acme</Name><Contact><Town>Leeds</Town></Contact></Brand>", "did you mean <Address>?"],
    ["<Brand><Fields><Name>Acme</Name></Fields></Brand>", "write its elements directly in <Brand>"],
    ["<Brand><Name>Acme</Name><Address>Leeds</Address></Brand>", "write it in an element such as <AddressLine1>"],
    [
      "<Brand><N\u0430me>Acme</N\u0430me></Brand>",
      "did you mean <Name>? The name you sent contains `\u0430` (U+0430, a Cyrillic letter)",
    ],
    ["<Brand><Name\u200d>Acme</Name\u200d></Brand>", "The name you sent ends with U+200D (zero-width joiner)"],
    ["<Brand>\u200b<Name>Acme</Name></Brand>", "remove the text U+200B (zero-width space)"],
    ["<Brand\u00a0ID='1'><Name>Acme</Name></Brand>", "not U+00A0 (no-break space); use a normal space"],
    ["<Brand ID=1><Name>Acme</Name></Brand>", 'write `"1"`'],
    ["<Brand ID=“1”><Name>Acme</Name></Brand>", '`“` (U+201C, a curly quote); use `"`'],
    [`<Brands>${acme}</Brands>`, "send one <Brand>, without <Brands> around it"],
    [`<brands><brand/></brands>`, "send one <Brand>, without <brands> around it"],
    [`<Envelope><Header/><Body>${acme}</Body></Envelope>`, "without <Envelope><Body> around it"],
  ])("%s", (wrong, says) => expectAdvice("xml", wrong, says, acme, { Name: "Acme", Address: { Town: "Leeds" } }));

  test("several records in a list: send a batch request", async () => {
    const response = await ways.record("xml", `<Results>${acme}${acme}</Results>`);
    expect(textOf(response)).toContain("or several as a batch request: POST /restapi/batch.xml");
  });
});

describe("advice on an unknown JSON field", () => {
  const town = '{"Name":"Acme","Address":{"Town":"Leeds"}}';
  const stored = { Name: "Acme", Address: { Town: "Leeds" } };
  test.each<[string, string]>([
    ['{"Name":"Acme","City":"Leeds"}', "did you mean `Address.Town`?"],
    ['{"Name":"Acme","Address":{"City":"Leeds"}}', "did you mean `Address.Town`?"],
    ['{"Name":"Acme","Telephone":{"Town":"Leeds"}}', "did you mean `Address.Town`?"],
    ['{"Name":"Acme","Contact":{"Town":"Leeds"}}', "did you mean `Address`?"],
    ['{"Name":"Acme","Address":{"Address":{"Town":"Leeds"}}}', "write its members in `Address` itself"],
    ['{"vendor":"Acme","Address":{"Town":"Leeds"}}', "did you mean `Name`?"],
    ['{"Name ":"Acme","Address":{"Town":"Leeds"}}', "did you mean `Name`? The name you sent ends with a space"],
    ['{"\\tName":"Acme","Address":{"Town":"Leeds"}}', "The name you sent starts with U+0009 (tab)"],
    ['{"Na\u200bme":"Acme"}', "The name you sent contains U+200B (zero-width space)"],
    ['{"\ufeffName":"Acme"}', "The name you sent starts with U+FEFF (byte order mark)"],
    ['{"Name\u00a0":"Acme"}', "The name you sent ends with U+00A0 (no-break space)"],
    ['{"N\u0430me":"Acme"}', "contains `\u0430` (U+0430, a Cyrillic letter)"],
    ['{"Ｎａｍｅ":"Acme"}', "did you mean `Name`? The name you sent starts with `Ｎ` (U+FF2E, not `N`)"],
    [
      '{"Name":"Acme","Address":{"Town\u2028":"Leeds"}}',
      "did you mean `Address.Town`? The name you sent ends with U+2028",
    ],
    [`{"brand":${town}}`, "send the record without `brand` around it"],
    ['{"brand":{"name":"Acme"}}', "send the record without `brand` around it"],
    [`{"data":{"type":"brands","attributes":${town}}}`, "send the record without `data.attributes` around it"],
    [`{"Results":[${town},${town}]}`, "send one record of `Results` alone, or several as a batch request"],
    [`{"d":{"results":[${town}]}}`, "send one record of `d.results` alone"],
    [`{"records":[{"fields":${town}}]}`, "send one record of `records.fields` alone"],
    [`{"data":{"brands":{"edges":[{"node":${town}}]}}}`, "send one record of `data.brands.edges.node` alone"],
  ])("%s", (wrong, says) => expectAdvice("json", wrong, says, town, stored));

  test.each<[string, string]>([
    ["Address.Address1", "Address.AddressLine1"],
    ["Address.Address", "Address.AddressLine1"],
    ["Address.Line1", "Address.AddressLine1"],
    ["Address.Street", "Address.AddressLine1"],
    ["address_line_1", "Address.AddressLine1"],
    ["Street2", "Address.AddressLine2"],
    ["Phone", "Telephone.Daytime"],
    ["Address.Phone", "Telephone.Daytime"],
    ["Telephone.Cell", "Telephone.Mobile"],
    ["mobile_phone", "Telephone.Mobile"],
    ["Zip", "Address.Postcode"],
    ["zip_code", "Address.Postcode"],
    ["PostalCode", "Address.Postcode"],
    ["State", "Address.County"],
    ["FirstName", "Address.Firstname"],
    ["Address.last_name", "Address.Surname"],
    ["country_code", "Address.Country"],
    ["supplier_no", "AccountNumber"],
  ])("%s: did you mean %s?", async (sent, meant) => {
    const of = (path: string) => {
      const [name = "", member] = path.split(".");
      return JSON.stringify({ Name: "Acme", [name]: member ? { [member]: "GB" } : "GB" });
    };
    await expectAdvice("json", of(sent), `did you mean \`${meant}\`?`, of(meant), JSON.parse(of(meant)));
  });

  test("nothing similar: lists the fields of the group", async () => {
    const response = await ways.record("json", '{"Name":"x","Telephone":{"Pager":"1"},"Address":{"Line3":"x"}}');
    expect(textOf(response)).toContain("`Telephone` has Daytime, Evening, Mobile");
    expect(textOf(response)).not.toContain("did you mean");
  });
});

describe("advice on a JSON list", () => {
  test("a JSON Patch: shows the fields to send instead", async () => {
    const { json: brand } = await ways.record("json", '{"Name":"Acme","Address":{"County":"x"}}');
    const patch = [
      { op: "replace", path: "/Name", value: "Bolt" },
      { op: "add", path: "/Address/Town", value: "Leeds" },
      { op: "remove", path: "/Address/County" },
    ];
    const headers = { "Content-Type": "application/json-patch+json" };
    const rejected = await server.call("PATCH", `/restapi/brands/${brand.ID}.json`, { body: patch, headers });
    const [, advice = ""] =
      /not a JSON Patch; send the fields to change with PUT or PATCH: `(.*)`/.exec(textOf(rejected)) ?? [];
    expect([rejected.status, textOf(rejected)]).toEqual([400, expect.not.stringContaining("batch")]);
    const { json } = await server.call("PATCH", `/restapi/brands/${brand.ID}.json`, { body: advice });
    expect(json).toMatchObject({ Name: "Bolt", Address: { Town: "Leeds", County: "" } });
  });

  test.each([
    ["a test", [{ op: "test", path: "/Name", value: "x" }]],
    ["an unknown field", [{ op: "add", path: "/__proto__/x", value: "x" }]],
    ["a value that isn't a string", [{ op: "add", path: "/Name", value: 5 }]],
    ["a long value", [{ op: "add", path: "/Name", value: "x".repeat(300) }]],
  ])("a JSON Patch with %s: no example", async (_, body) => {
    const { status, json } = await server.call("PATCH", "/restapi/brands/1.json", { body });
    expect([status, json.detail]).toEqual([400, expect.stringMatching(/send the fields to change with PUT or PATCH$/)]);
  });

  test("one record: send it alone; several: send a batch request", async () => {
    expect(textOf(await ways.record("json", '[{"Name":"x"}]'))).toContain("remove the `[` and `]`");
    const several = textOf(await ways.record("json", '[{"Name":"x"},{"Name":"y"}]'));
    expect(several).toContain("to send several, use a batch request: POST /restapi/batch.json");
    expect(several).not.toContain("without");
  });

  test("operations: shows the batch path", async () => {
    const response = await ways.record("json", '{"Operations":[{"Method":"POST","Resource":"brands"}]}');
    expect(textOf(response)).toContain("send a batch request to /restapi/batch.json");
  });
});

test.each<[string, string]>([
  ["GB ", "this value ends with a space"],
  ["G\u200bB", "this value contains U+200B (zero-width space)"],
  ["G\u200bB\u200b", "this value contains U+200B (zero-width space)"],
  ["\u0421\u0412", "this value starts with `\u0421` (U+0421, a Cyrillic letter)"],
])("a country code with invisible characters (%j): names them", async (Country, says) => {
  const response = await ways.record("json", JSON.stringify({ Name: "x", Address: { Country } }));
  expect(textOf(response)).toContain(says);
});

test("invisible characters in a batch's method, resource or member: names them", async () => {
  const operation = { Method: "POST\u200b", Resource: "brands ", "Rec\u00adord": {} };
  const { json } = await server.call("POST", "/restapi/batch.json", { body: { Operations: [operation] } });
  const text = json.errors.map(({ detail }: { detail: string }) => detail).join("\n");
  expect(text).toContain("did you mean `POST`? The name you sent ends with U+200B (zero-width space)");
  expect(text).toContain("did you mean `brands`? The name you sent ends with a space");
  expect(text).toContain("did you mean `Record`? The name you sent contains U+00AD (soft hyphen)");
});

describe("a body that isn't UTF-8", () => {
  const latin1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
  test.each<[string, string, number, number, string]>([
    ["Windows-1252", '\xc3\xa9\n"\xe9"', 2, 2, "byte 0xE9 isn't UTF-8; it's `é` in Windows-1252"],
    ["a Windows curly quote", "a\x93b", 1, 2, "byte 0x93 isn't UTF-8; it's `“` in Windows-1252"],
    ["Shift JIS", "a\x82\xa0", 1, 2, "byte 0x82 isn't UTF-8; send UTF-8"],
    ["a byte that no encoding has", "\x81a", 1, 1, "byte 0x81 isn't UTF-8; send UTF-8"],
    ["CESU-8", "\xed\xa0\xbd\xed\xb8\x80", 1, 1, "byte 0xED begins half of a surrogate pair"],
    ["an overlong sequence", "\xc0\x80", 1, 1, "byte 0xC0 isn't UTF-8"],
    ["a sequence that is cut off", "ab\xe2\x82", 1, 3, "whose other bytes are missing"],
    ["gzip", "\x1f\x8b\x08", 1, 2, "it's compressed with gzip"],
  ])("%s: shows the line, column and byte", async (_, text, line, column, says) => {
    const body = latin1(text);
    for (const format of ["json", "xml"]) {
      for (const path of ["brands", "batch", "undo"]) {
        const response = await server.call("POST", `/restapi/${path}.${format}`, { body });
        expect([path, response.status, textOf(response)]).toEqual([path, 400, expect.stringContaining(says)]);
        expect(textOf(response)).toContain(`the body isn't valid UTF-8: line ${line}, column ${column}: `);
      }
    }
  });

  const encodings: [string, (text: string) => Buffer][] = [
    ["UTF-16LE", (text) => Buffer.from(text, "utf16le")],
    ["UTF-16BE", (text) => Buffer.from(text, "utf16le").swap16()],
    ["UTF-32", (text) => Buffer.from(new Uint32Array([...text].map((one) => one.codePointAt(0) ?? 0)).buffer)],
    ["UTF-32", (text) => Buffer.from(new Uint32Array([...text].map((one) => one.codePointAt(0) ?? 0)).buffer).swap32()],
  ];
  test.each(encodings)("%s (%#): recognized with and without a byte order mark", async (name, encode) => {
    for (const text of ["x", "é", "😀", "漢"]) {
      for (const mark of ["", "\ufeff"]) {
        for (const path of ["brands", "batch"]) {
          const json = await server.call("POST", `/restapi/${path}.json`, {
            body: encode(`${mark}{"Name":"${text}"}`),
          });
          expect([json.status, textOf(json)]).toEqual([400, expect.stringContaining(`${name}; send UTF-8`)]);
          const body = encode(`${mark}<Brand><Name>${text}</Name></Brand>`);
          const xml = await server.call("POST", `/restapi/${path}.xml`, { body });
          expect([xml.status, textOf(xml)]).toEqual([415, `the body is in ${name}; send UTF-8`]);
        }
      }
    }
  });
});

describe("advice at /mcp", () => {
  test("a message that isn't JSON: line, column and advice", async () => {
    const { status, json } = await sendMessage(server, '{"jsonrpc":"2.0",\n"id":None}');
    expect([status, json.error.message]).toEqual([
      400,
      "the body isn't valid JSON: line 2, column 6: expected a value, not `N`; `None` isn't JSON; leave the field out, or send `\"\"` for an empty value",
    ]);
  });

  test("a misspelt field in a record: same advice as elsewhere", async () => {
    const operations = [{ Method: "POST", Resource: "brands", Record: { Name: "x", "Zip ": "1" } }];
    const { data } = await callTool(server, "batch", { operations });
    expect(data.detail).toContain("did you mean `Address.Postcode`? The name you sent ends with a space");
  });
});

describe("advice on a raw character in the request line", () => {
  test.each([
    ["space", "GET /restapi/brands.json?filter[Name]=Smith Sons HTTP/1.1", "has a raw space; write it as `%20`"],
    ["tab", "GET /restapi/a\tb HTTP/1.1", "has a raw U+0009 (tab); write it as `%09`"],
    ["extra space", "GET  /restapi/brands.json HTTP/1.1", "more than one space before or after the target"],
    ["NUL", "GET /a\0 HTTP/1.1", "has a raw U+0000 (NUL)"],
  ])("%s", async (_, line, says) => {
    const [response] = await exchangeOnce(server.port, toRequest(line, [`X-API-AUTH: ${server.key}`]));
    expect([response?.status, JSON.parse(response?.body as string).detail]).toEqual([
      400,
      expect.stringContaining(says),
    ]);
  });
});
