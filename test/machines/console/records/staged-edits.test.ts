// Cell edits waiting to be saved, and cells pasted from a spreadsheet.

import { describe, expect, test } from "bun:test";
import type { RecordResponse } from "../../../../src/admin/api/record-types.ts";
import type { FieldInfo, ResourceInfo } from "../../../../src/admin/api/types.ts";
import {
  choose,
  conflictsIn,
  countEdits,
  countFaults,
  countUndecided,
  discardEdits,
  type Edit,
  isTooMuch,
  markProblem,
  maxStagedRecords,
  newId,
  nothingStaged,
  parseCells,
  resolveConflicts,
  stageEdits,
  toChanges,
  toEdits,
  undoStep,
} from "../../../../src/console/records/staged-edits.ts";

const field = (path: string, max: number, required = false): FieldInfo => ({
  path,
  max,
  required,
  description: "",
  example: "",
  pattern: null,
});
const resource: ResourceInfo = {
  name: "brand",
  path: "brands",
  singular: "brand",
  plural: "brands",
  fields: [field("Name", 10, true), field("Address.Town", 10), field("Address.Country", 3)],
};
const itemOf = (id: number, values: object = {}, version = `v${id}`): RecordResponse => ({
  record: { ID: id, ...values },
  version,
});
const acme = itemOf(1, { Name: "Acme", Address: { Town: "Oslo" } });
const edit = (path: string, text: string, item = acme): Edit => ({ item, path, text });
const staged = (...edits: readonly Edit[]) =>
  edits.reduce((before, one) => stageEdits(before, [one], resource), nothingStaged);

describe("staged edits", () => {
  test("one request, with each record's version and changed fields", () => {
    const both = staged(edit("Address.Town", "Bergen"), edit("Name", "B", itemOf(2)), edit("Address.Country", "NO"));
    expect(countEdits(both)).toBe(3);
    expect(toChanges(both)).toEqual({
      changes: [
        { id: 1, version: "v1", values: { Address: { Town: "Bergen", Country: "NO" } } },
        { id: 2, version: "v2", values: { Name: "B" } },
      ],
    });
  });

  test("gone once the text is the record's own", () => {
    expect(countEdits(staged(edit("Name", "A"), edit("Name", "Acme")))).toBe(0);
    expect(staged(edit("Name", "Acme"))).toBe(nothingStaged);
  });

  test("undo: step by step, and a paste is one step", () => {
    const typed = staged(edit("Name", "A"), edit("Name", "B"));
    const pasted = stageEdits(typed, [edit("Address.Town", "Ås"), edit("Name", "C")], resource);
    const names = [];
    for (let state = pasted; state.steps.length > 0; state = undoStep(state, resource))
      names.push([...(state.records.get(1)?.texts.values() ?? [])]);
    expect(names).toEqual([["Ås", "C"], ["B"], ["A"]].map((texts) => expect.arrayContaining(texts)));
    expect(undoStep(undoStep(undoStep(pasted, resource), resource), resource).records.size).toBe(0);
  });

  test("invalid text: shows the reason until it's corrected", () => {
    const wrong = staged(edit("Address.Country", "Norway"), edit("Name", ""));
    expect([...(wrong.records.get(1)?.faults.keys() ?? [])].sort()).toEqual(["Address.Country", "Name"]);
    const corrected = stageEdits(wrong, [edit("Address.Country", "NO"), edit("Name", "A")], resource);
    expect([countFaults(wrong), countFaults(corrected)]).toEqual([2, 0]);
  });

  describe("more than a request can save: refused", () => {
    const edits = (count: number, text: string) =>
      Array.from({ length: count }, (_, index) => edit("Name", text, itemOf(index + 1)));
    const cases: [what: string, fits: Edit[], excess: Edit[]][] = [
      ["records", edits(maxStagedRecords, "x"), edits(maxStagedRecords + 1, "x")],
      ["bytes", edits(1000, "é".repeat(400)), edits(1000, "é".repeat(600))],
    ];
    test.each(cases)("%s", (_, fits, excess) => {
      expect([fits, excess].map((edits) => isTooMuch(stageEdits(nothingStaged, edits, resource)))).toEqual([
        false,
        true,
      ]);
    });
  });

  test("rejected by the server: marked with the reason, at the field or record", () => {
    const faults = [
      { id: 1, field: "Name", code: "taken", detail: "is taken" },
      { id: 2, field: "ID", code: "read-only", detail: "is gone" },
      { id: 9, field: "Name", code: "taken", detail: "is of another record" },
    ];
    const { records } = markProblem(staged(edit("Name", "A"), edit("Name", "B", itemOf(2))), { faults });
    expect([...records.values()].map((record) => [...record.faults])).toEqual([
      [["Name", "Is taken."]],
      [["", "ID: Is gone."]],
    ]);
    const corrected = stageEdits({ records, steps: [] }, [edit("Address.Town", "Oslo", itemOf(2))], resource);
    expect(corrected.records.get(2)?.faults.size).toBe(0);
  });

  test("new record: marked with its errors", () => {
    const { records } = markProblem(staged(edit("Name", "A", itemOf(newId))), {
      errors: [{ field: "Name", code: "taken", detail: "is taken" }],
    });
    expect([...(records.get(newId)?.faults ?? [])]).toEqual([["Name", "Is taken."]]);
  });

  const record = { ID: 1, Name: "Theirs", Address: { Town: "Bergen" } };
  const conflict = { id: 1, record, version: "w1", changed: null };
  const mine = staged(edit("Name", "Mine"), edit("Address.Town", "Bergen"));

  test("changed by someone else: a choice for each field with two new values, and none is made at first", () => {
    const marked = markProblem(mine, { conflicts: [conflict] });
    expect([...marked.records.values()].flatMap(conflictsIn)).toEqual([
      { path: "Name", original: "Acme", theirs: "Theirs", mine: "Mine" },
    ]);
    expect(countUndecided(marked)).toBe(1);
    const chosen = choose(marked, "mine", { id: 1, path: "Name" });
    expect([countUndecided(chosen), countUndecided(choose(marked, "mine", { id: 2, path: "Name" }))]).toEqual([0, 1]);
    const kept = resolveConflicts(chosen, resource);
    expect(toChanges(kept)).toEqual({ changes: [{ id: 1, version: "w1", values: { Name: "Mine" } }] });
    expect(kept.records.get(1)?.conflict).toBeUndefined();
    expect(resolveConflicts(choose(marked, "theirs"), resource)).toEqual({ records: new Map(), steps: [] });
    // Another edit, or another conflict, needs another choice.
    expect(countUndecided(stageEdits(chosen, [edit("Name", "Mine, too")], resource))).toBe(1);
    expect(countUndecided(markProblem(chosen, { conflicts: [{ ...conflict, version: "w2" }] }))).toBe(1);
  });

  test("deleted by someone else: nothing to choose until the edits are discarded", () => {
    const deleted = markProblem(mine, { conflicts: [{ ...conflict, record: null, version: null }] });
    expect([countUndecided(deleted), countUndecided(choose(deleted, "mine"))]).toEqual([1, 1]);
    expect(discardEdits(deleted, [1])).toEqual({ records: new Map(), steps: [] });
  });
});

describe("cells from a spreadsheet", () => {
  const cases: [what: string, text: string, cells: string[][]][] = [
    ["one cell", "Oslo", [["Oslo"]]],
    ["rows and columns, with the line end that Excel adds", "a\tb\r\nc\td\r\n", [["a", "b"], ["c", "d"]]], // biome-ignore format: a table
    ["empty cells", "\tb\n\t\n", [["", "b"], ["", ""]]], // biome-ignore format: a table
    ["a cell with quotes, a tab and a line end", '"1 ""x""\t\n2"\tb', [['1 "x" 2', "b"]]],
    ["quotes within a text", '3" disk\t"a" b', [['3" disk', '"a" b']]],
  ];
  test.each(cases)("are read: %s", (_, text, cells) => {
    expect(parseCells(text)).toEqual(cells);
  });

  const tooMuch: [what: string, text: string][] = [
    ["rows", "x\n".repeat(5001)],
    ["columns", "x\t".repeat(101)],
    ["characters", "x".repeat(10_000_000)],
    ["characters after a quote", `"${"x".repeat(10_000_000)}`],
  ];
  test.each(tooMuch)("are refused if there are too many %s", (_, text) => {
    expect(() => parseCells(text)).toThrow("too much to save at once");
  });

  test("are read up to the limits", () => {
    expect(parseCells("x\n".repeat(5000))).toHaveLength(5000);
    expect(parseCells("x\t".repeat(99))[0]).toHaveLength(99);
    // Opens a quote that's never closed, which must not take quadratic time.
    expect(parseCells(`${'"a""'.repeat(250_000)}`)[0]).toHaveLength(1);
  });

  test("become edits of the columns to the right, unless there are too few of them", () => {
    const items = [acme, itemOf(2)];
    const paths = ["Name", "Address.Town"];
    const rows = [["A", "B", ""], ["C"]];
    expect(toEdits(items, paths, rows).map(({ item, path, text }) => [item.record.ID, path, text])).toEqual([
      [1, "Name", "A"],
      [1, "Address.Town", "B"],
      [2, "Name", "C"],
    ]);
    expect(() => toEdits(items, ["Address.Town"], rows)).toThrow("You copied 2 columns, but only 1 fits");
  });
});
