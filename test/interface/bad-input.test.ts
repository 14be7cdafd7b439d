// Invalid bodies: each gets the right problem and changes nothing.

import { afterAll, describe, expect, test } from "bun:test";
import { startTestServer } from "../support/http/server.ts";

const server = await startTestServer();
await server.call("POST", "/restapi/brands.json", { body: { Name: "Acme" } });
const before = (await server.call("GET", "/restapi/brands.json")).text;
afterAll(async () => {
  expect((await server.call("GET", "/restapi/brands.json")).text).toBe(before);
  await server.stop();
});

const bytes = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
const deep = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000);

describe("invalid JSON", () => {
  test.each<[string, string | Uint8Array, string]>([
    ["empty", "", "the body is empty"],
    ["blank", " \n", "the body is empty"],
    ["cut short", '{"Name":"Ac', "isn't valid JSON"],
    ["not JSON", "Name=Acme", "isn't valid JSON"],
    ["XML", "<Brand/>", "isn't valid JSON"],
    ["with more after it", '{"Name":"a"} {}', "isn't valid JSON"],
    ["with a comment", '{"Name":"a"/**/}', "isn't valid JSON"],
    ["not UTF-8", bytes('{"Name":"\xff"}'), "isn't valid UTF-8"],
    ["with an overlong sequence", bytes('{"Name":"\xc0\xaf"}'), "isn't valid UTF-8"],
    ["UTF-16", bytes("\xff\xfe{\x00}\x00"), "isn't valid UTF-8"],
    ["nested too deeply", `{"Name":${deep("[", "]")}}`, "nested too deeply"],
    // Naming each of these errors by its path would take a minute and block every other request.
    [
      "nested too deeply with repeated names",
      `${'{"a":'.repeat(20_000)}{${'"b":1,'.repeat(100_000)}"b":1}${"}".repeat(20_000)}`,
      "nested too deeply",
    ],
  ])("a body: %s", async (_, body, detail) => {
    const response = await server.call("POST", "/restapi/brands.json", { body });
    expect([response.status, response.headers.get("Content-Type")]).toEqual([400, "application/problem+json"]);
    expect(response.json.detail).toContain(detail);
  });

  const name = { Name: "x" };
  test.each<[string, unknown, Record<string, string>]>([
    ["null", null, { "": "send an object with one brand, not null" }],
    [
      "an array",
      [name],
      {
        "": "send an object with one brand, not an array: remove the `[` and `]` around it; to send several, use a batch request: POST /restapi/batch.json",
      },
    ],
    ["a string", '"Acme"', { "": "send an object with one brand, not a string" }],
    ["without Name", { AccountNumber: "1" }, { Name: "a value is required" }],
    ["with an empty Name", { Name: "" }, { Name: "a value is required" }],
    ["with an ID", { ...name, ID: 7 }, { ID: "leave it out; the server assigns the ID of a new record" }],
    [
      "with a misspelt field",
      { ...name, accountNumber: "" },
      { accountNumber: "unknown field; did you mean `AccountNumber`?" },
    ],
    [
      "with a misspelt field in a group",
      { ...name, Address: { town: "" } },
      { "Address.town": "unknown field; did you mean `Address.Town`?" },
    ],
    ["with a field like no other", { ...name, qwertyuiop: "" }, { qwertyuiop: "unknown field" }],
    ["with a number", { Name: 5 }, { Name: "send a string, not a number; put it in double quotes" }],
    ["with a boolean", { Name: true }, { Name: "send a string, not a boolean; put it in double quotes" }],
    ["with null", { Name: null }, { Name: "send a string, not null" }],
    [
      "with null for a field that may be absent",
      { ...name, AccountNumber: null },
      { AccountNumber: 'send a string, not null; leave the field out, or send `""` to empty it' },
    ],
    ["with an object for a string", { Name: {} }, { Name: "send a string, not an object" }],
    [
      "with a string for a group",
      { ...name, Telephone: "1" },
      { Telephone: 'send an object, not a string; write it as `{"Daytime": ...}`' },
    ],
    ["with an array for a group", { ...name, Address: [""] }, { Address: "send an object, not an array" }],
    [
      "with an empty array for a group, as PHP encodes an empty object",
      { ...name, Address: [], Telephone: [] },
      {
        Address: "send an object, not an empty array; send `{}`",
        Telephone: "send an object, not an empty array; send `{}`",
      },
    ],
    ["that is an empty array", [], { "": "send an object with one brand, not an empty array; send `{}`" }],
    ["with a repeated name", '{"Name":"a","Name":"b"}', { Name: "send it only once" }],
    ["with a repeated escaped name", '{"Name":"a","N\\u0061me":"b"}', { Name: "send it only once" }],
    [
      "with a repeated name in a group",
      '{"Name":"a","Address":{"Town":"","Town":""}}',
      { "Address.Town": "send it only once" },
    ],
    ["with __proto__", '{"Name":"a","__proto__":{"AccountNumber":"1"}}', { __proto__x: "" }],
    ["with constructor", { ...name, constructor: "x" }, { constructor: "unknown field" }],
    ["with a control character", { Name: "a\u0000" }, { Name: "remove U+0000 (NUL), which XML can't carry" }],
    ["with U+FFFE", { Name: "\ufffe" }, { Name: "remove U+FFFE (noncharacter), which XML can't carry" }],
    [
      "with half a surrogate pair",
      '{"Name":"\\ud83d"}',
      { Name: "remove U+D83D (half of a surrogate pair), or send the whole character" },
    ],
    ["with a Name that is too long", { Name: "x".repeat(256) }, { Name: "use 255 characters or fewer (this has 256)" }],
    [
      "with a country that does not exist",
      { ...name, Address: { Country: "Atlantis" } },
      { "Address.Country": "use a country code of 2 or 3 letters, such as GB" },
    ],
    [
      "with the name of a country",
      { ...name, Address: { Country: "Deutschland" } },
      { "Address.Country": "use a country code of 2 or 3 letters, such as DE for Germany" },
    ],
    [
      "with a space after the country",
      { ...name, Address: { Country: "DE " } },
      { "Address.Country": "use a country code of 2 or 3 letters, such as DE; this value ends with a space" },
    ],
    [
      "with a country of digits",
      { ...name, Address: { Country: "12" } },
      { "Address.Country": "use a country code of 2 or 3 letters, such as GB" },
    ],
    [
      "with many errors at once",
      { name: "x", Name: 1, Address: { Town: 2 } },
      {
        name: "unknown field; did you mean `Name`?",
        Name: "send a string, not a number; put it in double quotes",
        "Address.Town": "send a string, not a number; put it in double quotes",
      },
    ],
  ])("a record: %s", async (title, body, faults) => {
    const response = await server.call("POST", "/restapi/brands.json", {
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    expect([response.status, response.json.type]).toEqual([400, "/docs/problems/invalid-record"]);
    const named = Object.fromEntries(
      response.json.errors.map(({ field, detail }: Record<string, string>) => [
        `${field}${field === "__proto__" ? "x" : ""}`,
        detail,
      ]),
    );
    if (title === "with __proto__") expect(Object.keys(named)).toEqual(["__proto__x"]);
    else expect(named).toEqual(faults);
    const [first, ...others] = response.json.errors;
    const more = others.length > 0 ? ` (and ${others.length} more)` : "";
    expect(response.json.detail).toBe(`${first.field ? `\`${first.field}\`: ` : ""}${first.detail}${more}`);
    expect(response.json.instance).toBe(response.headers.get("X-Request-Id"));
  });

  test.each([
    "0",
    "-1",
    "1.5",
    "1e300",
    '"1"',
    "true",
    "null",
    "[1]",
    "100000000000000000000",
    "9007199254740993",
  ])("an update with the ID %s", async (id) => {
    const response = await server.call("PUT", "/restapi/brands.json", { body: `{"ID":${id},"Name":"x"}` });
    expect(response.status).toBe(400);
    const rest = id === '"1"' ? '"1"; remove the quotes' : "";
    expect(response.json.errors).toEqual([
      {
        field: "ID",
        code: "invalid-id",
        detail: expect.stringContaining(`use a whole number, 1 or more, not ${rest}`),
      },
    ]);
  });

  test("an update that empties the Name", async () => {
    const response = await server.call("PUT", "/restapi/brands/1.json", { body: { Name: "" } });
    expect([response.status, response.json.errors]).toEqual([
      400,
      [{ field: "Name", code: "required", detail: "a value is required" }],
    ]);
  });
});

const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

describe("invalid XML", () => {
  test.each<[string, string | Uint8Array, number, string]>([
    ["empty", "", 400, "the body is empty"],
    ["JSON", '{"Name":"x"}', 400, "isn't well-formed"],
    ["cut short", "<Brand><Name>x", 400, "isn't well-formed"],
    ["with two roots", "<Brand><Name>x</Name></Brand><Brand/>", 400, "isn't well-formed"],
    ["with an unknown entity", "<Brand><Name>&auml;</Name></Brand>", 400, "isn't well-formed"],
    ["with a NUL reference", "<Brand><Name>&#0;</Name></Brand>", 400, "isn't well-formed"],
    [
      "with a DOCTYPE",
      '<!DOCTYPE Brand [<!ENTITY e "x">]><Brand><Name>&e;</Name></Brand>',
      400,
      "a DOCTYPE isn't allowed",
    ],
    [
      "with an external entity",
      '<?xml version="1.0"?><!-- > --><!DOCTYPE Brand [<!ENTITY e SYSTEM "file:///etc/passwd">]><Brand><Name>&e;</Name></Brand>',
      400,
      "a DOCTYPE isn't allowed",
    ],
    [
      "with an entity bomb",
      `<!DOCTYPE x [<!ENTITY a "${"x".repeat(1000)}"><!ENTITY b "${"&a;".repeat(1000)}">]><Brand><Name>&b;</Name></Brand>`,
      400,
      "a DOCTYPE isn't allowed",
    ],
    [
      "with a long comment before its DOCTYPE",
      `<!--${" -".repeat(400_000)} --><!DOCTYPE x><Brand/>`,
      400,
      "a DOCTYPE isn't allowed",
    ],
    [
      "with a very long comment before its DOCTYPE",
      `<!--${"a".repeat(1_048_000)}--><!DOCTYPE Brand [<!ENTITY e "x">]><Brand><Name>x</Name></Brand>`,
      400,
      "a DOCTYPE isn't allowed",
    ],
    [
      "with another root",
      "<brand><Name>x</Name></brand>",
      400,
      "the root element must be &lt;Brand&gt;, not &lt;brand&gt;",
    ],
    ["not UTF-8", bytes("<Brand><Name>\xe9</Name></Brand>"), 400, "isn't valid UTF-8"],
    [
      "declared as another encoding",
      bytes('<?xml version="1.0" encoding="ISO-8859-1"?><Brand><Name>\xe9</Name></Brand>'),
      415,
      "declares the encoding ISO-8859-1",
    ],
    [
      "declared as another encoding after many blanks",
      `<?xml version="1.0"${" ".repeat(1000)}encoding="ISO-8859-1"?><Brand><Name>x</Name></Brand>`,
      415,
      "declares the encoding ISO-8859-1",
    ],
    [
      "declared as UTF-16",
      '<?xml version="1.0" encoding="utf-16"?><Brand><Name>x</Name></Brand>',
      415,
      "declares the encoding utf-16",
    ],
    ["UTF-16", bytes("\xff\xfe<\x00B\x00"), 415, "UTF-16"],
    ["nested too deeply", deep("<a>", "</a>"), 400, "nested too deeply"],
  ])("a body: %s", async (_, body, status, detail) => {
    const response = await server.call("POST", "/restapi/brands.xml", { body });
    expect([response.status, response.headers.get("Content-Type")]).toEqual([status, "application/problem+xml"]);
    expect(response.text).toStartWith('<?xml version="1.0" encoding="utf-8"?>\n<problem xmlns="urn:ietf:rfc:7807">');
    expect(response.text).toContain(detail);
  });

  test.each<[string, string, [string, string][]]>([
    ["a repeated element", "<Brand><Name>a</Name><Name>b</Name></Brand>", [["Name", "send it only once"]]],
    ["a repeated group", "<Brand><Name>a</Name><Address/><Address/></Brand>", [["Address", "send it only once"]]],
    [
      "an unknown element",
      "<Brand><Name>a</Name><AcountNumber>b</AcountNumber></Brand>",
      [["AcountNumber", "unknown field; did you mean &lt;AccountNumber&gt;?"]],
    ],
    ["an unknown attribute", '<Brand lang="en"><Name>a</Name></Brand>', [["lang", "unknown field"]]],
    ["an attribute on a field", '<Brand><Name ID="1">a</Name></Brand>', [["Name.ID", "unknown field"]]],
    [
      "another namespace",
      '<Brand xmlns="urn:x"><Name>a</Name></Brand>',
      [["xmlns", "unknown field; elements have no namespace here, so leave out `xmlns`"]],
    ],
    [
      "xsi:nil",
      `<Brand ${xsi}><Name xsi:nil="true"/><Address xsi:nil=" 1 "/></Brand>`,
      [
        ["Name", "`xsi:nil` isn't supported; leave out the element, or send it empty"],
        ["Address", "`xsi:nil` isn't supported; leave out the element, or send its fields empty"],
      ],
    ],
    [
      "xsi:nil without its namespace",
      '<Brand><Name>a</Name><AccountNumber xsi:nil="true"/></Brand>',
      [["AccountNumber", "`xsi:nil` isn't supported; leave out the element, or send it empty"]],
    ],
    [
      "xsi:nil by another prefix",
      `<Brand ${xsi.replace("xsi", "i")}><Name>a</Name><AccountNumber i:nil="true"/></Brand>`,
      [["AccountNumber", "`i:nil` isn't supported; leave out the element, or send it empty"]],
    ],
    [
      "xsi without a declaration",
      '<Brand xsi:schemaLocation="a b"><Name>a</Name></Brand>',
      [["xsi:schemaLocation", `unknown field; declare its prefix with \`${xsi}\``]],
    ],
    [
      "xsi as another namespace",
      '<Brand xmlns:xsi="urn:x" xsi:type="Brand"><Name>a</Name></Brand>',
      [["xsi:type", `unknown field; declare its prefix with \`${xsi}\``]],
    ],
    [
      "attributes that these namespaces do not have, and one without a namespace",
      `<Brand ${xsi} xsi:lang="en" xml:id="a" lang="en" x:schemaLocation="a"><Name>a</Name></Brand>`,
      [
        ["xsi:lang", "unknown field"],
        ["xml:id", "unknown field"],
        ["lang", "unknown field"],
        ["x:schemaLocation", "unknown field"],
      ],
    ],
    [
      "another type",
      `<Brand ${xsi}><Name xsi:type="xs:int">1</Name></Brand>`,
      [["Name.xsi:type", "unknown field; leave it out, because each element has only one type here"]],
    ],
    ["stray text", "<Brand>hello<Name>a</Name></Brand>", [["Brand", 'remove the text "hello"']]],
    [
      "a stray no-break space",
      "<Brand>\u00a0<Name>a</Name></Brand>",
      [["Brand", "remove the text U+00A0 (no-break space)"]],
    ],
    [
      "stray text in a group",
      "<Brand><Name>a</Name><Address>x</Address></Brand>",
      [["Address", 'remove the text "x", or write it in an element such as &lt;AddressLine1&gt;']],
    ],
    [
      "an element inside text",
      "<Brand><Name>a<b/></Name></Brand>",
      [["Name", "send a string, not &lt;b&gt;; leave out the tag, or write its `&lt;` as `&amp;lt;`"]],
    ],
    ["__proto__", "<Brand><Name>a</Name><__proto__>x</__proto__></Brand>", [["__proto__", "unknown field"]]],
    [
      "an ID",
      '<Brand ID="3"><Name>a</Name></Brand>',
      [["ID", "leave it out; the server assigns the ID of a new record"]],
    ],
    [
      "errors of several kinds",
      '<Brand x="1">y<Name></Name></Brand>',
      [
        ["x", "unknown field"],
        ["Brand", 'remove the text "y"'],
        ["Name", "a value is required"],
      ],
    ],
  ])("a record with %s", async (_, body, faults) => {
    const response = await server.call("POST", "/restapi/brands.xml", { body });
    expect(response.status).toBe(400);
    for (const [field, detail] of faults)
      expect(response.text).toContain(`<i><field>${field}</field><detail>${detail}</detail>`);
    expect(response.text.match(/<i><field>/g)).toHaveLength(faults.length);
  });

  test.each([
    ["text before the root", "<!-- -->\n  stray<Brand/>", "line 2, column 3"],
    ["text after the root", "<Brand><Name>a</Name></Brand>\n stray", "line 2, column 2"],
    ["]]> in a text", "<Brand>\n<Name>a]]></Name></Brand>", "line 2, column 8"],
  ])("the error shows the position of %s", async (_, body, position) => {
    expect((await server.call("POST", "/restapi/brands.xml", { body })).text).toContain(position);
  });

  test.each(['ID="0"', 'ID="01"', 'ID="x"', 'ID=""'])("an update with %s", async (attribute) => {
    const response = await server.call("PUT", "/restapi/brands.xml", {
      body: `<Brand ${attribute}><Name>x</Name></Brand>`,
    });
    expect(response.status).toBe(400);
    expect(response.text).toContain("use a whole number, 1 or more");
  });

  test("an update whose ID element and attribute differ", async () => {
    const response = await server.call("PUT", "/restapi/brands.xml", {
      body: '<Brand ID="1"><ID>2</ID><Name>x</Name></Brand>',
    });
    expect([response.status, response.text.includes("the attribute says 1, the element")]).toEqual([400, true]);
  });
});

test.each([
  "text/plain; charset=iso-8859-1",
  'application/json; charset="windows-1252"',
])("Content-Type %s is rejected", async (type) => {
  const response = await server.call("POST", "/restapi/brands.json", {
    body: '{"Name":"x"}',
    headers: { "Content-Type": type },
  });
  expect([response.status, response.json.type]).toEqual([415, "/docs/problems/unsupported-media-type"]);
});

test("body size: 1 MiB is accepted, more is rejected", async () => {
  const fill = (size: number) => `{"Name":"${"x".repeat(size - 11)}"}`;
  const large = await server.call("POST", "/restapi/brands.json", { body: fill(1024 * 1024 + 1) });
  expect([large.status, large.json.type]).toEqual([413, "/docs/problems/too-large"]);
  const most = await server.call("POST", "/restapi/brands.json", { body: fill(1024 * 1024) });
  expect([most.status, most.json.errors[0].field]).toEqual([400, "Name"]);
});
