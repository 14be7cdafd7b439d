// Field names for people, and the differences between two states of a record.

import { describe, expect, test } from "bun:test";
import {
  describeFault,
  describeFieldError,
  differences,
  fullLabelOf,
  groupOf,
  labelOf,
  textAt,
} from "../../../../src/console/text/fields.ts";
import { translate } from "../../../../src/console/text/translate.ts";

test.each([
  ["Name", "Name", "Name", ""],
  ["SortOrder", "Sort order", "Sort order", ""],
  ["Address.Town", "Town", "Town", "Address"],
  ["Address.AddressLine1", "Address line 1", "Address line 1", "Address"],
  ["Telephone.Daytime", "Daytime", "Telephone (daytime)", "Telephone"],
  ["Address.Firstname", "First name", "First name", "Address"],
  ["Address.Of.Town", "Town", "Of (town)", "Address.Of"],
])("the field %s is named %p alone, and %p with its group", (path, label, fullLabel, group) => {
  expect([labelOf(path), fullLabelOf(path), groupOf(path)]).toEqual([label, fullLabel, group]);
});

test.each([
  ["Name", "Acme"],
  ["Address.Town", "Oslo"],
  ["Address.County", ""],
  ["Telephone.Daytime", ""],
  ["Address", ""],
  ["ID", ""],
])("the text of the field %s is %p", (path, text) => {
  expect(textAt({ ID: 1, Name: "Acme", Address: { Town: "Oslo" } }, path)).toBe(text);
});

describe("differences between two states", () => {
  test("fields with different values, including in groups, without the ID", () => {
    const before = { ID: 1, Name: "Acme", Place: 1, Address: { Town: "Oslo", County: "Oslo" } };
    const after = { ID: 2, Name: "Acme", Place: 2, Address: { Town: "Bergen", County: "Oslo" } };
    expect(differences(before, after)).toEqual([
      { path: "Place", before: "1", after: "2" },
      { path: "Address.Town", before: "Oslo", after: "Bergen" },
    ]);
  });

  test("missing field: same as an empty one", () => {
    expect(differences({ Name: "Acme", Web: "" }, { Town: "Oslo" })).toEqual([
      { path: "Name", before: "Acme", after: "" },
      { path: "Town", before: "", after: "Oslo" },
    ]);
  });

  test("created or deleted record: all fields", () => {
    const record = { ID: 1, Name: "Acme", Web: "" };
    expect(differences(null, record)).toEqual([{ path: "Name", before: "", after: "Acme" }]);
    expect(differences(record, null)).toEqual([{ path: "Name", before: "Acme", after: "" }]);
    expect(differences(null, null)).toEqual([]);
  });
});

test("errors of known codes have the words of the console, and others those of the server, after the label of the form", () => {
  const tooLong = { code: "too-long", max: 128, detail: "of the server" };
  const text = translate("record.too_long", { max: 128 });
  expect(describeFault(tooLong)).toBe(text);
  expect(describeFieldError({ field: "Label", ...tooLong })).toBe(`${translate("keys.label")}: ${text}`);
  expect(describeFieldError({ field: "Address.Town", code: "new", detail: "use `Leeds`" })).toBe("Town: Use “Leeds”.");
});
