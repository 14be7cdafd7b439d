// The mapping of columns to fields that the import page suggests, changes and reads from a file.

import { describe, expect, test } from "bun:test";
import type { FilePreviewResponse, ImportMapping } from "../../../../src/admin/api/record-types.ts";
import type { FieldInfo, ResourceInfo } from "../../../../src/admin/api/types.ts";
import {
  carriedOver,
  columnOf,
  fieldsOfColumn,
  guessedColumns,
  isFitting,
  readMappingFile,
  suggestedMapping,
  suggestedMatch,
  withField,
  withReplacements,
} from "../../../../src/console/import/mappings.ts";

/** Returns a resource with these required fields, and the field `Town`, which is not required. */
function resourceWith(...required: string[]): ResourceInfo {
  const fields = [...required, "Town"].map((path) => ({ path, required: path !== "Town" }) as FieldInfo);
  return { name: "brand", path: "brands", singular: "brand", plural: "brands", fields };
}

/** A preview of columns with these suggested fields. Those called like the field, in any case, aren't guessed. */
function previewOf(suggested: Readonly<Record<string, string | undefined>>): FilePreviewResponse {
  const columns = Object.entries(suggested).map(([key, field], index) => {
    const letter = String.fromCharCode(65 + index);
    return {
      letter,
      key,
      name: key === letter ? "" : key,
      field,
      isGuessed: field?.toLowerCase() !== key,
      samples: [],
    };
  });
  return { format: "csv", columns };
}

const mappingOf = (...fields: string[]) => ({ fields: Object.fromEntries(fields.map((path) => [path, "column"])) });

test.each([
  ["the ID, if it has a column", ["Code", "Name", "ID"], "ID"],
  ["the code, if the ID has no column", ["Name", "Code"], "Code"],
  ["the first other required field with a column", ["Title", "Name"], "Name"],
  ["the only required field with a column", ["Town", "Title"], "Title"],
  ["the ID, if no required field has a column", ["Town"], "ID"],
])("records are matched by %s", (_, mapped, match) => {
  expect(suggestedMatch(resourceWith("Name", "Title", "Code"), mappingOf(...mapped))).toBe(match);
});

describe("the suggested mapping", () => {
  test("columns named after a field", () => {
    const preview = previewOf({ name: "Name", Vendor: undefined, C: "Address.Town" });
    expect(suggestedMapping(preview)).toEqual({ fields: { Name: "name", "Address.Town": "C" } });
  });

  test("empty for a file without columns", () => {
    expect(suggestedMapping({ format: "json" } as FilePreviewResponse)).toEqual({ fields: {} });
  });
});

test("guessed columns: those that aren't named after a field", () => {
  expect([...guessedColumns(previewOf({ Vendor: "Name", Town: "Address.Town", name: "Name" }))]).toEqual([
    "Vendor",
    "Town",
  ]);
});

test.each([
  ["all columns are there", { Name: "Vendor", Town: { column: "C", lookup: {} }, Code: { constant: 1 } }, true],
  ["a column is missing", { Name: "Vendor", Town: "D" }, false],
  ["it has no fields", {}, false],
])("whether a mapping fits a file: %s", (_, fields, expected) => {
  expect(isFitting({ fields }, previewOf({ Vendor: undefined, C: undefined }))).toBe(expected);
});

describe("with another header row or sheet", () => {
  const before = previewOf({ Vendor: "Name", Town: "Address.Town", Old: "Code" });
  const after = previewOf({ Vendor: "Name", Town: "Address.Town", Tel: "Phone", Id: "Code" });
  const carried = (fields: ImportMapping["fields"]) =>
    carriedOver({ fields }, before, after, suggestedMapping(after)).fields;

  test("columns in both keep their fields, or none", () => {
    const lookup = { column: "Town", lookup: { X: "Y" } };
    expect(carried({ Title: "Vendor", County: lookup })).toEqual({
      Title: "Vendor",
      County: lookup,
      Phone: "Tel",
      Code: "Id",
    });
  });

  test("missing columns lose theirs, and constants and fields taken by others stay", () => {
    expect(carried({ Name: "Old", Code: { constant: 1 }, Phone: "Town" })).toEqual({
      Code: { constant: 1 },
      Phone: "Town",
    });
  });
});

describe("choosing a field", () => {
  const mapping = { fields: { Name: "name", Town: { column: "town", lookup: {} } }, skip: { old: ["1"] } };

  test("changes only its column", () => {
    expect(withField(mapping, "code", "Code")).toEqual({ ...mapping, fields: { ...mapping.fields, Code: "code" } });
    expect(withField(mapping, "town", "County")).toEqual({ ...mapping, fields: { Name: "name", County: "town" } });
  });

  test("takes it from the column that had it", () => {
    const changed = withField(mapping, "town", "Name");
    expect(changed).toEqual({ ...mapping, fields: { Name: "town" } });
    expect([fieldsOfColumn(changed, "name"), fieldsOfColumn(changed, "town")]).toEqual([[], ["Name"]]);
  });

  test("removes the column if it's empty", () => {
    expect(withField(mapping, "name", "")).toEqual({ ...mapping, fields: { Town: mapping.fields.Town } });
  });
});

describe("replacements of a field's values", () => {
  const repair = (entry: unknown) =>
    withReplacements({ fields: { Town: "town", Country: entry } }, "Country", { Germany: "DE", Narnia: "" }).fields;

  test("start a lookup that keeps all other values", () => {
    expect(repair("Ctry")).toEqual({
      Town: "town",
      Country: { column: "Ctry", keep: true, lookup: { Germany: "DE" } },
    });
  });

  test("are added to a lookup, without other changes", () => {
    const lookup = { Norge: "NO", Germany: null };
    expect(repair({ column: "Ctry", otherwise: "GB", lookup }).Country).toEqual({
      column: "Ctry",
      otherwise: "GB",
      lookup: { Norge: "NO", Germany: "DE" },
    });
  });

  test("change nothing if they're all empty", () => {
    const mapping = mappingOf("Country");
    expect(withReplacements(mapping, "Country", { Narnia: "" })).toEqual(mapping);
  });
});

test.each([
  ["a column", "name", "name"],
  ["a column with a conversion", { column: "name", trim: true }, "name"],
  ["a constant", { value: "Oslo" }, undefined],
  ["no entry", undefined, undefined],
])("the column in an entry: %s", (_, entry, column) => {
  expect(columnOf(entry)).toBe(column);
});

describe("a file with a mapping", () => {
  const read = (content: string | Uint8Array<ArrayBuffer>) => readMappingFile(new File([content], "mapping.json"));

  test("read with its rule for skipping rows, if any", async () => {
    expect(await read('{ "fields": { "Name": "name" } }')).toStrictEqual({ fields: { Name: "name" } });
    const mapping = { fields: { Name: "name" }, skip: { column: "old" } };
    expect(await read(JSON.stringify({ ...mapping, other: 1 }))).toStrictEqual(mapping);
  });

  test.each(["utf8", "utf16le"] as const)("may have a byte order mark: %s", async (encoding) => {
    const bytes = Buffer.from('\ufeff{ "fields": { "Name": "Größe" } }', encoding);
    expect(await read(bytes)).toStrictEqual({ fields: { Name: "Größe" } });
    if (encoding === "utf16le") expect(await read(bytes.swap16())).toStrictEqual({ fields: { Name: "Größe" } });
  });

  test.each([
    "",
    "{}",
    '{ "fields": null }',
    '{ "fields": ["Name"] }',
    '{ "fields": "Name" }',
  ])("cannot be %j", async (text) => {
    await expect(read(text)).rejects.toThrow();
  });
});
