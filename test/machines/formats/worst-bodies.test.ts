// The worst 1 MiB bodies (src/formats/json.ts, src/formats/xml.ts): checking them takes time proportional to their size, and lists at most 100 field errors.

import { expect, test } from "bun:test";
import { json } from "../../../src/formats/json.ts";
import { xml } from "../../../src/formats/xml.ts";
import { ProblemError } from "../../../src/model/errors.ts";
import { parseNewRecord } from "../../../src/model/record.ts";
import { brand } from "../../../src/resources/brand.ts";

const size = 1024 * 1024;

/** Maximum CPU time in milliseconds: far more than the tens that each body takes, and far less than a quadratic algorithm would take. */
const maxCpuMs = 1500;

/** Returns `open`, as many pieces as fit into 1 MiB, and `close`. */
function filled(open: string, piece: string | ((index: number) => string), close: string): string {
  const pieces: string[] = [open];
  let length = open.length + close.length;
  for (let index = 0; ; index++) {
    const next = typeof piece === "string" ? piece : piece(index);
    length += next.length;
    if (length > size) return pieces.join("") + close;
    pieces.push(next);
  }
}

const emoji = "\u{1f600}";

test.each<[string, string, string]>([
  ["unknown names", filled("{", (i) => `"u${i}":1,`, '"z":1}'), "at most 1000 values"],
  ["names that are nearly right", filled("{", (i) => `"AddresLine${i}":1,`, '"z":1}'), "at most 1000 values"],
  ["such names in a group", filled('{"Address":{', (i) => `"Twon${i}":1,`, '"z":1}}'), "at most 1000 values"],
  ["a repeated name", filled("{", '"Name":"",', '"Name":""}'), "at most 1000 values"],
  ["a repeated unknown name", filled("{", '"b":1,', '"b":1}'), "at most 1000 values"],
  ["names that are numbers", filled("{", (i) => `"${i}":1,`, '"z":1}'), "at most 1000 values"],
  ["long names", filled("{", (i) => `"${"n".repeat(200)}${i}":1,`, '"z":1}'), "at most 1000 values"],
  ["one name as long as the body", `{"${"n".repeat(size)}":1}`, "unknown field"],
  ["an escaped name as long as the body", filled('{"', "\\u0041", '":1}'), "unknown field"],
  ["arrays in arrays", "[".repeat(size), "nested too deeply"],
  ["objects in objects", '{"a":'.repeat(size / 5), "nested too deeply"],
  [
    "repeated names below many arrays",
    `{"a":${"[".repeat(20_000)}{${'"b":1,'.repeat(150_000)}"b":1}${"]".repeat(20_000)},"a":1}`,
    "nested too deeply",
  ],
  ["many small arrays", filled('{"a":[', "[],", "0]}"), "at most 1000 values"],
  ["many small objects", filled('{"a":[', (i) => `{"a${i}":1},`, "0]}"), "at most 1000 values"],
  ["many numbers", filled("[", "1,", "1]"), "send an object with one brand"],
  ["one long number", `{"Name":${"9".repeat(size)}}`, "send a string, not a number"],
  ["one large exponent", `{"Name":1e${"9".repeat(size)}}`, "send a string, not a number"],
  ["escapes", filled('{"Name":"', "\\n", '"}'), "255 characters or fewer"],
  ["escaped letters", filled('{"Name":"', "\\u0041", '"}'), "255 characters or fewer"],
  ["lone surrogates", filled('{"Name":"', "\\ud800", '"}'), "255 characters or fewer"],
  ["characters of four bytes", filled('{"Name":"', emoji, '"}'), "255 characters or fewer"],
  ["blanks", filled("{", " ", "}"), "a value is required"],
  ["line breaks before an error", filled("{", "\n", "x"), "expected a name in double quotes"],
  ["a string that never ends", `{"Name":"${"x".repeat(size)}`, "unterminated"],
  ["backslashes that never end", `{"Name":"${"\\".repeat(size)}`, "unterminated"],
  ["quotes", '"'.repeat(size), "follows the end"],
])("JSON, %s: rejected in time", (_, body, detail) => {
  expectProblem(json, body, detail);
});

test.each<[string, string, string]>([
  ["unknown elements", filled("<Brand>", (i) => `<u${i}/>`, "</Brand>"), "at most 1000 elements"],
  ["elements that are nearly right", filled("<Brand>", (i) => `<AddresLine${i}/>`, "</Brand>"), "at most 1000"],
  ["one unknown element", filled("<Brand>", "<a/>", "</Brand>"), "at most 1000 elements"],
  ["a repeated element", filled("<Brand>", "<Name>x</Name>", "</Brand>"), "at most 1000 elements"],
  ["repeated IDs", filled("<Brand>", "<ID>1</ID>", "</Brand>"), "at most 1000 elements"],
  ["text and elements", filled("<Brand><Name>", "x<Name/>", "</Name></Brand>"), "at most 1000 elements"],
  ["long names", filled("<Brand>", (i) => `<n${"n".repeat(200)}${i}/>`, "</Brand>"), "at most 1000 elements"],
  ["one name as long as the body", `<Brand><${"n".repeat(size)}/></Brand>`, "unknown field"],
  ["elements in elements", "<a>".repeat(size / 3), "nested too deeply"],
  ["attributes", filled("<Brand", (i) => ` a${i}=""`, "/>"), "at most 100 attributes"],
  ["a repeated attribute", filled("<Brand", ' a=""', "/>"), "appears more than once"],
  ["attributes of many elements", filled("<Brand>", '<a b="" c="" d="" e=""/>', "</Brand>"), "at most 1000 elements"],
  ["prefixes", filled("<Brand", (i) => ` xmlns:a${i}=""`, "/>"), "at most 100 attributes"],
  ["one long attribute", filled('<Brand a="', "&lt;", '"/>'), "unknown field"],
  ["line breaks in an attribute", filled('<Brand a="', "\r", '"/>'), "unknown field"],
  ["comments", filled("<Brand>", "<!---->", "</Brand>"), "a value is required"],
  ["text between comments", filled("<Brand>", "x<!---->", "</Brand>"), "first 100 are listed"],
  ["comments before the record", filled("", "<!---->", "<Brand/>"), "a value is required"],
  ["processing instructions", filled("<Brand>", "<?a?>", "</Brand>"), "a value is required"],
  ["CDATA sections", filled("<Brand><Name>", "<![CDATA[x]]>", "</Name></Brand>"), "255 characters or fewer"],
  ["entities", filled("<Brand><Name>", "&lt;", "</Name></Brand>"), "255 characters or fewer"],
  ["character references", filled("<Brand><Name>", "&#9;", "</Name></Brand>"), "255 characters or fewer"],
  ["one long reference", `<Brand>&#${"9".repeat(size)};</Brand>`, "isn't a character"],
  ["ampersands", `<Brand>${"&".repeat(size)}`, "isn't a valid reference"],
  ["line ends", filled("<Brand><Name>", "\r", "</Name></Brand>"), "255 characters or fewer"],
  ["characters of four bytes", filled("<Brand><Name>", emoji, "</Name></Brand>"), "255 characters or fewer"],
  ["blanks", filled("<Brand>", " ", "</Brand>"), "a value is required"],
  ["blanks in a tag", filled("<Brand", " ", "<"), "expected an attribute"],
  ["blanks in the declaration", filled("<?xml version='1.0'", " ", "x?><Brand/>"), "declaration is malformed"],
  ["encodings in the declaration", filled("<?xml ", "encoding ", "?><Brand/>"), "declaration is malformed"],
  ["comments that never end", "<!--".repeat(size / 4), "can't contain `--`"],
  ["CDATA that never ends", `<Brand>${"<![CDATA[".repeat(size / 9)}`, "unterminated"],
  ["instructions that never end", "<?a ".repeat(size / 4), "unterminated"],
  ["end tags", "</a>".repeat(size / 4), "has no start tag"],
  ["less-than signs", "<".repeat(size), "expected an element's name"],
])("XML, %s: rejected in time", (_, body, detail) => {
  expectProblem(xml, body, detail);
});

function expectProblem(format: typeof json, body: string, detail: string): void {
  const bytes = Buffer.from(body);
  const started = process.cpuUsage();
  let problem: unknown;
  try {
    const { input, fieldErrors } = format.decode(brand, bytes);
    parseNewRecord(brand, input, fieldErrors);
  } catch (error) {
    problem = error;
  }
  const { user, system } = process.cpuUsage(started);
  expect(problem).toBeInstanceOf(ProblemError);
  const { message, fieldErrors } = problem as ProblemError;
  expect(message + fieldErrors.map((fault) => fault.detail).join("\n")).toContain(detail);
  expect(fieldErrors.length).toBeLessThanOrEqual(100);
  expect((user + system) / 1000).toBeLessThan(maxCpuMs);
}

test.each([
  [
    "json",
    json,
    (count: number) =>
      `{${Array.from({ length: count }, (_, i) => `"Tow${String.fromCharCode(0x4e00 + i)}":1,`).join("")}"Name":"x"}`,
  ],
  ["xml", xml, (count: number) => `<Brand>${"<Tow/>".repeat(count)}<Name>x</Name></Brand>`],
] as const)("%s: 100 field errors are listed, 20 of them with a hint; if there are more, the message says so", (_, format, bodyOf) => {
  const problemOf = (count: number) => {
    const { input, fieldErrors } = format.decode(brand, Buffer.from(bodyOf(count)));
    try {
      parseNewRecord(brand, input, fieldErrors);
    } catch (error) {
      return error as ProblemError;
    }
    throw new Error("was accepted");
  };
  const hints = problemOf(30).fieldErrors.filter(({ detail }) => detail.includes("did you mean"));
  expect(hints).toHaveLength(20);
  expect(problemOf(100).fieldErrors).toHaveLength(100);
  expect(problemOf(100).message).toEndWith(" (and 99 more)");
  expect(problemOf(101).fieldErrors).toHaveLength(100);
  expect(problemOf(101).message).toEndWith(" (and more; the first 100 are listed)");
});
