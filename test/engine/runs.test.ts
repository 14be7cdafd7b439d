// Clients' runs: several batches that an engine commits in one transaction, with one run and one idempotency key (`AtomicCommitOptions`).

import { describe, expect, test } from "bun:test";
import type { Intent, Outcome } from "../../src/model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, Engine } from "../../src/model/engine.ts";
import { ProblemError } from "../../src/model/errors.ts";
import { idempotencyLifetimeMs } from "../../src/model/limits.ts";
import { parseRun } from "../../src/model/run.ts";
import { engineKinds, testIf, useTwoEngines } from "../support/engine/engines.ts";
import { createBrand, createIntent, deleteBrand, updateBrand } from "../support/engine/intents.ts";
import { waitUntil } from "../support/time.ts";

const id = "k3J9aZ0q";

describe.each(engineKinds)("on $name", (kind) => {
  let engine: Engine;
  let other: Engine;
  let url: string;
  useTwoEngines(kind, (first, second, address) => {
    [engine, other, url] = [first, second, address];
  });
  let site = 0;

  const idempotencyOf = (name: string, more: Partial<AtomicCommitOptions["idempotency"]> = {}) => ({
    ...{ site, keyId: 3, name, digest: "batch:d", at: 1000, replayData: '["pre"]' },
    ...more,
  });
  const creates = (...names: string[]) => names.map((name) => createBrand(site, name));
  /** Commits batches. Returns the result, and a text for each outcome. */
  async function commit(batches: readonly (readonly Intent[])[], options: AtomicCommitOptions = {}, on = engine) {
    const kinds: string[] = [];
    const size = batches.flat().length;
    const onOutcomes = (outcomes: readonly Outcome[]) => {
      for (const outcome of outcomes)
        kinds.push(outcome.kind === "rejected" ? outcome.rejectionReason : `${outcome.kind} ${outcome.id}`);
    };
    const result = await on.commitAtomically(batches, onOutcomes, { run: { id, size }, ...options });
    return { result, kinds };
  }
  const runsInJournal = async () =>
    (await engine.readJournalPage(site, 0, 1000)).entries.map(({ revision, run }) => [revision, run]);
  const namesOf = async () =>
    (await engine.readPage(site, "brand", { limit: 1000, offset: 0 })).rows.map(
      ({ body }) => JSON.parse(body ?? "").Name,
    );

  test("run: same for all changes, and its ID says their revisions", async () => {
    site++;
    await engine.commit(creates("a", "b"));
    const unchanged = updateBrand(site, 1, { Name: "a" });
    const batches = [[unchanged], creates("c"), [updateBrand(site, 2, { Name: "B" }), ...creates("d")]];
    const { result, kinds } = await commit(batches);
    expect(kinds).toEqual(["unchanged 1", "done 3", "done 2", "done 4"]);
    expect(result).toEqual({ kind: "committed", run: `${id}-3-4` });
    expect(parseRun(`${id}-3-4`)).toEqual({ first: 3, last: 6 });
    const run = `${id}-3-4`;
    expect(await runsInJournal()).toEqual([
      [1, null],
      [2, null],
      [3, run],
      [4, run],
      [5, run],
    ]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("run: none if nothing changes; without options, intents keep their own", async () => {
    site++;
    await engine.commit(creates("a"));
    expect(await commit([[updateBrand(site, 1, { Name: "a" })]])).toEqual({
      result: { kind: "committed", run: null },
      kinds: ["unchanged 1"],
    });
    const own = [{ ...createBrand(site, "b"), run: "own" }];
    expect(await engine.commitAtomically([own], () => {})).toEqual({ kind: "committed", run: null });
    expect(await runsInJournal()).toEqual([
      [1, null],
      [2, "own"],
    ]);
  });

  test("texts: stored as sent", async () => {
    site++;
    const names = ["\"{}\\,NULL'$1", "\u0000\u0001\n\u007f\u2028\ud800 日本 \u{1f600}", "null", "\\\\", ""];
    await commit([creates(...names), [...creates("x")]]);
    expect(await namesOf()).toEqual([...names, "x"]);
    const turned = names.map((_, index) => updateBrand(site, index + 1, { Name: names.at(-1 - index) as string }));
    await commit([turned]);
    expect(await namesOf()).toEqual([...names.toReversed(), "x"]);
    const { entries } = await engine.readJournalPage(site, 6, 1000);
    expect(entries.map(({ before }) => JSON.parse(before ?? "{}").Name)).toEqual([
      names[0],
      names[1],
      names[3],
      names[4],
    ]);
  });

  test("batches: later ones see earlier ones' changes, however far back", async () => {
    site++;
    await engine.commit(creates("a", "b"));
    const step = (name: string) => [updateBrand(site, 1, { Name: name }), ...creates(name)];
    const { kinds } = await commit([
      step("1"),
      [updateBrand(site, 2, { Name: "B" })],
      [updateBrand(site, 1, { Name: "1" })],
      step("2"),
      [deleteBrand(site, 1)],
      creates("3"),
      [{ ...updateBrand(site, 1, { Name: "x" }), isOptional: true }],
      [createIntent({ site, operation: "restore", id: 1, values: { ID: 1, Name: "again" } })],
    ]);
    expect(kinds).toEqual([
      "done 1",
      "done 3",
      "done 2",
      "unchanged 1",
      "done 1",
      "done 4",
      "done 1",
      "done 5",
      "not-found",
      "done 1",
    ]);
    expect(await namesOf()).toEqual(["again", "B", "1", "2", "3"]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("intents: can't name a record their own run has created", async () => {
    site++;
    for (const batches of [
      [[...creates("a"), updateBrand(site, 1, { Name: "b" })]],
      [creates("a"), [deleteBrand(site, 1)]],
      [[{ ...createBrand(site, "a"), id: 7 }], creates("b"), [updateBrand(site, 7, { Name: "b" })]],
    ]) {
      const { result, kinds } = await commit(batches);
      expect([result, kinds.at(-1)]).toEqual([{ kind: "aborted" }, "not-found"]);
    }
    const optional = { ...deleteBrand(site, 1), isOptional: true };
    expect((await commit([[...creates("a"), optional], creates("b")])).kinds).toEqual([
      "done 1",
      "not-found",
      "done 2",
    ]);
    // A command may do this.
    await engine.commitAtomically([creates("c"), [deleteBrand(site, 3)]], () => {});
    expect(await namesOf()).toEqual(["a", "b"]);
  });

  test("rejection: nothing stored, and the next transaction gets the same revisions", async () => {
    site++;
    const name = "aborted";
    const batches = [creates("a"), [deleteBrand(site, 99)], creates("b")];
    const { result, kinds } = await commit(batches, { idempotency: idempotencyOf(name) });
    expect([result, kinds]).toEqual([{ kind: "aborted" }, ["done 1", "not-found"]]);
    const again = await commit([creates("a")], { idempotency: idempotencyOf(name) });
    expect(again.result).toEqual({ kind: "committed", run: `${id}-1-1` });
  });

  test("optional intent: left out, unless its writer has to start over", async () => {
    site++;
    const left = { ...deleteBrand(site, 99), isOptional: true };
    // Of seven records, the writer names six; the seventh may have changed.
    const found = { ids: [], count: 7 };
    const outdated = { operation: "upsert", match: { keys: ["Name"], value: "b", revision: 1, found } } as const;
    expect((await commit([[left, ...creates("a")]])).kinds).toEqual(["not-found", "done 1"]);
    for (const [reason, more] of [
      ["other-epoch", { ifEpoch: "other" }],
      ["other-epoch", { ifSystemEpoch: "other" }],
      ["authorization-changed", { authorizedBy: { keyId: 99, revision: 0 } }],
      ["match-outdated", outdated],
    ] as const) {
      const { result, kinds } = await commit([
        creates("b"),
        [{ ...updateBrand(site, 1, {}), isOptional: true, ...more }],
      ]);
      expect([result, kinds]).toEqual([{ kind: "aborted" }, ["done 2", reason]]);
    }
  });

  test("repeated: gets what the first stored, from any process, and changes nothing", async () => {
    site++;
    await engine.commit(creates("a"));
    const batches = [
      [updateBrand(site, 1, { Name: "a" }), ...creates("b")],
      [{ ...deleteBrand(site, 99), isOptional: true }, updateBrand(site, 1, { Name: "A" })],
    ];
    const idempotency = idempotencyOf("same");
    const first = await commit(batches, { idempotency });
    const run = `${id}-2-4`;
    expect(first.result).toEqual({ kind: "committed", run });
    const replayed: AtomicCommitResult = {
      kind: "replayed",
      stored: {
        run,
        size: 4,
        notDone: [
          { index: 0, kind: "unchanged", id: 1, revision: 1 },
          { index: 2, kind: "rejected", rejectionReason: "not-found" },
        ],
        replayData: '["pre"]',
      },
    };
    for (const on of [engine, other])
      expect(await commit(batches, { idempotency: { ...idempotency, replayData: "", at: 2000 } }, on)).toEqual({
        result: replayed,
        kinds: [],
      });
    const reused = await commit(batches, { idempotency: { ...idempotency, digest: "batch:other" } });
    expect(reused).toEqual({ result: { kind: "idempotency-key-reused" }, kinds: [] });
    expect((await engine.readHeads([site]))[0]?.revision).toBe(3);
  });

  test("repeated without intents: same, and an expired response isn't used", async () => {
    site++;
    const idempotency = idempotencyOf("nothing");
    expect((await commit([], { idempotency })).result).toEqual({ kind: "committed", run: null });
    const stored = { run: null, size: 0, notDone: [], replayData: '["pre"]' };
    expect((await commit([], { idempotency })).result).toEqual({ kind: "replayed", stored });
    const later = { ...idempotency, at: 1000 + idempotencyLifetimeMs };
    expect((await commit([creates("a")], { idempotency: later })).result).toEqual({
      kind: "committed",
      run: `${id}-1-1`,
    });
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("idempotency key: rejected for a single write after a transaction, and vice versa", async () => {
    site++;
    await commit([creates("a")], { idempotency: idempotencyOf("key") });
    const single = { ...createBrand(site, "b"), at: 1000, idempotency: { keyId: 3, name: "key", digest: "d" } };
    expect(await engine.commit([single])).toEqual([{ kind: "rejected", rejectionReason: "idempotency-key-reused" }]);
    await engine.commit([{ ...single, idempotency: { ...single.idempotency, name: "single" } }]);
    const { result } = await commit([creates("c")], { idempotency: idempotencyOf("single") });
    expect(result).toEqual({ kind: "idempotency-key-reused" });
  });

  test("same key at once from two processes: one is stored, the other repeats it", async () => {
    site++;
    const batches = Array.from({ length: 10 }, (_, n) => creates(`${n}`, "x"));
    const idempotency = idempotencyOf("race");
    const results = await Promise.all([engine, other].map((on) => commit(batches, { idempotency }, on)));
    const kinds = results.map(({ result }) => result.kind);
    expect(kinds.toSorted()).toEqual(["committed", "replayed"]);
    expect((await engine.readHeads([site]))[0]?.revision).toBe(20);
  });

  test("concurrent transactions and single writes: no gaps in a run's revisions", async () => {
    site++;
    const batches = Array.from({ length: 5 }, (_, n) => creates(`${n}`, "x", "y"));
    const works = Array.from({ length: 6 }, (_, n) => commit(batches, {}, n % 2 === 0 ? engine : other));
    const singles = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? engine : other).commit(creates("single")));
    const runs = (await Promise.all(works)).map(({ result }) => (result.kind === "committed" ? result.run : undefined));
    await Promise.all(singles);
    const entries = await runsInJournal();
    expect(entries.map(([revision]) => revision)).toEqual(Array.from({ length: 110 }, (_, n) => n + 1));
    for (const run of runs) {
      const { first, last } = parseRun(run ?? "") as { first: number; last: number };
      expect(entries.slice(first - 1, last).map(([, one]) => one)).toEqual(new Array(15).fill(run));
    }
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  for (const more of [0, 2001])
    testIf(kind.name !== "SQLite")(
      `changes of others while a transaction waits for them count, also with ${more} more of them`,
      async () => {
        site++;
        await engine.commit(creates("a", "b", "c"));
        const changes = [updateBrand(site, 1, { Name: "A" }), deleteBrand(site, 2), ...creates("d")];
        let run: ReturnType<typeof commit> | undefined;
        const start = async () => {
          if (run) return;
          const optional = [1, 2].map((brand) => ({ ...deleteBrand(site, brand), isOptional: true }));
          run = commit([
            [updateBrand(site, 1, { Name: "A" }), updateBrand(site, 3, { Name: "C" })],
            [...optional.slice(1), updateBrand(site, 4, { Name: "D" })],
            optional,
          ]);
          await waitUntil(() => kind.isWaitingForLock(url), "the transaction");
        };
        await other.commitAtomically([changes, creates(...new Array(more).fill("x"))], start);
        expect((await run)?.kinds).toEqual(["unchanged 1", "done 3", "not-found", "done 4", "done 1", "not-found"]);
        expect((await namesOf()).slice(0, 2)).toEqual(["C", "D"]);
        expect(await engine.findInconsistencies()).toEqual([]);
      },
    );

  testIf(kind.name !== "SQLite")("a transaction whose connection is lost can be repeated with its key", async () => {
    site++;
    const options = { idempotency: idempotencyOf("lost"), run: { id, size: 2 } };
    const batches = [creates("a"), creates("b")];
    const failed = engine.commitAtomically(batches, async () => void (await kind.obstruct(url)), options);
    await expect(failed).rejects.toMatchObject({ code: "unavailable" });
    const { result } = await onNewConnection(() => commit(batches, options));
    expect(result).toEqual({ kind: "committed", run: `${id}-1-2` });
    expect((await onNewConnection(() => commit(batches, options))).result.kind).toBe("replayed");
    expect(await onNewConnection(namesOf)).toEqual(["a", "b"]);
  });

  test("a batch can't be made: nothing is left, and others can write again", async () => {
    site++;
    function* batches() {
      yield creates("a");
      yield creates("b");
      throw new Error("no more");
    }
    await expect(engine.commitAtomically(batches(), () => {}, { run: { id, size: 9 } })).rejects.toThrow("no more");
    expect((await commit([creates("c")])).result).toEqual({ kind: "committed", run: `${id}-1-1` });
  });
});

/** Repeats a call until it has a new connection. All connections of the pool are lost, and the first call of each finds this out. */
function onNewConnection<Result extends object>(call: () => Promise<Result>): Promise<Result> {
  const ifUnavailable = (error: unknown) => {
    if (!(error instanceof ProblemError && error.code === "unavailable")) throw error;
    return undefined;
  };
  return waitUntil(() => call().catch(ifUnavailable), "a new connection");
}
