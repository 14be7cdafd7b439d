// Files of any size are read record by record, wherever their chunks end (src/formats/json-items.ts, src/formats/xml-items.ts).

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { json } from "../../../src/formats/json.ts";
import { xml } from "../../../src/formats/xml.ts";
import { ProblemError } from "../../../src/model/errors.ts";
import { type FileFormat, readRows } from "../../../src/operator/import/file-rows.ts";
import { brand } from "../../../src/resources/brand.ts";

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Returns the rows, and the message of the error that ends them. */
async function read(content: string | Uint8Array, format: FileFormat, size = 7) {
  const rows: { input: unknown; text: string | undefined; fieldErrors: readonly unknown[] }[] = [];
  try {
    for await (const { decoded, source } of readRows(brand, inChunks(Buffer.from(content), size), format))
      rows.push({ ...decoded, text: source.text });
    return { rows, problem: undefined };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { rows, problem: error.message };
  }
}

const text = fc.string({
  unit: fc.constantFrom('"', "\\", "[", "]", "{", "}", ",", "<", ">", "&", "é", "😀", "\n", " ", "a", "-"),
});
const records = fc.array(fc.record({ ID: fc.integer({ min: 1, max: 1e6 }), Name: text, AccountNumber: text }), {
  maxLength: 6,
});
const size = fc.integer({ min: 1, max: 40 });

test("JSON list: the records that were written, with any white space", async () => {
  await fc.assert(
    fc.asyncProperty(records, size, fc.constantFrom(0, 2, "\t"), async (list, chunk, indent) => {
      const { rows, problem } = await read(JSON.stringify(list, null, indent), "json", chunk);
      expect(problem).toBeUndefined();
      expect(rows.map(({ input }) => input)).toEqual(list);
      expect(rows.map((row) => JSON.parse(row.text as string))).toEqual(list);
    }),
  );
});

test("XML list: the records that were written", async () => {
  await fc.assert(
    fc.asyncProperty(
      records,
      size,
      fc.constantFrom("", "\n  ", "<!-- > ' -->", "<?x > ?>"),
      async (list, chunk, between) => {
        const elements = list.map((record) => between + xml.part(brand, record));
        const { rows, problem } = await read(
          `${xml.listStart}${elements.join("")}${between}</Results>\n`,
          "xml",
          chunk,
        );
        expect(problem).toBeUndefined();
        expect(rows.map(({ input }) => ({ ...(input as object) }))).toEqual(list);
        expect(rows.map((row) => row.text)).toEqual(list.map((record) => xml.part(brand, record)));
      },
    ),
  );
});

describe("an error's position is in the whole file", () => {
  const many = (item: string, separator: string) => Array.from({ length: 30 }, () => item).join(separator);
  const faulty: [string, FileFormat, string, string][] = [
    [
      "a comma too many",
      "json",
      `[\n${many('{"Name":"é😀"}', ",\n")},\n]`,
      "line 32, column 1: expected a value, not `]`; remove the comma before it",
    ],
    ["a missing comma", "json", '[{"Name":"A"}\n {"Name":"B"}]', "line 2, column 2: expected `,` or `]`, not `{`"],
    ["a bracket of another kind", "json", '[{"Name":"A"],"ID":1}]', "line 1, column 13: expected `,` or `}`, not `]`"],
    ["a brace too many", "json", '[{"Name":"A"}}]', "line 1, column 14: expected `,` or `]`, not `}`"],
    [
      "no end",
      "json",
      '[{"Name":"A"},\r\n{"Name":"B"',
      "line 2, column 12: expected `,` or `}`, not the end of the text",
    ],
    ["no end of the list", "json", '[{"Name":"A"}', "line 1, column 14: expected `,` or `]`, not the end of the text"],
    ["a string without an end", "json", '[{"Name":"A\\"}]', "line 1, column 10: unterminated string"],
    ["something after the list", "json", '[{"Name":"A"}]\n[]', "line 2, column 1: `[` follows the end of the value"],
    [
      "space that JSON does not have",
      "json",
      '{"Name":"A"}\u00a0',
      "line 1, column 13: U+00A0 (no-break space) follows the end of the value",
    ],
    ["other quotes", "json", "[\n{'Name':'A'}]", "line 2, column 2: expected a name in double quotes"],
    ["no JSON", "json", "Name,ID\nA,1", "line 1, column 1: expected a value, not `N`; "],
    ["too many levels", "json", `[${"[".repeat(20)}`, "nested too deeply: line 1, column"],
    [
      "a wrong end tag",
      "xml",
      `<Results>\n${many("<Brand><Name>é😀</Name></Brand>", "\n")}\n<Brand></Name>`,
      "line 32, column 8: expected `</Brand>`, not `</Name>`",
    ],
    ["no end tag", "xml", "<Results><Brand></Brand>", "column 25: `</Results>` is missing"],
    ["a second root", "xml", "<Results/><Results/>", "column 11: this is a second root element"],
    ["an entity", "xml", "<Results>\n<Brand><Name>&x;</Name></Brand></Results>", "line 2, column 14: `&x;` is unknown"],
    [
      "a control character",
      "xml",
      "<Results>\n<Brand><Name>\u0001</Name></Brand></Results>",
      "line 2, column 14: XML can't contain U+0001",
    ],
    ["a DOCTYPE", "xml", "<!DOCTYPE Results><Results/>", "a DOCTYPE isn't allowed"],
    [
      "a declaration after white space",
      "xml",
      " <?xml version='1.0'?><Results/>",
      "an XML declaration must come first",
    ],
    ["another root", "xml", `<Brands>${many("<Brand/>", "")}`, "the root element must be <Results>, not <Brands>"],
    ["another encoding", "xml", '<?xml version="1.0" encoding="latin1"?><Results/>', "declares the encoding latin1"],
    ["nothing", "json", " \n", "the file is empty"],
    ["nothing", "xml", "", "the file is empty"],
  ];
  test.each(faulty)("%s (%s)", async (_, format, content, message) => {
    for (const chunk of [1, 3, 1000]) expect((await read(content, format, chunk)).problem).toContain(message);
  });
});

test.each(["json", "xml"] as const)("bytes that are not UTF-8 are rejected (%s)", async (format) => {
  const file = Buffer.concat([
    Buffer.from(format === "json" ? '[{"Name":"' : "<Results><Brand><Name>"),
    Buffer.from([0xff]),
  ]);
  expect((await read(file, format)).problem).toBe("the file isn't valid UTF-8");
});

const utf16: [string, (text: string) => Uint8Array][] = [
  ["UTF-8 with a byte order mark", (text) => Buffer.from(`\ufeff${text}`)],
  ["UTF-16LE", (text) => Buffer.from(text, "utf16le")],
  ["UTF-16LE with a byte order mark", (text) => Buffer.from(`\ufeff${text}`, "utf16le")],
  ["UTF-16BE", (text) => Buffer.from(text, "utf16le").swap16()],
  ["UTF-16BE with a byte order mark", (text) => Buffer.from(`\ufeff${text}`, "utf16le").swap16()],
];
const documents: [FileFormat, string][] = [
  ["json", '[{"Name":"Łódź 😀"}]'],
  ["json", '{"Name":"Łódź 😀"}'],
  ["xml", "<Results><Brand><Name>Łódź 😀</Name></Brand></Results>"],
  ["xml", '<?xml version="1.0" encoding="UTF-16"?>\r\n<Brand><Name>Łódź 😀</Name></Brand>'],
  ["xml", "<?xml version='1.0' encoding='utf-8'?><Brand><Name>Łódź 😀</Name></Brand>"],
];
test.each(utf16)("the bytes decide the encoding: %s", async (_, encode) => {
  for (const [format, text] of documents)
    for (const chunk of [1, 3, 1000]) {
      const { rows, problem } = await read(encode(text), format, chunk);
      expect([problem, rows.map(({ input }) => ({ ...(input as object) }))]).toEqual([
        undefined,
        [{ Name: "Łódź 😀" }],
      ]);
    }
});

test("single record as a file", async () => {
  expect((await read('\ufeff {"Name":"A"}\n', "json")).rows).toMatchObject([{ input: { Name: "A" } }]);
  expect((await read("<Brand><Name>A</Name></Brand>\n<!-- end -->", "xml")).rows).toMatchObject([
    { input: { Name: "A" } },
  ]);
});

test("record with an error: rejected alone", async () => {
  const { rows, problem } = await read('[{"Name":"A","Name":"B"},{"Name":"C"}]', "json");
  expect(problem).toBeUndefined();
  expect(rows.map(({ fieldErrors }) => fieldErrors.length)).toEqual([1, 0]);
});

const endless: [string, FileFormat, string, string][] = [
  ["JSON string", "json", '[{"Name":"A"},{"Name":"', "x"],
  ["JSON value", "json", '{"Name":"', "x"],
  ["JSON list in a record", "json", '[{"Name":"A"},[', "1,"],
  ["XML text", "xml", "<Results><Brand/><Brand><Name>", "x"],
  ["XML attribute", "xml", "<Results><Brand/><Brand a='", "x"],
  ["XML comment", "xml", "<Results><Brand/><!--", "x"],
  ["XML record", "xml", "<Results><Brand/><Brand>", "<a></a>"],
  ["single XML record", "xml", "<Brand>", "<a></a>"],
];
test.each(endless)("a %s without an end takes little memory and ends", async (_, format, start, more) => {
  let sent = 0;
  async function* bytes() {
    yield Buffer.from(start);
    for (const chunk = Buffer.from(more.repeat(20_000)); ; sent += chunk.length) yield chunk;
  }
  const read = Array.fromAsync(readRows(brand, bytes(), format));
  await expect(read).rejects.toThrow(/record [12] is longer than 1048576 characters/);
  expect(sent).toBeLessThan(2_000_000);
});

test("exports: read back in each format", async () => {
  const stored = '{"ID":1,"Name":"A","AccountNumber":""}';
  for (const format of [json, xml])
    expect(
      (await read(format.listStart + format.item(brand, stored) + format.listEnd, format.name as FileFormat)).rows,
    ).toMatchObject([{ input: { ID: 1, Name: "A" }, fieldErrors: [] }]);
});
