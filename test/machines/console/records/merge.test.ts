// The merge of a record that another operator has changed during an edit.

import { describe, expect, test } from "bun:test";
import { differingFields, mergedValues } from "../../../../src/console/records/merge.ts";

const base = { ID: 1, id: 1, version: "a", Name: "Acme", Web: "acme.test", Address: { Town: "Oslo", County: "Viken" } };
const theirs = { ...base, version: "b", Web: "new.test", Address: { Town: "Oslo", County: "Akershus" } };
const mine = { ...base, Name: "Acme & Co", Web: "mine.test" };

describe("a conflict", () => {
  test("has the fields that differ; the operator's change is suggested, otherwise the stored value", () => {
    expect(differingFields(base, theirs, mine)).toEqual([
      { path: "Name", theirs: "Acme", mine: "Acme & Co", suggested: "mine" },
      { path: "Web", theirs: "new.test", mine: "mine.test", suggested: "mine" },
      { path: "Address.County", theirs: "Akershus", mine: "Viken", suggested: "theirs" },
    ]);
  });

  test("has no field that both operators have changed in the same way", () => {
    expect(differingFields(base, { ...base, version: "b", Name: "Same" }, { ...base, Name: "Same" })).toEqual([]);
  });

  test("is merged with the chosen values, in groups too", () => {
    const fields = differingFields(base, theirs, mine);
    expect(mergedValues(mine, fields, ({ suggested }) => suggested)).toEqual({
      ...mine,
      Address: { Town: "Oslo", County: "Akershus" },
    });
    expect(mergedValues(mine, fields, () => "theirs")).toEqual({ ...theirs, version: "a" });
    expect(mergedValues(mine, fields, () => "mine")).toEqual(mine);
  });

  test("is merged into a group that the typed values do not have", () => {
    const without = { Name: "Acme" };
    const fields = differingFields(without, { Name: "Acme", Address: { Town: "Oslo" } }, without);
    expect(mergedValues(without, fields, () => "theirs")).toEqual({ Name: "Acme", Address: { Town: "Oslo" } });
  });
});
