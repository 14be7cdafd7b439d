// Our JSON and XML parsers (src/formats/json-parser.ts, src/formats/xml-parser.ts) accept the same texts and return the same values as other parsers.

import { describe, expect, test } from "bun:test";
import { XML } from "bun";
import fc from "fast-check";
import { ParseOption, XmlDocument } from "libxml2-wasm";
import { decodeJson } from "../../../src/formats/json.ts";
import { parseJson } from "../../../src/formats/json-parser.ts";
import { parseXml, type XmlElement } from "../../../src/formats/xml-parser.ts";
import { ProblemError } from "../../../src/model/errors.ts";

/** Returns the result of `read`; undefined if it rejects the text. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return undefined;
  }
}

const readJson = (text: string) => parseJson(text, Number.POSITIVE_INFINITY);
/** Parses a text that is too long for JSON.parse. */
const readLongJson = (text: string, maxCount = Number.POSITIVE_INFINITY) =>
  parseJson(text + " ".repeat(16 * 1024), maxCount);

/** JSON texts of values that nest, with space anywhere and names that repeat. */
const jsonTexts = fc.letrec<{ value: string }>((tie) => {
  const space = fc.constantFrom("", "", "", " ", "\n\t");
  const scalar = fc.constantFrom(
    '""',
    '"a"',
    '"\\""',
    '"\\\\"',
    '"é\\u00e9"',
    '"{\\"a\\":"',
    "1",
    "-0.5e3",
    "true",
    "null",
  );
  const inner = fc.oneof({ maxDepth: 10, withCrossShrink: true }, scalar, tie("value"));
  const name = fc.constantFrom('"a"', '"b"', '"\\u0061"', '"__proto__"', '"1"', '""');
  const member = fc
    .tuple(space, name, space, inner)
    .map(([before, key, after, value]) => `${before}${key}${after}:${value}`);
  const joined = (items: fc.Arbitrary<string>) => fc.array(items, { maxLength: 4 }).map((all) => all.join(","));
  const object = fc.tuple(joined(member), space).map(([members, end]) => `{${members}${end}}`);
  const array = fc.tuple(joined(inner), space).map(([items, end]) => `[${items}${end}]`);
  return { value: fc.oneof({ maxDepth: 10 }, scalar, object, array) };
}).value;

/** Texts of `pieces` in any order: nearly valid, or valid by chance. */
function nearly(...pieces: string[]): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...pieces), { maxLength: 14 }).map((parts) => parts.join(""));
}

describe("JSON", () => {
  test("any value: same as JSON.parse", () => {
    const value = fc.jsonValue({ maxDepth: 3, stringUnit: "binary" });
    const property = fc.property(value, fc.constantFrom(0, 2), (any, indent) => {
      const text = JSON.stringify(any, null, indent);
      expect(JSON.stringify(readLongJson(text).input)).toBe(JSON.stringify(JSON.parse(text)));
    });
    fc.assert(property, { numRuns: 500 });
  });

  test("accepts exactly what JSON.parse accepts", () => {
    const pieces = [
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      "a",
      "\\",
      "\\n",
      "\\u00e9",
      "\\ud83d",
      "-",
      "0",
      "1",
      ".5",
      "e+1",
    ];
    const text = nearly(
      ...pieces,
      " ",
      "\n",
      "\t",
      "\u00a0",
      "\u0001",
      "true",
      "null",
      "'",
      "é",
      '"a":',
      '{"a":1}',
      "/**/",
      "\ufeff",
    );
    const property = fc.property(text, (any) => {
      const theirs = attempt(() => JSON.stringify(JSON.parse(any)));
      expect(attempt(() => JSON.stringify(readLongJson(any).input))).toBe(theirs as string);
    });
    fc.assert(property, { numRuns: 5000 });
  });

  test("same value, field errors and problem with or without JSON.parse", () => {
    const told = (read: () => { input: unknown; fieldErrors: readonly unknown[] }) => {
      try {
        const { input, fieldErrors } = read();
        return JSON.stringify({ input, fieldErrors });
      } catch (error) {
        return String(error);
      }
    };
    const property = fc.property(jsonTexts, fc.constantFrom(3, 1000), (text, maxCount) => {
      expect(told(() => decodeJson(text, maxCount))).toBe(told(() => readLongJson(text, maxCount)));
    });
    fc.assert(property, { numRuns: 5000 });
  });

  test.each<[string, boolean]>([
    ['{"Name":"Acme","Address":{"Town":"York"}}', true],
    ['{ "Name" : "A \\"c\\" \\\\" , "ID" : 12.0 }', true],
    ['{"Name":"a","Name":"b"}', false],
    ['{"Address":{"Town":"a","Town":"a"}}', false],
    ['{"Name":"a","\\u004eame":"b"}', false],
    ['{"a":[[[[[[[[1]]]]]]]]}', true],
    ['{"a":[1,2,3,4,5,6,7,8,9,10]}', true],
    ['{"a":[1,2,3,4,5,6,7,8,9,10,11]}', false],
    [`{"a":"${"a".repeat(16 * 1024)}"}`, false],
  ])("%s is parsed by JSON.parse: %p", (text, isParsedByRuntime) => {
    const { input, fieldErrors } = parseJson(text, 12);
    // Our own parser makes objects without a prototype.
    expect(Object.getPrototypeOf(input)).toBe(isParsedByRuntime ? Object.prototype : null);
    if (isParsedByRuntime) expect([input, fieldErrors]).toEqual([JSON.parse(text), []]);
  });

  test.each([
    ['{"a":1,"a":2}', ["a"]],
    ['{"a":{"b":1,"b":2},"b":3}', ["a.b"]],
    ['{"a":1,"\\u0061":2,"a":3}', ["a", "a"]],
    ['[{"a":1},{"a":1}]', []],
    ['{"__proto__":1,"toString":2}', []],
    ['{"__proto__":1,"__proto__":2}', ["__proto__"]],
  ])("%s repeats %j", (text, fields) => {
    expect(readJson(text).fieldErrors).toEqual(
      fields.map((field) => ({ field, code: "duplicate-field" as const, detail: "send it only once" })),
    );
  });

  test.each<[string, number, number, string]>([
    ["{\n  \"Name\": 'x'\n}", 2, 11, "expected a value, not `'`; JSON takes double quotes only"],
    ['{"a":1,}', 1, 8, "expected a name in double quotes, not `}`; remove the comma before it"],
    ['{"a" 1}', 1, 6, "expected `:` after the name, not `1`"],
    ['{"a":1 "b":2}', 1, 8, 'expected `,` or `}`, not `"`; a comma is missing before it'],
    ['{"a":1', 1, 7, "expected `,` or `}`, not the end of the text; the end is missing"],
    ["[1,\r\n2,\r3\n4]", 4, 1, "expected `,` or `]`, not `4`"],
    ['{"\u{1f600}":"é" x', 1, 10, 'expected `,` or `}`, not `x`; write a `"` inside a string as `\\"`'],
    ['{"a":"b\nc"}', 1, 8, "a string must not contain U+000A (line feed) as it is; write `\\n`"],
    ['{"a":"C:\\dir"}', 1, 9, "`\\d` isn't a JSON escape; write each literal backslash as `\\\\`"],
    ['{"a":"b', 1, 6, "unterminated string"],
    ["{a:1}", 1, 2, 'expected a name in double quotes, not `a`; names need double quotes: write `"a"`'],
    ['{"a":1} // x', 1, 9, "`/` follows the end of the value; JSON has no comments"],
    ["{/**/}", 1, 2, "expected a name in double quotes, not `/`; JSON has no comments"],
    ["01", 1, 2, "`1` follows the end of the value"],
    ['{"a":\u00a01}', 1, 6, "expected a value, not U+00A0 (no-break space); use a normal space, or none"],
  ])("%j is wrong at line %i, column %i", (text, line, column, detail) => {
    expectPlace(() => readJson(text), { field: "", code: "syntax", line, column, detail });
  });
});

describe("XML", () => {
  const declaration = '<?xml version="1.0"?>';
  const pieces = [
    "<a>",
    "</a>",
    "<b/>",
    "<b",
    ' c="1"',
    " c='&lt;\r\n'",
    ' c=""',
    ">",
    "/>",
    "x",
    "&amp;",
    "&#13;",
    "&#x1F600;",
    "&#0;",
  ];
  const text = nearly(
    ...pieces,
    "&",
    "]]>",
    "<![CDATA[",
    "<!--",
    "-->",
    "--",
    "<?p ?>",
    "<?p",
    "?>",
    "\r\n",
    "\r",
    "\t",
    "<",
    "é",
    declaration,
  );
  const whole = fc
    .tuple(fc.constantFrom("", declaration), text, fc.constantFrom("", "<a>"))
    .map(([start, middle, open]) => {
      return `${start}${open}${middle}${open === "" ? "" : "</a>"}`;
    });

  test("same elements as the runtime's parser", () => {
    const property = fc.property(whole, (any) => {
      const theirs = attempt(() => JSON.stringify(plain(XML.parse(any, { compact: false }) as unknown as Their)));
      expect(attempt(() => JSON.stringify(plain(parseXml(any).root)))).toBe(theirs as string);
    });
    fc.assert(property, { numRuns: 8000 });
  });

  test("accepts exactly what libxml2 accepts", () => {
    const property = fc.property(whole, (any) => {
      expect([any, isAccepted(any)]).toEqual([any, isAcceptedByLibxml(any)]);
    });
    fc.assert(property, { numRuns: 3000 });
  });

  test.each([
    "<é/>",
    "<a-b.c/>",
    "<_a/>",
    "<-a/>",
    "<1a/>",
    "<\u{10000}/>",
    "<a\u00b7/>",
    "<\u00b7a/>",
    "<a\u00d7/>",
    "<a b = '1'\n/>",
    "<a b='1'c='2'/>",
    "<a b=1/>",
    "<a b/>",
    "<a b='<'/>",
    "<a b='>'/>",
    "<a/ >",
    "< a/>",
    "<a></a >",
    "<a></ a>",
    "<a/> \n",
    "<a/>x",
    "x<a/>",
    "<a/><a/>",
    "<a/><!--x-->",
    "<a/><?x?>",
    "<!-- a- --><a/>",
    "<!---><a/>",
    "<!-- --- --><a/>",
    "<?xml?><a/>",
    "<?XML version='1.0'?><a/>",
    " <?xml version='1.0'?><a/>",
    "<?xml version='1.0' standalone='no'?><a/>",
    "<?xml version='1.0' standalone='maybe'?><a/>",
    "<?xml encoding='utf-8' version='1.0'?><a/>",
    "<?xml-stylesheet x?><a/>",
    "<?p?><a/>",
    "<?p<?><a/>",
    "<a>&lt</a>",
    "<a>&unknown;</a>",
    "<a>&#x;</a>",
    "<a>&#55296;</a>",
    "<a>&#1114112;</a>",
    "<a>&#X41;</a>",
    "<a>\u0085\u2028</a>",
    "<a>\ufffe</a>",
    "<a>\u0001</a>",
    "<a><![cdata[x]]></a>",
    "<![CDATA[]]><a/>",
    "<a>]]&gt;</a>",
  ])("%j is accepted where libxml2 accepts it", (any) => {
    expect(isAccepted(any)).toBe(isAcceptedByLibxml(any));
  });

  test.each<[string, number, number, string]>([
    [
      "<a>\n  <b>\n</a>",
      3,
      1,
      "expected `</b>`, not `</a>`; `<b>` is still open: close it, or write its `<` as `&lt;` if it is text",
    ],
    ["<a>x", 1, 5, "`</a>` is missing"],
    ["<a>Smith & Sons</a>", 1, 10, "`&` isn't a valid reference; write `&` as `&amp;`"],
    ["<a>\r\n\r\n é &auml;</a>", 3, 4, "`&auml;` is an HTML entity, not an XML one; write `ä`, or `&#228;`"],
    ["<a><b c=1/></a>", 1, 9, 'expected a value in quotes, not `1`; write `"1"`'],
    ["<a b='1' b='2'/>", 1, 10, "the attribute `b` appears more than once"],
    ["<a>1 < 2</a>", 1, 7, "expected an element's name after `<`, not a space; write a `<` in text as `&lt;`"],
    [
      "<a/><b/>",
      1,
      5,
      "this is a second root element. To send several records, use a batch request (POST /restapi/batch.xml), or `<Results>` in a file",
    ],
    ['{"Name":"x"}', 1, 1, "expected an element, not `{`; this looks like JSON"],
    ["<a>\n\u0007</a>", 2, 1, "XML can't contain U+0007 (bell); leave it out"],
    ["<!-- x -->", 1, 11, "the document has no element"],
  ])("%j is wrong at line %i, column %i", (any, line, column, detail) => {
    expectPlace(() => parseXml(any), { field: "", code: "syntax", line, column, detail });
  });
});

function isAccepted(text: string): boolean {
  return attempt(() => parseXml(text)) !== undefined;
}

function isAcceptedByLibxml(text: string): boolean {
  return (
    attempt(() => XmlDocument.fromString(text, { option: ParseOption.XML_PARSE_NONET }).dispose() ?? true) === true
  );
}

interface Their {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (Their | string)[];
}

/** An element of either parser, with adjacent texts joined and without the comments and instructions of the runtime's parser. */
function plain({ name, attributes, children }: XmlElement | Their): unknown {
  const joined: unknown[] = [];
  for (const child of children) {
    if (typeof child !== "string") {
      if ("name" in child) joined.push(plain(child));
    } else if (typeof joined.at(-1) === "string") joined[joined.length - 1] += child;
    else if (child !== "") joined.push(child);
  }
  return [name, attributes instanceof Map ? Object.fromEntries(attributes) : attributes, joined];
}

function expectPlace(read: () => unknown, fault: object): void {
  let problem: unknown;
  try {
    read();
  } catch (error) {
    problem = error;
  }
  expect(problem).toBeInstanceOf(ProblemError);
  expect((problem as ProblemError).fieldErrors).toEqual([fault as never]);
}
