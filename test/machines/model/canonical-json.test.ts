// JSON that's stored as it arrived, because the parser would find no error and store the same text.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decodeJson } from "../../../src/formats/json.ts";
import { maxValues } from "../../../src/formats/syntax-errors.ts";
import { isCanonicalRecord, matchCanonicalChanges } from "../../../src/model/canonical-json.ts";
import { group, matching, text } from "../../../src/model/field.ts";
import { parseNewRecord, parseRecordChanges } from "../../../src/model/record.ts";
import { defineResource } from "../../../src/model/resource.ts";

const optional = text({ max: 6, description: "", example: "" });
const thing = defineResource({
  name: "thing",
  path: "things",
  element: "Thing",
  singular: "thing",
  plural: "things",
  description: "",
  access: "written",
  fields: {
    Name: text({ max: 5, required: true, description: "", example: "" }),
    "a.b*": optional,
    Code: matching("^[A-Z]{2}$", "must be a code", { max: 3, description: "", example: "" }),
    Group: group("", { Name: optional, Inner: group("", { Deep: optional }) }),
  },
});

const whole = (Name = "x", ab = "", Code = "GB", inGroup = "", Deep = "") =>
  JSON.stringify({ Name, "a.b*": ab, Code, Group: { Name: inGroup, Inner: { Deep } } });

/** Returns the text that the parser stores for a new record; undefined if the record has an error. */
function asRead(json: string): string | undefined {
  try {
    const { input, fieldErrors } = decodeJson(json, maxValues);
    return JSON.stringify(parseNewRecord(thing, input, fieldErrors));
  } catch {
    return undefined;
  }
}

function changesAsRead(json: string) {
  try {
    const { input, fieldErrors } = decodeJson(json, maxValues);
    const { id, values } = parseRecordChanges(thing, input, fieldErrors);
    return { id, valuesJson: JSON.stringify(values) };
  } catch {
    return undefined;
  }
}

describe("a new record", () => {
  test.each<[string, string]>([
    ["all members", whole("x", "y", "GB", "z", "é€\u007f\u2028")],
    ["the longest texts", whole("12345", "123456", "GB", "123456", "123456")],
    ["empty texts", whole("x", "", "", "", "")],
  ])("stored as it came: %s", (_, json) => {
    expect(isCanonicalRecord(thing, json)).toBeTrue();
    expect(asRead(json)).toBe(json);
  });

  test.each<[string, string]>([
    ["white space", whole().replace(":", ": ")],
    ["a line break at its end", `${whole()}\n`],
    ["a byte order mark", `\ufeff${whole()}`],
    ["another order", '{"a.b*":"","Name":"x","Code":"","Group":{"Name":"","Inner":{"Deep":""}}}'],
    ["a missing member", '{"Name":"x","a.b*":"","Code":"","Group":{"Name":"","Inner":{}}}'],
    ["an ID", whole().replace("{", '{"ID":7,')],
    ["an unknown member", whole().replace("{", '{"x":"",')],
    ["a member with the name as a pattern", whole().replace("a.b*", "axbb")],
    ["a repeated member", whole().replace("{", '{"Name":"y",')],
    ["an empty text that is required", whole("")],
    ["a text that is too long", whole("123456")],
    ["a text that does not match its pattern", whole("x", "", "gb")],
    ["an escape", whole('"')],
    ["an escape that is not needed", whole("x", "y").replace('"y"', '"\\u0079"')],
    ["a character that XML cannot carry", whole("\ufffe")],
    ["what stands for malformed bytes", whole("\ufffd")],
    ["half of a surrogate pair", `{"Name":"\ud800"${whole().slice('{"Name":"x"'.length)}`],
    ["a character of two units", whole("😀")],
    ["a control that is not escaped", whole().replace('"x"', '"\t"')],
    ["a number", whole().replace('"x"', "1")],
    ["a text for a group", whole().replace(/\{"Deep".*?\}/, '""')],
    ["something behind it", `${whole()}{}`],
    ["nothing", ""],
  ])("parsed because it has %s", (_, json) => {
    expect(isCanonicalRecord(thing, json)).toBeFalse();
  });
});

test.each<[string, number | undefined, string]>([
  ["{}", undefined, "{}"],
  ['{"ID":7}', 7, "{}"],
  ['{"ID":7,"Name":"x"}', 7, '{"Name":"x"}'],
  ['{"Code":"GB","Group":{"Inner":{"Deep":"y"}}}', undefined, '{"Code":"GB","Group":{"Inner":{"Deep":"y"}}}'],
  ['{"Group":{}}', undefined, '{"Group":{}}'],
])("the changes %s are stored as they came", (json, id, stored) => {
  expect(matchCanonicalChanges(thing, json)).toEqual({ id, valuesJson: stored });
  expect(changesAsRead(json)).toEqual({ id, valuesJson: stored });
});

test.each([
  '{"ID":7,}',
  '{"Name":"x",}',
  "{,}",
  '{"ID":0}',
  '{"ID":07}',
  '{"ID":7.0}',
  '{"ID":"7"}',
  '{"Name":""}',
])("the changes %s are parsed", (json) => {
  expect(matchCanonicalChanges(thing, json)).toBeUndefined();
});

const anyText = fc.oneof(
  fc.constantFrom("", "x", "GB", "gb", "12345", "1234567"),
  fc.string({ unit: "binary", maxLength: 7 }),
);
const anyMembers = fc.record(
  {
    ID: fc.oneof(fc.nat(), fc.constantFrom<unknown>(0, -1, 1.5, 2 ** 53, "7")),
    Name: anyText,
    "a.b*": anyText,
    Code: anyText,
    Group: fc.record(
      { Name: anyText, Inner: fc.record({ Deep: anyText }, { requiredKeys: [] }) },
      { requiredKeys: [] },
    ),
    x: anyText,
  },
  { requiredKeys: [] },
);
/** A text, and a change of one place in it. */
const anyJson = fc
  .tuple(
    fc.oneof(
      anyMembers.map((members) => JSON.stringify(members)),
      fc.constant(whole()),
    ),
    fc.nat(),
    fc.nat(2),
  )
  .chain(([json, place, removed]) =>
    fc.constantFrom("", ",", '"', "\\", "{", "}", " ", "1", '"Name":"y",').map((added) => {
      const at = place % (json.length + 1);
      return removed === 0 && added === "" ? json : json.slice(0, at) + added + json.slice(at + removed);
    }),
  );

test("stored as it came: same as what the parser would store", () => {
  fc.assert(
    fc.property(anyJson, (json) => {
      if (isCanonicalRecord(thing, json)) expect(asRead(json)).toBe(json);
      const changes = matchCanonicalChanges(thing, json);
      if (changes) expect(changesAsRead(json)).toEqual(changes);
    }),
    { numRuns: 3000 },
  );
});
