// The columns of a table of records, their headings, and the line below the name of a record on a phone.

import { expect, test } from "bun:test";
import { columnLabel, groupedColumns, summaryOf } from "../../../../src/console/records/known-fields.tsx";

test("the town and the country of an address are columns by default", () => {
  const paths = ["Name", "Town", "Address.AddressLine1", "Address.Town", "Address.Country", "Telephone.Daytime"];
  expect(groupedColumns(paths)).toEqual(["Address.Town", "Address.Country"]);
});

test.each([
  ["AccountNumber", "Account number"],
  ["Address.Town", "Town"],
  ["Telephone.Daytime", "Telephone: Daytime"],
])("the column of the field %s has the heading %p", (path, heading) => {
  expect(columnLabel(path)).toBe(heading);
});

test.each([
  [{ Code: "L1", AccountNumber: "7", Address: { Town: "Leeds", Country: "GB" } }, "L1 · 7 · Leeds"],
  [{ Code: "", Address: { Town: "Leeds" } }, "Leeds"],
  [{ Name: "Acme" }, ""],
])("the line below the name of the record %j is %p", (values, line) => {
  expect(summaryOf({ id: 1, ...values })).toBe(line);
});
