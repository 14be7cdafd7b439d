// Upserts update the record with a value or create it. Between the look-up and the transaction, another process writes.

import { describe, expect, test } from "bun:test";
import type { Intent, Match, Outcome } from "../../src/model/change.ts";
import type { Engine } from "../../src/model/engine.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { engines, useTwoEngines } from "../support/engine/engines.ts";
import { createIntent, deleteBrand, type TestIntent, updateBrand } from "../support/engine/intents.ts";

const keys = ["Address", "Town"];

describe.each(engines)("an upsert on $name", (kind) => {
  let both: readonly [Engine, Engine];
  let site = 0;
  useTwoEngines(kind, (first, second) => {
    both = [first, second];
  });

  const values = (Town: string) => ({ Name: "Acme", Address: { Town } });
  const add = (Town: string, more: TestIntent = {}) => createIntent({ site, values: values(Town), ...more });
  const move = (id: number, Town: string) => updateBrand(site, id, values(Town));
  const upsert = (
    value: string,
    revision: number,
    ids: readonly number[] = [],
    more: TestIntent & Partial<Match> = {},
  ) => {
    const { newJson = JSON.stringify({ ...values(value), New: "1" }), ...intent } = more;
    const match = { keys, value, revision, found: { ids, count: ids.length }, newJson };
    return createIntent({ site, operation: "upsert", values: { AccountNumber: "set" }, match, ...intent });
  };
  const other = (...intents: Intent[]) => both[1].commit(intents);
  const toTexts = (outcomes: readonly Outcome[]) =>
    outcomes.map((one) => {
      if (one.kind !== "rejected") return `${one.kind === "done" ? one.operation : one.kind} ${one.id}`;
      return one.found ? `${one.rejectionReason} ${one.found.ids} of ${one.found.count}` : one.rejectionReason;
    });
  const modes: [string, (batches: Intent[][]) => Promise<string[]>][] = [
    ["alone", async (batches) => toTexts(await both[0].commit(batches.flat()))],
    ["in a transaction of several batches", (batches) => commitAll(batches, {})],
    ["in a run", (batches) => commitAll(batches, { run: { id: "k3J9aZ0q", size: batches.flat().length } })],
  ];
  async function commitAll(batches: Intent[][], options: Parameters<Engine["commitAtomically"]>[2]): Promise<string[]> {
    const texts: string[] = [];
    await both[0].commitAtomically(batches, (outcomes) => void texts.push(...toTexts(outcomes)), options);
    return texts;
  }
  const stored = async (id: number) =>
    JSON.parse((await readAllRows(both[0], site)).rows.find((row) => row.id === id)?.body ?? "null");

  describe.each(modes)("%s", (_mode, commit) => {
    // The site has the brands 1 in Oslo and 2 in Bergen, as of revision 2.
    test.each<[string, () => Intent[], string, number[], string]>([
      ["updates the record that was found", () => [], "Oslo", [1], "update 1"],
      ["creates a record if none was found", () => [], "Bodø", [], "create 3"],
      [
        "updates a record that has changed in other fields",
        () => [updateBrand(site, 1, { Name: "x" })],
        "Oslo",
        [1],
        "update 1",
      ],
      ["creates a record if the value was changed", () => [move(1, "Bodø")], "Oslo", [1], "create 3"],
      ["creates a record if the record was deleted", () => [deleteBrand(site, 1)], "Oslo", [1], "create 3"],
      ["updates a record that was created", () => [add("Bodø")], "Bodø", [], "update 3"],
      ["updates a record that has the value now", () => [move(2, "Bodø")], "Bodø", [], "update 2"],
      ["follows a value to another record", () => [move(1, "x"), move(2, "Oslo")], "Oslo", [1], "update 2"],
      ["follows a value to a new record", () => [deleteBrand(site, 1), add("Oslo")], "Oslo", [1], "update 3"],
      ["finds a record that got its value back", () => [move(1, "x"), move(1, "Oslo")], "Oslo", [1], "update 1"],
      [
        "forgets a record that was created and deleted",
        () => [add("Bodø"), deleteBrand(site, 3)],
        "Bodø",
        [],
        "create 4",
      ],
      ["ignores other resources", () => [add("Bodø", { resource: "location" })], "Bodø", [], "create 3"],
      ["is rejected if a second record has the value", () => [add("Oslo")], "Oslo", [1], "several-matches 1,3 of 2"],
      [
        "is rejected if two records were created",
        () => [add("Bodø"), add("Bodø")],
        "Bodø",
        [],
        "several-matches 3,4 of 2",
      ],
      ["finds the only one left of several", () => [add("Oslo"), deleteBrand(site, 1)], "Oslo", [1], "update 3"],
      [
        "counts many",
        () => Array.from({ length: 9 }, () => add("Oslo")),
        "Oslo",
        [1],
        "several-matches 1,3,4,5,6,7 of 10",
      ],
    ])("%s", async (_, changes, value, ids, expected) => {
      site++;
      await other(add("Oslo"), add("Bergen"));
      if (changes().length > 0) await other(...changes());
      expect(await commit([[upsert(value, 2, ids)]])).toEqual([expected]);
      const { length } = changes();
      const [operation, id] = expected.split(" ");
      if (operation === "update")
        expect(await stored(Number(id))).toMatchObject({ AccountNumber: "set", Address: { Town: value } });
      if (operation === "create")
        expect(await stored(Number(id))).toMatchObject({ New: "1", Address: { Town: value } });
      const [head] = await both[1].readHeads([site]);
      expect(head?.revision).toBe(2 + length + (operation === "several-matches" ? 0 : 1));
      expect(await both[0].findInconsistencies()).toEqual([]);
      // A delete with the same match.
      site++;
      await other(add("Oslo"), add("Bergen"));
      if (length > 0) await other(...changes());
      const deleted = operation === "create" ? "not-found" : expected.replace("update", "delete");
      expect(await commit([[upsert(value, 2, ids, { operation: "delete" })]])).toEqual([deleted]);
      if (operation === "update") expect(await stored(Number(id))).toBe(null);
      expect(await both[0].findInconsistencies()).toEqual([]);
    });

    test("looked up at another revision than the rest of its batch", async () => {
      site++;
      await other(add("Oslo"), add("Bergen"));
      await other(move(2, "Bodø"));
      expect(
        await commit([
          [upsert("Oslo", 2, [1]), upsert("Bodø", 3, [2])],
          [upsert("Bergen", 2, [2]), upsert("x", 3)],
        ]),
      ).toEqual(["update 1", "update 2", "create 3", "create 4"]);
    });

    test("separate values for a change and for a new record, or none", async () => {
      site++;
      await other(add("Oslo"));
      const noUpdate = { valuesJson: "" };
      const noCreate = { newJson: "" };
      expect(await commit([[upsert("Oslo", 1, [1], noUpdate)]])).toEqual(["invalid-update"]);
      expect(await commit([[upsert("Bodø", 1, [], noCreate)]])).toEqual(["invalid-create"]);
      expect(await commit([[upsert("Bodø", 1, [], noUpdate), upsert("Oslo", 1, [1], noCreate)]])).toEqual([
        "create 2",
        "update 1",
      ]);
    });

    test("with an ID, writes to no other record", async () => {
      site++;
      await other(add("Oslo"), add("Bergen"));
      await other(move(1, "x"), move(2, "Oslo"));
      const reasons = [
        [upsert("Oslo", 2, [1], { id: 1 }), "precondition-failed"],
        [upsert("Bergen", 2, [2], { id: 2 }), "id-exists"],
        [upsert("x", 2, [], { id: 3, ifVersion: [] }), "precondition-failed"],
        [upsert("Oslo", 2, [], { id: 2 }), "update 2"],
        [upsert("Bodø", 2, [], { id: 3, ifVersion: [] }), "create 3"],
      ] as const;
      for (const [intent, reason] of reasons) expect([reason, await commit([[intent]])]).toEqual([reason, [reason]]);
    });

    test("outdated if changes since were pruned, or if more records had the value than named", async () => {
      site++;
      await other(add("Oslo"));
      await other(add("Bergen"), add("Oslo"));
      await both[1].pruneJournal(site, 2, 10);
      expect(await commit([[upsert("Oslo", 1, [1])]])).toEqual(["match-outdated"]);
      expect(await commit([[upsert("Bergen", 3, [2])]])).toEqual(["update 2"]);
      const found = { ids: [1], count: 7 };
      const many = { keys, value: "Oslo", revision: 4, found };
      expect(await commit([[upsert("", 4, [], { match: many })]])).toEqual(["match-outdated"]);
    });
  });

  test("rejected if an earlier write in its transaction takes the value away or gives it to another record", async () => {
    const both = [
      ["alone", 1],
      ["in several batches", 2],
    ] as const;
    for (const [_, batches] of both)
      for (const [first, value, ids, expected] of [
        [() => move(1, "x"), "Oslo", [1], ["update 1", "match-moved 1 of 1"]],
        [() => deleteBrand(site, 1), "Oslo", [1], ["delete 1", "match-moved 1 of 1"]],
        [() => move(2, "Oslo"), "Oslo", [1], ["update 2", "match-moved 2 of 1"]],
        [() => move(2, "Bodø"), "Bodø", [], ["update 2", "match-moved 2 of 1"]],
        [() => upsert("Bodø", 2), "Bodø", [], ["create 3", "match-moved 3 of 1"]],
        [() => updateBrand(site, 1, { Name: "x" }), "Oslo", [1], ["update 1", "update 1"]],
        [() => move(2, "x"), "Oslo", [1], ["update 2", "update 1"]],
      ] as const) {
        site++;
        await other(add("Oslo"), add("Bergen"));
        const intents = [first(), upsert(value, 2, ids)];
        const sent = batches === 1 ? [intents] : intents.map((intent) => [intent]);
        expect(await commitAll(sent, { run: { id: "k3J9aZ0q", size: 2 } })).toEqual([...expected]);
        expect(await otherReads()).toBe(expected[1].startsWith("match") ? 2 : 4);
      }
    site++;
    await other(add("Oslo"), add("Bergen"));
    const remove = (value: string, ids: number[]) => upsert(value, 2, ids, { operation: "delete", isOptional: true });
    const deletes = [
      [deleteBrand(site, 1), remove("Oslo", [1])],
      [move(2, "x"), remove("Bergen", [2])],
      [remove("Oslo", [1])],
    ];
    expect(await commitAll(deletes, { run: { id: "k3J9aZ0q", size: 5 } })).toEqual([
      "delete 1",
      "not-found",
      "update 2",
      "match-moved 2 of 1",
      "not-found",
    ]);
  });
  const otherReads = async () => (await both[1].readHeads([site]))[0]?.revision;

  test("replayed like any other write, even if its match is outdated", async () => {
    site++;
    const keyed = { idempotency: { keyId: 3, name: "town", digest: "d" } };
    expect(toTexts(await both[0].commit([upsert("Oslo", 0, [], keyed)]))).toEqual(["create 1"]);
    await other(move(1, "x"));
    await both[1].pruneJournal(site, 2, 10);
    expect(toTexts(await both[0].commit([upsert("Oslo", 0, [], keyed)]))).toEqual(["replayed 1"]);
  });
});
