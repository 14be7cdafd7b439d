// --match: rows find their records by a field while others write. The match is correct as of the transaction that stores the row.

import { describe, expect, test } from "bun:test";
import type { Intent, Outcome } from "../../src/model/change.ts";
import type { Engine } from "../../src/model/engine.ts";
import { readRows } from "../../src/operator/import/file-rows.ts";
import { type ImportOptions, importRecords } from "../../src/operator/import/import-records.ts";
import { brand } from "../../src/resources/brand.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { engines, maxCreatedSite, useTwoEngines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";

type Engines = readonly [Engine, Engine];

describe.each(engines)("import with --match on $name", (kind) => {
  let both: Engines;
  let site = maxCreatedSite;
  useTwoEngines(kind, (first, second) => {
    both = [first, second];
  });

  /** Imports `lines`, and calls `between` once all rows were read, before the last batch is committed. */
  async function load(
    lines: readonly string[],
    options: Partial<ImportOptions> = {},
    between?: () => Promise<unknown>,
    engine = both[0],
  ) {
    const bytes = (async function* () {
      yield Buffer.from("Name,Address.Town\n");
      for (const line of lines) yield Buffer.from(`${line}\n`);
      await between?.();
    })();
    const rows = readRows(brand, bytes, "csv");
    return importRecords(engine, site, brand, rows, { now: () => 1, match: "Name", ...options });
  }

  const write = (intent: Partial<Intent> & { readonly values?: object }, engine = both[1]) =>
    engine.commit([createIntent({ site, ...intent })]);
  const add = (Name: string, more: object = {}) => write({ values: { Name, ...more } });
  const stored = async () =>
    (await readAllRows(both[0], site)).rows
      .flatMap(({ body }) => (body === null ? [] : [JSON.parse(body)]))
      .map(({ Name, Address }) => `${Name} ${Address?.Town ?? ""}`.trim())
      .sort();

  const changes: [string, () => Promise<unknown>, string[], object][] = [
    [
      "doesn't overwrite a record that a client renames meanwhile",
      () => write({ operation: "update", id: 1, values: { Name: "Renamed" } }),
      ["New Bergen", "Old Oslo", "Renamed"],
      { created: 2, updated: 0, rejected: 0 },
    ],
    [
      "recreates a record that a client deletes meanwhile",
      () => write({ operation: "delete", id: 1, values: {} }),
      ["New Bergen", "Old Oslo"],
      { created: 2, updated: 0, rejected: 0 },
    ],
    [
      "doesn't duplicate a record that a client creates meanwhile",
      () => add("New"),
      ["New Bergen", "Old Oslo"],
      { created: 0, updated: 2, rejected: 0 },
    ],
    [
      "creates a record even if a client creates and deletes it meanwhile",
      async () => {
        await add("New");
        await write({ operation: "delete", id: 2, values: {} });
      },
      ["New Bergen", "Old Oslo"],
      { created: 1, updated: 1, rejected: 0 },
    ],
    [
      "updates a record whose other fields a client changes meanwhile",
      () => write({ operation: "update", id: 1, values: { AccountNumber: "A" } }),
      ["New Bergen", "Old Oslo"],
      { created: 1, updated: 1, rejected: 0 },
    ],
  ];
  describe.each([
    ["in batches", false],
    ["atomically", true],
  ] as const)("%s", (_mode, atomic) => {
    test.each(changes)("%s", async (_, change, expected, counts) => {
      site++;
      await add("Old");
      expect(await load(["Old,Oslo", "New,Bergen"], { atomic }, change)).toMatchObject(counts);
      expect(await stored()).toEqual(expected);
      expect(await both[0].findInconsistencies()).toEqual([]);
    });

    test("rejects a row that matches two records by the time it's stored", async () => {
      site++;
      await add("Old");
      const { faults, created } = await load(["Old,Oslo", "New,Bergen"], { atomic }, () => add("Old"));
      expect(faults).toEqual([expect.objectContaining({ row: 2, field: "Name", code: "several-matches", count: 2 })]);
      expect(created).toBe(atomic ? 0 : 1);
    });

    test("rejects a row whose record was deleted meanwhile, if it isn't valid as a new record", async () => {
      site++;
      await write({ values: { Name: "Old", AccountNumber: "A1" } });
      const bytes = (async function* () {
        yield Buffer.from("AccountNumber,Address.Town\nA1,Oslo\n");
        await write({ operation: "delete", id: 1, values: {} });
      })();
      const options = { now: () => 1, match: "AccountNumber", atomic };
      const { faults } = await importRecords(both[0], site, brand, readRows(brand, bytes, "csv"), options);
      expect(faults).toMatchObject([{ row: 2, field: "Name" }]);
    });

    test("warns of rows with the same ID if they differ", async () => {
      site++;
      const rows = async function* () {
        const towns = ["Oslo", "Oslo", "Bergen", "Oslo"];
        for (const [index, Town] of towns.entries()) {
          const input = { ID: 7, Name: "Old", Address: { Town } };
          const source = { format: "json", text: JSON.stringify(input) } as const;
          yield { number: index + 1, decoded: { input, fieldErrors: [] }, source };
        }
      };
      for (const dryRun of [true, false]) {
        const { created, updated, unchanged, warnings } = await importRecords(both[0], site, brand, rows(), {
          now: () => 1,
          atomic,
          dryRun,
        });
        expect({ created, updated, unchanged }).toEqual({ created: 1, updated: 2, unchanged: 1 });
        const detail = expect.stringContaining("row 1 ");
        expect(warnings).toEqual([
          { row: 3, field: "ID", detail },
          { row: 4, field: "ID", detail },
        ]);
      }
    });

    test("notices changes that were pruned from the journal meanwhile", async () => {
      site++;
      await add("Old");
      const change = async () => {
        await add("New");
        await write({ operation: "update", id: 1, values: { Name: "Renamed" } });
        await both[1].pruneJournal(site, 2, 100);
      };
      expect(await load(["Old,Oslo", "New,Bergen"], { atomic }, change)).toMatchObject({ created: 1, updated: 1 });
      expect(await stored()).toEqual(["New Bergen", "Old Oslo", "Renamed"]);
    });
  });

  test("warns of rows with the same value if they differ, and the last one wins", async () => {
    site++;
    const lines = ["One,Oslo", "Two,Oslo", "One,Bergen", "Two,Oslo", "One,Oslo"];
    for (const dryRun of [true, false, false]) {
      const accepted: unknown[] = [];
      const { warnings } = await load(lines, { dryRun, onAccepted: (row) => void accepted.push(row.warnings?.length) });
      const detail = expect.stringContaining("row 2 ");
      expect(warnings).toEqual([
        { row: 4, field: "Name", detail },
        { row: 6, field: "Name", detail },
      ]);
      expect(accepted.filter((count) => count === 1)).toHaveLength(2);
    }
    expect(await stored()).toEqual(["One Oslo", "Two Oslo"]);
  });

  test("counts the warnings that it doesn't list", async () => {
    site++;
    const lines = Array.from({ length: 12 }, (_, n) => `Same,Town ${n}`);
    const { warnings, moreWarnings } = await load(lines, { maxListed: 10 });
    expect([warnings.length, moreWarnings]).toEqual([10, 1]);
  });
  if (kind.name === "PostgreSQL") return;

  test.each([
    ["in batches", false],
    ["atomically", true],
  ])("follows more changes than one transaction reads, %s", async (_, atomic) => {
    site++;
    await add("Old");
    const many = Array.from({ length: 10_100 }, (_, n) =>
      createIntent({ site, values: { Name: n === 50 ? "New" : `Other ${n}` } }),
    );
    let commits = 0;
    const addOnce = async () => {
      if (commits++ === 0) await both[1].commit(many);
    };
    // They come after the import has caught up, before its first transaction.
    const busy: Engine = {
      ...both[0],
      commit: async (...args) => {
        await addOnce();
        return both[0].commit(...args);
      },
      commitAtomically: async (...args) => {
        await addOnce();
        return both[0].commitAtomically(...args);
      },
    };
    const summary = await load(["Old,Oslo", "New,Bergen"], { atomic }, undefined, busy);
    expect([summary, commits]).toMatchObject([{ created: 0, updated: 2, rejected: 0 }, 2]);
  });

  test.each([
    ["both in batches", [false, false]],
    ["one in batches and one atomic", [false, true]],
    ["both atomic", [true, true]],
  ] as const)("by two processes of the same file at once creates each record once, %s", async (_, atomic) => {
    site++;
    const lines = Array.from({ length: 700 }, (_, n) => `Brand ${n},Oslo`);
    const summaries = await Promise.all(
      both.map((engine, n) => load(lines, { atomic: atomic[n] as boolean }, undefined, engine)),
    );
    expect(await stored()).toHaveLength(700);
    const sum = (of: "created" | "unchanged" | "rejected") => summaries.reduce((all, one) => all + one[of], 0);
    expect([sum("created"), sum("unchanged"), sum("rejected")]).toEqual([700, 700, 0]);
  });

  test("of several files, while clients create, rename, change and delete records, never duplicates a name or reverts a change", async () => {
    site++;
    const names = Array.from({ length: 150 }, (_, n) => `Brand ${n}`);
    const stop = new AbortController();
    const clients = both.map((engine, n) => useRecords(engine, site, names, n, stop.signal));
    const file = (n: number) => {
      // With `atomic`, a file can only have each name once.
      const rows = n === 3 ? names.length : 900;
      const lines = Array.from(
        { length: rows },
        (_, row) => `${names[((row * 7 + n * 31) % rows) % names.length]},${n}.${row}`,
      );
      return load(lines, { atomic: n === 3 }, undefined, both[n % 2]);
    };
    do {
      const summaries = await Promise.all([0, 1, 2, 3].map(file));
      for (const { rejected } of summaries) expect(rejected).toBe(0);
    } while (clients.some(({ changes }) => changes < 20));
    stop.abort();
    await Promise.all(clients.map(({ ended }) => ended));
    await checkJournal(both[0], site);
    expect(await both[0].findInconsistencies()).toEqual([]);
  });
});

/** Starts a client that also finds records by name, and creates, renames, changes or deletes them until `signal` aborts. */
function useRecords(engine: Engine, site: number, names: readonly string[], seed: number, signal: AbortSignal) {
  const client = { changes: 0, ended: Promise.resolve() };
  let random = seed + 1;
  const next = (below: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((random / 2_147_483_648) * below);
  };
  const change = async (round: number) => {
    const { head, rows } = await readAllRows(engine, site);
    const name = names[next(names.length)] as string;
    const row = rows.find(({ body }) => body !== null && JSON.parse(body).Name === name);
    const match = { keys: ["Name"], value: name, revision: head.revision, found: { ids: [], count: 0 } };
    const common = { site, actor: `client ${seed}` };
    const intent = !row
      ? createIntent({ ...common, operation: "upsert", values: { Name: name, AccountNumber: "" }, match })
      : [
          createIntent({ ...common, operation: "delete", id: row.id, values: {} }),
          createIntent({ ...common, operation: "update", id: row.id, values: { Name: `${seed}.${round}` } }),
          createIntent({ ...common, operation: "update", id: row.id, values: { AccountNumber: `${seed}.${round}` } }),
        ][next(3)];
    const [outcome] = (await engine.commit([intent as Intent])) as [Outcome];
    if (outcome.kind === "done") client.changes++;
  };
  client.ended = (async () => {
    for (let round = 0; !signal.aborted; round++) await change(round);
  })();
  return client;
}

/** Checks that two records never had the same name, and that no import changed a name or a field its file doesn't have. */
async function checkJournal(engine: Engine, site: number): Promise<void> {
  const names = new Map<string, number>();
  for (let from: number | undefined = 0; from !== undefined; ) {
    const { entries }: Awaited<ReturnType<Engine["readJournalPage"]>> = await engine.readJournalPage(site, from, 1000);
    for (const { revision, actor, operation, id, body, before } of entries) {
      const after = JSON.parse(body);
      const earlier = before === null ? undefined : JSON.parse(before);
      const freed = operation === "delete" ? after.Name : earlier?.Name;
      if (freed !== undefined && names.get(freed) === id) names.delete(freed);
      if (operation === "delete") continue;
      expect([revision, names.get(after.Name)]).toEqual([revision, undefined]);
      names.set(after.Name, id);
      if (actor === "operator" && earlier)
        expect([after.Name, after.AccountNumber]).toEqual([earlier.Name, earlier.AccountNumber]);
    }
    from = entries.at(-1)?.revision;
  }
}
