// Stored records are read in the form that this version declares (src/model/record.ts).

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { group, text } from "../../../src/model/field.ts";
import { merge, toDeclaredJson } from "../../../src/model/record.ts";
import { type Declaration, defineResource } from "../../../src/model/resource.ts";

const field = text({ max: 20, description: "", example: "" });
const declare = (element: string, fields: Declaration["fields"]) =>
  defineResource({
    name: "thing",
    path: "things",
    element,
    singular: "thing",
    plural: "things",
    description: "",
    access: "system",
    fields,
  });
// Names that are special in regular expressions, or that every object has.
const thing = declare("Thing", {
  Name: field,
  "a.b*": field,
  constructor: field,
  Group: group("", { Inner: group("", { Deep: field }), Last: field }),
});

const declared = (Name = "", ab = "", own = "", Deep = "", Last = "") =>
  JSON.stringify({ ID: 7, Name, "a.b*": ab, constructor: own, Group: { Inner: { Deep }, Last } });

test.each<[string, string, string]>([
  ["all of it", declared("a", "b", "c", "d", "e"), declared("a", "b", "c", "d", "e")],
  ["nothing but the ID", '{"ID":7}', declared()],
  ["a group in part", '{"ID":7,"Group":{"Last":"e"}}', declared("", "", "", "", "e")],
  ["another order", '{"Group":{"Last":"e","Inner":{"Deep":"d"}},"Name":"a","ID":7}', declared("a", "", "", "d", "e")],
  ["members that are not declared", `{"ID":7,"Name":"a","x":"","y":{"Name":"z"}}`, declared("a")],
  ["some of them in groups", '{"ID":7,"Group":{"x":"y","Inner":{"Deep":"d","x":{}}}}', declared("", "", "", "d")],
  ["one behind all that are declared", `${declared("a").slice(0, -1)},"x":"y"}`, declared("a")],
  ["one in front of them", declared("a").replace('"Name"', '"x":"y","Name"'), declared("a")],
  ["no texts", '{"ID":7,"Name":1,"a.b*":null,"constructor":["x"],"Group":{"Last":{}}}', declared()],
  ["a text for a group, and a group for a text", '{"ID":7,"Name":{"x":"y"},"Group":"text"}', declared()],
  ["null and a list for groups", '{"ID":7,"Group":{"Inner":null}}', declared()],
  ["a name that looks like a declared one", '{"ID":7,"Name":"a","axbb":"no"}', declared("a")],
  ["texts that look like members", JSON.stringify({ ID: 7, Name: '","a.b*":"x', x: "\\" }), declared('","a.b*":"x')],
])("%s", (_, stored, expected) => {
  expect(toDeclaredJson(thing, stored)).toBe(expected);
});

test("declared form: records in it don't change, whatever their texts", () => {
  const any = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(any, any, any, any, any, (...texts) => {
      const json = declared(...texts);
      expect(thing.shape.pattern.test(json)).toBe(true);
      expect(toDeclaredJson(thing, json)).toBe(json);
    }),
  );
});

test("declaration: field `ID` is rejected, because every record has an ID", () => {
  expect(() => declare("Thing", { Name: field, ID: field })).toThrow(/ID is part of every record/);
});

describe("declaration digest", () => {
  const same = declare("Thing", { ...thing.fields, Name: text({ max: 9, description: "other", example: "x" }) });
  const { Name, ...others } = thing.fields;
  const cases = {
    "another element": declare("Item", thing.fields),
    "a field more": declare("Thing", { ...thing.fields, More: field }),
    "another order": declare("Thing", { ...others, Name: Name ?? field }),
    "another nesting": declare("Thing", { ...thing.fields, Name: group("", { Name: field }) }),
  };

  test("same if records have the same form", () => {
    expect(same.shape.digest).toBe(thing.shape.digest);
    expect(thing.shape.digest).toMatch(/^[0-9a-f]{8}$/);
  });

  test.each(Object.entries(cases))("differs with %s", (_, other) => {
    expect(other.shape.digest).not.toBe(thing.shape.digest);
  });
});

test.each<[string, object, object, object]>([
  ["a text", { a: "1", b: "2" }, { a: "3" }, { a: "3", b: "2" }],
  ["a text in a group", { g: { a: "1", x: "2" } }, { g: { a: "3" } }, { g: { a: "3", x: "2" } }],
  ["a text that was missing", { a: "1" }, { b: "2" }, { a: "1", b: "2" }],
  ["a group that was missing", { a: "1" }, { g: { b: "2" } }, { a: "1", g: { b: "2" } }],
])("an update of %s keeps all other fields", (_, record, changes, expected) => {
  const before = JSON.stringify(record);
  expect(JSON.stringify(merge(record, changes as never))).toBe(JSON.stringify(expected));
  expect(JSON.stringify(record)).toBe(before);
});

test.each<[string, object, object]>([
  ["the same text", { a: "1", g: { b: "2" } }, { a: "1", g: { b: "2" } }],
  ["an empty text for a missing one", { a: "1" }, { b: "" }],
  ["empty texts for a missing group", { a: "1" }, { g: { h: { b: "" }, c: "" } }],
  ["nothing", { a: "1" }, {}],
])("an update with %s changes nothing", (_, record, changes) => {
  expect(merge(record, changes as never)).toBe(record as never);
});
